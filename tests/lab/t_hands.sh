#!/bin/bash
# hands: operators act beside Ferry; it neither touches what is theirs nor reports what is not true
# cases: third_host
# full: domjobabort foreign_adopted destroy_target split
#
# Each case is one hand on a guest g-f that Ferry moves, or does not move, from h1.
. "$(dirname "$0")/testlib.sh"
HOSTS_OF_LAB=("${LAB_HOSTS[@]}")
. "$(dirname "$0")/stages.sh" # takes two hosts; a third one is needed where a guest goes elsewhere
LAB_HOSTS=("${HOSTS_OF_LAB[@]}")
ROW=${1:-}
job=
trap 'note "events:"; [ -z "$job" ] || events >&2; fail "command failed: $BASH_COMMAND"' ERR
incident() { metrics | grep "^ferry_incident{.*name=\"g-f\".*kind=\"$1\""; }
no_incident() { ! metrics | grep '^ferry_incident{.*name="g-f"'; }
# by_hand TARGET [OPTION]...: virsh migrates g-f from h1, in the background
by_hand() {
    host_virsh h1 migrate --live --p2p "${@:2}" g-f "qemu+tcp://$1/system" --bandwidth "${MIBS:-6}" >"$TEST_DIR/by_hand.log" 2>&1 &
    HAND=$!
    UNDO+=("kill $HAND 2>/dev/null || true")
}
idle() { ! host_virsh h1 domjobinfo g-f 2>/dev/null | grep -q 'Outgoing migration'; } # libvirtd has ended its job too
others_migrate() { host_virsh h1 domjobinfo g-f 2>/dev/null | grep -q 'Outgoing migration'; }

case $ROW in
domjobabort)
    in_precopy
    host_virsh h1 domjobabort g-f
    wait_final "$job" 30
    assert_job "$job" .status.ferry.guestAt running-on-source
    assert_runs_on h1 g-f
    assert_verdict "$job" user-cancelled none
    no_incident || fail 'somebody is paged'
    ;;
destroy_target)
    in_precopy
    host_virsh h2 destroy g-f
    wait_final "$job" 30
    assert_runs_on h1 g-f
    assert_verdict "$job" user-cancelled none
    ;;
third_host) # Ferry is killed, its migration ended, and the guest moved to h3 by hand
    in_precopy
    kill_ferry KILL
    host_virsh h1 domjobabort g-f
    wait_until 20 not_here h2 g-f || fail 'the copy stays on h2'
    wait_until 10 idle || fail 'the aborted migration does not end'
    MIBS=200 by_hand h3
    wait_until 60 runs_here h3 g-f || fail "not on h3: $(cat "$TEST_DIR/by_hand.log")"
    start_ferry
    wait_final "$job" 30
    note "reason: $(job_field "$job" .status.migrationState.failureReason)"
    assert_job "$job" .status.ferry.outcome failed
    assert_job "$job" .status.ferry.guestAt running-elsewhere
    assert_verdict "$job" user-cancelled none
    no_incident || fail 'a guest that runs is paged'
    ;;
foreign_adopted) # the same, and the migration by hand is still under way
    in_precopy
    kill_ferry KILL
    host_virsh h1 domjobabort g-f
    wait_until 20 not_here h2 g-f || fail 'the copy stays on h2'
    wait_until 10 idle || fail 'the aborted migration does not end'
    MIBS=1 by_hand h3
    wait_until 20 others_migrate || fail "nobody migrates: $(cat "$TEST_DIR/by_hand.log")"
    start_ferry
    ferry abort "$job" >&2 || true
    wait_final "$job" 40
    note "reason: $(job_field "$job" .status.migrationState.failureReason)"
    [[ $(job_field "$job" .status.migrationState.failureReason) == 'somebody else migrates'* ]] || fail 'it does not say so'
    others_migrate || fail 'the migration of somebody else was touched'
    [[ $(intents) != *abort* ]] || fail "orders: $(intents)"
    host_virsh h1 domjobabort g-f
    ;;
split) # nobody migrated it: it is started a second time
    boot h1 g-f 64 'ws=8 rate=2 hb=200'
    start_ferry
    wait_condition g-f LiveMigratable 'True '
    host_virsh h1 dumpxml g-f >"$TEST_DIR/g-f.xml"
    host_virsh h2 create "$TEST_DIR/g-f.xml"
    wait_until 30 incident split || fail 'nobody is paged'
    host_virsh h2 destroy g-f
    wait_until 60 no_incident || fail 'it stays open'
    ;;
*) fail "no row '$ROW'" ;;
esac
