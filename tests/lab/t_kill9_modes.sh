#!/bin/bash
# kill9_modes: Ferry is killed in every mode of a move, and goes on with it when it comes back
# cases: recovery
# full: postcopy precopy switch paused disks autoconverge postcopy_abort moments_1 moments_2 moments_3 postcopy_at_after-intent-commit postcopy_at_before-call postcopy_at_after-call postcopy_at_before-outcome-commit postcopy_at_during-adoption paused_at_after-intent-commit paused_at_before-call paused_at_after-call paused_at_before-outcome-commit paused_at_during-adoption disks_at_after-intent-commit disks_at_before-call disks_at_after-call disks_at_before-outcome-commit disks_at_during-adoption
# long: recovery=40 moments_1=200 moments_2=200 moments_3=200
#
# MODE_at_POINT: killed from inside, at a point of base/fault.def behind the hand-off (those before
# it know no mode: t_kill9.sh). moments: ten of them, whenever.
. "$(dirname "$0")/testlib.sh"
. "$(dirname "$0")/stages.sh"

killed() { # comes back after a moment
    kill9_ferry
    sleep "${1:-1}"
    start_ferry
    assert_equal 'jobs in the store' "$(sql 'SELECT count(*) FROM jobs')" "${JOBS:-1}"
}
arrives() { # MODES
    wait_final "$job" 120
    note "$(job_field "$job" .status.ferry.outcome): $(intents)"
    assert_job "$job" .status.phase Succeeded
    assert_job "$job" .status.ferry.adopted true
    [ -z "${1:-}" ] || assert_equal 'modes' "$(sql "SELECT group_concat(mode, ' ') FROM (SELECT mode FROM modes WHERE job_uid = '$(uid_of "$job")' ORDER BY at_ms, id)")" "$1"
    assert_runs_on h2 g-f
    guest_check h2 g-f
}
stays() {
    wait_final "$job" 120
    assert_job "$job" .status.phase Failed
    assert_runs_on h1 g-f
    guest_check h1 g-f
}

declare -A MODES=([postcopy]='PreCopy PostCopy' [paused]='PreCopy Paused' [disks]='PreCopy')
case ${1:-} in
precopy) in_precopy && killed && arrives 'PreCopy' ;;
switch) in_switch && killed 0 && arrives 'PreCopy( Paused)?' ;;
paused) # the monitor goes on from where it was: it still decides to stop the guest
    begin_paused
    wait_until 30 pass_reached h1 g-f 2
    killed && arrives 'PreCopy( Paused)?'
    ;;
autoconverge)
    STALL=20 begin 'ws=16 rate=20 hb=200' 'bandwidthPerMigration: 12Mi, allowAutoConverge: true, allowWorkloadDisruption: true'
    wait_until 30 pass_reached h1 g-f 2
    killed && arrives
    ;;
postcopy) in_postcopy && killed && arrives 'PreCopy PostCopy' ;;
postcopy_abort) # what was refused before is refused after
    in_postcopy
    killed
    ferry abort "$job" >&2 || true
    arrives 'PreCopy PostCopy'
    assert_job "$job" .status.migrationState.abortStatus Failed
    ;;
disks) in_disks && killed && arrives 'PreCopy' ;;
recovery) # killed while the broken post-copy is recovered
    in_postcopy
    kill9_ferry
    break_host break-stream h1
    sleep 1
    start_ferry
    arrives 'PreCopy PostCopy'
    assert_job "$job" .status.ferry.recovery.state recovered
    ;;
*_at_during-adoption)
    "begin_${1%%_at_*}"
    wait_until 60 pass_reached h1 g-f 1
    kill9_ferry
    launch_ferry FERRY_FAULT=during-adoption
    wait_until 20 ferry_dead || fail 'ferry did not come to adopt'
    start_ferry
    arrives "${MODES[${1%%_at_*}]}"
    ;;
*_at_*)
    FAULT=${1#*_at_} "begin_${1%%_at_*}" 4Mi
    wait_until 90 ferry_dead || fail "ferry did not reach ${1#*_at_}"
    job=$(sql 'SELECT name FROM jobs')
    start_ferry
    arrives "${MODES[${1%%_at_*}]}"
    ;;
moments_*) # whenever, in moves that may go over to post-copy
    RANDOM=${SEED:=$RANDOM}
    STALL=3 begin 'ws=24 rate=30 hb=200' 'bandwidthPerMigration: 12Mi, bandwidthPostCopy: 4Mi, allowPostCopy: true'
    from=h1 to=h2
    for round in $(seq 10); do
        [ "$round" = 1 ] || { job=$(ferry migrate g-f --to "$to" -o name) && job=${job#*/}; }
        moment=$((RANDOM % 9000))
        sleep "$((moment / 1000)).$(printf %03d $((moment % 1000)))"
        JOBS=$round killed
        wait_final "$job" 120
        now_on=$([ "$(phase_of "$job")" = Succeeded ] && echo "$to" || echo "$from")
        note "seed $SEED, round $round: killed after $moment ms, $(phase_of "$job") on $now_on"
        assert_runs_on "$now_on" g-f
        guest_check "$now_on" g-f
        [ "$now_on" = "$from" ] || { to=$from && from=$now_on; }
    done
    ;;
*) fail "no case '${1:-}'" ;;
esac
