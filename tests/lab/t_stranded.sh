#!/bin/bash
# stranded: a guest that somebody else's migration left broken or paused for a minute is an incident, until it is over
# full: postcopy_failed paused
# long: postcopy_failed=120 paused=140
. "$(dirname "$0")/testlib.sh"
first_hosts 2

stranded() { metrics | grep '^ferry_incident{.*name="g-s".*kind="stranded"' >&2; }
not_stranded() { ! stranded; }
in_state() { [[ $(guest_state "$1" g-s) == $2* ]]; } # HOST STATE
by_hand() { # [virsh option]...
    timeout 120 virsh -q -c "$(host_uri h1)" migrate --live --p2p "$@" g-s qemu+tcp://h2/system >"$TEST_DIR/by_hand.log" 2>&1 &
    UNDO+=("kill $! 2>/dev/null || true")
}
untouched() { # BEFORE AFTER
    [ "$1" = "$2" ] || fail "the hosts changed: $1, then $2"
    assert_equal 'orders' "$(sql 'SELECT count(*) FROM intents')" 0
}
states() { echo "$(guest_state h1 g-s) / $(guest_state h2 g-s)"; }

case ${1:-} in
postcopy_failed)
    boot h1 g-s 64 'ws=32 rate=40 hb=200'
    start_ferry
    by_hand --postcopy --bandwidth 8 --postcopy-bandwidth 1
    wait_until 30 pass_reached h1 g-s 1 || fail "no migration: $(cat "$TEST_DIR/by_hand.log")"
    host_virsh h1 migrate-postcopy g-s
    wait_until 20 in_state h2 'running (post-copy)' || fail "no post-copy: $(states)"
    break_host break-stream h1
    wait_until 20 in_state h1 'paused (post-copy failed)' || fail "not broken: $(states)"
    ;;
paused) # the source never learns that the guest was started on the target, its libvirtd restarts, and then the target's QEMU dies
    boot h1 g-s 64 'ws=24 rate=40 hb=200'
    start_ferry
    break_host limit h1 40mbit
    by_hand --timeout 6 --timeout-suspend # as an impatient operator has it
    wait_until 60 in_state h1 'paused' || fail "no switch-over: $(states)"
    lose_finish h1
    "$LAB_SCRIPTS/fault" --name "$LAB_NAME" unlimit h1
    wait_until 60 finish_lost h1 || fail "h2 did not finish it: $(states)"
    break_host kill-libvirtd h1
    sleep 2
    heal h1
    note "before: $(states)"
    break_host kill-qemu h2 g-s
    wait_until 10 not_here h2 g-s || fail "g-s is still on h2: $(states)"
    in_state h1 'paused (migrating)' || in_state h1 'paused (migration)' || fail "it is not paused for a migration: $(states)"
    ;;
esac
before=$(states)
note "left: $before"
sleep 40
! stranded || fail 'an incident after 40 s'
wait_until 50 stranded || fail 'nobody is paged'
sql "SELECT reason, message FROM events WHERE reason = 'Stranded'" >&2
untouched "$before" "$(states)"
# It is over when the guest is gone from both, here by an operator.
for host in h1 h2; do host_virsh "$host" destroy g-s || true; done
wait_until 40 not_stranded || fail 'it stays open'
