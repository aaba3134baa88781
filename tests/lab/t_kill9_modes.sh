#!/bin/bash
# kill9_modes: Ferry is killed in every mode of a move, and goes on with it when it comes back
# cases: postcopy recovery
# full: precopy switch paused disks autoconverge postcopy_abort moments
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

case ${1:-} in
precopy) in_precopy && killed && arrives 'PreCopy' ;;
switch) in_switch && killed 0 && arrives 'PreCopy( Paused)?' ;;
paused) # the monitor goes on from where it was: it still decides to stop the guest
    STALL=3 begin 'ws=32 rate=40 hb=200' 'bandwidthPerMigration: 8Mi, allowWorkloadDisruption: true, allowPostCopy: false'
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
recovery) # killed while the broken stream is taken up again
    in_postcopy
    kill9_ferry
    break_host break-stream h1
    sleep 1
    start_ferry
    arrives 'PreCopy PostCopy'
    assert_job "$job" .status.ferry.recovery.state recovered
    ;;
moments) # whenever, in post-copy allowed moves
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
