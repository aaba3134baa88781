#!/bin/bash
# kill9: Ferry is killed at a named point of a real migration, and adopts it when it comes back
# cases: after-intent-commit first-pass before-outcome-commit during-adoption
# full: after-accept-commit after-placement-commit before-handoff-commit switch-over accepted before-accept-commit after-handoff-commit before-intent-commit before-call later-pass after-call terminated any-moment
#
# Points of base/fault.def kill the process from inside; the passes and the switch-over are seen
# on the source, and Ferry is killed from outside. terminated: ended in order in mid-copy instead;
# any-moment: several times, whenever.
. "$(dirname "$0")/testlib.sh"
point=$1 guest=g-kill9

last_seq() { samples "SELECT coalesce(max(seq), -1) FROM samples WHERE job_uid = '$1'"; }

# dies_at POINT: asks for a migration of an appliance that will die there.
dies_at() {
    start_ferry FERRY_FAULT="$1"
    ferry migrate "$guest" --to h2 --bandwidth 8 || note "migrate ended with $?"
    wait_until 40 ferry_dead || fail "ferry did not reach $1"
}
killed_when() { # WAITING...: kills it when that returns
    start_ferry
    job=$(migrate "$guest" h2 8)
    "$@" || fail "never came to that: $*"
    kill9_ferry
}
# In that pass or later, and something of it is on disk already.
sampled_in_pass() { pass_reached h1 "$guest" "$1" && [ "$(last_seq "$(uid_of "$job")")" -ge 1 ]; }
# The first lifecycle event on the source is its suspension for the switch-over.
switches_over() { timeout 60 virsh -q -c "$(host_uri h1)" event "$guest" lifecycle; }

# succeeds_adopted: back again, the one job of the guest is there and ends well.
finds_job() {
    job=$(sql "SELECT name FROM jobs WHERE guest_name = '$guest'")
    [ "$(wc -w <<<"$job")" = 1 ] || fail "jobs in the store after the kill: '$job'"
}
ends_where_it_says() { # [FROM TO]
    wait_final "$job" 60
    case $(phase_of "$job") in
    Succeeded) now_on=${2:-h2} ;;
    Failed) now_on=${1:-h1} ;;
    esac
    assert_runs_on "$now_on" "$guest"
    guest_check "$now_on" "$guest"
}
succeeds_adopted() { # [COMMAND...]: done when Ferry is back
    finds_job
    local before
    before=$(last_seq "$(sql "SELECT uid FROM jobs")")
    start_ferry
    "$@"
    ends_where_it_says
    assert_job "$job" .status.phase Succeeded
    assert_job "$job" .status.ferry.adopted true
    note "trace: $before before the kill, $(last_seq "$(uid_of "$job")") at the end"
}
trace_goes_on() { # LAST_SEQ_BEFORE
    local uid
    uid=$(uid_of "$job")
    [ "$(last_seq "$uid")" -gt "$1" ] || fail "no sample after the restart"
    assert_equal 'samples that go back in time' "$(samples "SELECT count(*) FROM samples a JOIN samples b
        ON a.job_uid = b.job_uid AND b.seq > a.seq AND b.at_ms < a.at_ms")" 0
}

case $point in
accepted) ;;
*) boot h1 "$guest" 48 'ws=8 rate=6 fill=24 hb=200' ;;
esac

case $point in
before-accept-commit)
    dies_at "$point"
    assert_equal 'jobs stored' "$(sql 'SELECT count(*) FROM jobs')" 0
    start_ferry
    assert_runs_on h1 "$guest"
    job=$(migrate "$guest" h2 64)
    ends_where_it_says
    assert_job "$job" .status.phase Succeeded
    ;;
after-accept-commit | before-intent-commit)
    # Nothing was asked of a host: it is a job like any other that waits.
    dies_at "$point"
    finds_job
    start_ferry
    ends_where_it_says
    assert_job "$job" .status.phase Succeeded
    ;;
after-placement-commit | before-handoff-commit | after-handoff-commit)
    # A place is kept for it and no host was asked: it keeps it, or takes it anew, and gives it back.
    dies_at "$point"
    finds_job
    assert_equal 'intents' "$(sql 'SELECT count(*) FROM intents')" 0
    note "stored: $(sql 'SELECT phase, target_node, epoch FROM jobs')"
    assert_equal 'stored phase' "$(sql 'SELECT phase FROM jobs')" "$([ "$point" = after-handoff-commit ] && echo PreparingTarget || echo Scheduling)"
    start_ferry
    ends_where_it_says
    assert_job "$job" .status.phase Succeeded
    assert_job "$job" .status.ferry.epoch 1
    assert_equal 'migrate calls' "$(sql "SELECT count(*) FROM intents WHERE action = 'migrate'")" 1
    assert_equal 'memory that is still reserved' "$(api /api/v1/nodes | jq '[.items[].status.ferry.reserved.memoryKiB] | add')" 0
    assert_equal 'migrations that still arrive or leave' "$(api /api/v1/nodes | jq '[.items[].status.ferry | .inbound + .outbound] | add')" 0
    ;;
after-intent-commit | before-call)
    # Whether the call was made is not known; both hosts say that it was not.
    dies_at "$point"
    finds_job
    assert_equal 'open intents' "$(sql "SELECT count(*) FROM intents WHERE action = 'migrate' AND status = 'open'")" 1
    start_ferry
    ends_where_it_says
    assert_job "$job" .status.phase Succeeded # made again, after that proof
    assert_job "$job" .status.ferry.adopted true
    assert_job "$job" .status.ferry.epoch 2
    ;;
after-call | before-outcome-commit)
    dies_at "$point"
    runs_here h2 "$guest" || fail 'the guest did not arrive'
    succeeds_adopted
    ;;
first-pass | later-pass)
    pass=1
    [ "$point" = first-pass ] || pass=2
    # Slower than the guest writes until Ferry is back: on a busy machine it would arrive before.
    break_host limit h1 40mbit
    killed_when wait_until 30 sampled_in_pass "$pass"
    before=$(last_seq "$(sql 'SELECT uid FROM jobs')")
    more_samples() { [ "$(last_seq "$(uid_of "$job")")" -gt "$before" ]; }
    faster() { wait_until 30 more_samples && heal h1; }
    succeeds_adopted faster
    trace_goes_on "$before"
    ;;
switch-over)
    killed_when switches_over
    succeeds_adopted
    ;;
during-adoption)
    killed_when wait_until 30 pass_reached h1 "$guest" 1
    launch_ferry FERRY_FAULT=during-adoption
    wait_until 20 ferry_dead || fail 'ferry did not reach during-adoption'
    succeeds_adopted
    ;;
terminated)
    start_ferry
    job=$(migrate "$guest" h2 8)
    wait_until 30 sampled_in_pass 1 || fail 'no first pass'
    note 'SIGTERM'
    stop_ferry
    succeeds_adopted
    ;;
any-moment)
    RANDOM=${SEED:=$RANDOM}
    from=h1 to=h2
    for round in 1 2 3 4 5 6; do
        start_ferry
        job=$(migrate "$guest" "$to" 16)
        moment=$((RANDOM % 4500))
        sleep "$((moment / 1000)).$(printf %03d $((moment % 1000)))"
        kill9_ferry
        start_ferry
        ends_where_it_says "$from" "$to"
        note "seed $SEED, round $round: killed after $moment ms, $(phase_of "$job") on $now_on"
        assert_equal 'jobs in the store' "$(sql 'SELECT count(*) FROM jobs')" "$round"
        kill9_ferry
        [ "$now_on" = "$from" ] || { to=$from && from=$now_on; }
    done
    ;;
accepted)
    # A burst of requests, killed in the middle: what was acknowledged is there.
    for i in 1 2 3 4 5; do
        GUESTS+=("$guest-$i")
        guest_create h1 "$guest-$i" 24 'ws=1 rate=0 fill=1 hb=500'
    done
    for i in 1 2 3 4 5; do wait_until 60 guest_ready h1 "$guest-$i" || fail "$guest-$i did not start"; done
    write_config 1
    start_ferry
    for i in 1 2 3 4 5; do
        (ferry migrate "$guest-$i" --to h2 && echo "$guest-$i" >>"$TEST_DIR/accepted") &
    done
    for _ in $(seq 2000); do # no coarser, or all of them are accepted by then
        [ ! -s "$TEST_DIR/accepted" ] || break
        sleep 0.005
    done
    kill9_ferry
    [ -s "$TEST_DIR/accepted" ] || fail 'nothing was accepted'
    wait_until 10 test -z "$(jobs -pr)" || true
    start_ferry
    note "accepted before the kill: $(tr '\n' ' ' <"$TEST_DIR/accepted")"
    while read -r guest; do
        job=$(newest_job "$guest")
        [ -n "$job" ] || fail "the accepted job of $guest is missing"
        wait_final "$job" 60
        assert_job "$job" .status.phase Succeeded
        assert_runs_on h2 "$guest"
    done <"$TEST_DIR/accepted"
    ;;
*) fail "no point '$point'" ;;
esac
