#!/bin/bash
# monitor: a guest that writes faster than its link carries ends in post-copy, in a stop, or is given up; policy alone says which
# cases: postcopy stop give_up
. "$(dirname "$0")/testlib.sh"
first_hosts 2

policy() { # MORE FIELDS
    ferry apply -f - <<<"{apiVersion: migrations.kubevirt.io/v1alpha1, kind: MigrationPolicy, metadata: {name: busy},
        spec: {selectors: {virtualMachineInstanceSelector: {tier: busy}}, bandwidthPerMigration: 12Mi,
               experimental: {stallDetector: {stallProgressTimeout: 4, switchoverTimeout: 30}}, $1}}"
}
modes() { sql "SELECT group_concat(mode, ' ') FROM (SELECT mode FROM modes WHERE job_uid = '$(uid_of "$1")' ORDER BY at_ms, id)"; }
decisions() { sql "SELECT group_concat(decision, ' ') FROM (SELECT decision FROM decisions WHERE job_uid = '$(uid_of "$1")' AND shadow = 0 ORDER BY seq)"; }
start() { # prints the job's name
    local job
    job=$(ferry migrate g-busy -o name)
    echo "${job#*/}"
}

boot_as h1 g-busy 64 'ws=24 rate=40 hb=200' "$(with_metadata "<ferry:label key='tier' value='busy'/>")"
start_ferry
wait_condition g-busy LiveMigratable 'True '

case ${1:-} in
postcopy)
    POSTCOPY=1
    policy 'allowPostCopy: true, shadowMonitor: legacy'
    job=$(start)
    wait_final "$job" 120
    note "decided: $(decisions "$job")"
    assert_job "$job" .status.phase Succeeded
    assert_equal 'modes' "$(modes "$job")" 'PreCopy PostCopy'
    assert_state "$job" h1 h2 'PreCopy PostCopy' busy
    [[ $(decisions "$job") == *stalled-post-copy* ]] || fail "decided: $(decisions "$job")"
    assert_equal 'orders' "$(sql "SELECT count(*) FROM intents WHERE job_uid = '$(uid_of "$job")' AND action = 'start-postcopy' AND err = 'none'")" 1
    [ "$(sql "SELECT count(*) FROM decisions WHERE job_uid = '$(uid_of "$job")' AND shadow = 1 AND monitor = 'legacy'")" -ge 1 ] || fail 'the shadow said nothing'
    assert_runs_on h2 g-busy
    guest_check h2 g-busy
    ;;
stop)
    policy 'allowPostCopy: false, allowWorkloadDisruption: true'
    job=$(start)
    wait_final "$job" 120
    note "decided: $(decisions "$job")"
    assert_job "$job" .status.phase Succeeded
    assert_equal 'modes' "$(modes "$job")" 'PreCopy Paused'
    assert_state "$job" h1 h2 'PreCopy Paused' busy
    assert_runs_on h2 g-busy
    guest_check h2 g-busy
    ;;
give_up)
    policy 'allowPostCopy: false'
    job=$(start)
    wait_final "$job" 120
    note "decided: $(decisions "$job")"
    assert_job "$job" .status.phase Failed
    assert_job "$job" .status.ferry.outcome aborted
    reason=$(job_field "$job" .status.migrationState.failureReason)
    note "$reason"
    size='[0-9]+ [KM]iB'
    wanted="^aborted by ferry: aborting: .*; remaining $size, bandwidth $size/s, dirty rate $size/s, completion timeout 150 s\$"
    [[ $reason =~ $wanted ]] ||
        fail "the reason lacks remaining data, bandwidth, dirty rate or timeout: $reason"
    assert_equal 'modes' "$(modes "$job")" 'PreCopy'
    STATE_OF_ABORT=Succeeded assert_state "$job" h1 h2 PreCopy busy
    assert_verdict "$job" non-converging data
    assert_runs_on h1 g-busy
    guest_check h1 g-busy
    ;;
esac
