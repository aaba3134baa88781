#!/bin/bash
# recovery: a post-copy that breaks is taken up again, or flagged when half of the guest is gone
# cases: stream outage target_killed
# full: libvirtds source_killed dropped exhausted
. "$(dirname "$0")/testlib.sh"
first_hosts 2

modes() { sql "SELECT group_concat(mode, ' ') FROM (SELECT mode FROM modes WHERE job_uid = '$(uid_of "$1")' ORDER BY at_ms, id)"; }
intents() { sql "SELECT group_concat(action || '=' || err, ' ') FROM (SELECT action, err FROM intents WHERE job_uid = '$(uid_of "$1")' ORDER BY epoch, seq)"; }
mode_is() { [ "$(job_field "$1" .status.migrationState.mode)" = "$2" ]; }
recovery_is() { [[ $(sql "SELECT recovery FROM jobs WHERE uid = '$(uid_of "$1")'") =~ ^($2)$ ]]; }

# A guest that writes faster than its link carries, and a post-copy slow enough to be broken.
boot_as h1 g-busy 64 'ws=32 rate=40 hb=200' "$(with_metadata "<ferry:label key='tier' value='busy'/>")"
start_ferry
wait_condition g-busy LiveMigratable 'True '
ferry apply -f - <<<"{apiVersion: migrations.kubevirt.io/v1alpha1, kind: MigrationPolicy, metadata: {name: busy},
    spec: {selectors: {virtualMachineInstanceSelector: {tier: busy}}, bandwidthPerMigration: 12Mi, bandwidthPostCopy: 1Mi,
           allowPostCopy: true, experimental: {stallDetector: {stallProgressTimeout: 3, switchoverTimeout: 30}}}}"
job=$(ferry migrate g-busy --to h2 -o name)
job=${job#*/}
wait_until 60 mode_is "$job" PostCopy || fail "no post-copy: $(job_field "$job" .status.migrationState)"
note "in post-copy"
sleep 0.5
began=$SECONDS
arrives() { # SECONDS
    wait_final "$job" "$1"
    note "after $((SECONDS - began)) s: $(intents "$job")"
    sql "SELECT at_ms, reason, message FROM events WHERE uid = '$(uid_of "$job")' ORDER BY at_ms" >&2
    assert_job "$job" .status.phase Succeeded
    assert_equal 'modes' "$(modes "$job")" 'PreCopy PostCopy'
    assert_runs_on h2 g-busy
    guest_check h2 g-busy
}
flagged() { # SECONDS
    wait_final "$job" "$1"
    note "after $((SECONDS - began)) s: $(job_field "$job" .status.migrationState.failureReason)"
    assert_job "$job" .status.phase Failed
    assert_job "$job" .status.ferry.outcome irrecoverable
    assert_job "$job" .status.ferry.guestAt paused-irrecoverable
    assert_equal 'event' "$(sql "SELECT count(*) FROM events WHERE uid = '$(uid_of "$job")' AND reason = 'Irrecoverable' AND type = 'Warning'")" 1
}

case ${1:-} in
stream)
    break_host break-stream h1
    arrives 60
    recovery_is "$job" recovered || fail "recovery: $(sql 'SELECT recovery FROM jobs')"
    ;;
outage)
    break_host link-down h2
    sleep 20
    break_host link-up h2
    arrives 150
    ;;
dropped)
    break_host drop-port h2
    sleep 25
    heal h2
    arrives 150
    ;;
libvirtds)
    break_host kill-libvirtd h2
    sleep 2
    heal h2
    arrives 100
    ;;
target_killed)
    break_host kill-qemu h2 g-busy
    flagged 10
    [ $((SECONDS - began)) -le 6 ] || fail "flagged only after $((SECONDS - began)) s"
    ;;
source_killed)
    break_host kill-qemu h1 g-busy
    flagged 20
    ;;
exhausted) ;;
esac
