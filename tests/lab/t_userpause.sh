#!/bin/bash
# userpause: a guest that its user pauses while it moves stays paused, on the target or, when the move fails, on the source
# cases: during aborted
# full: killed failed aborted_killed
. "$(dirname "$0")/testlib.sh"
. "$(dirname "$0")/stages.sh"

in_precopy
host_virsh h1 suspend g-f
note "paused by its user: $(guest_state h1 g-f)"
case ${1:-} in
during) ;;
aborted | failed | aborted_killed)
    sleep 2
    case $1 in
    failed) break_host kill-qemu h2 g-f ;;
    aborted) ferry abort "$job" ;;
    # Ferry is gone when libvirt lets the guest run again
    aborted_killed) kill9_ferry && host_virsh h1 domjobabort g-f && sleep 1 && note "without Ferry: $(guest_state h1 g-f)" && start_ferry ;;
    esac
    wait_final "$job" 60
    note "$(intents)"
    events >&2
    assert_job "$job" .status.phase Failed
    assert_equal 'state on the source' "$(guest_state h1 g-f)" 'paused \(user\)'
    not_here h2 g-f || fail "g-f is on h2: $(guest_state h2 g-f)"
    assert_equal 'events' "$(sql "SELECT count(*) FROM events WHERE reason = 'PausedAtSource'")" 1
    before=$(heartbeats h1 g-f)
    sleep 2
    [ "$(heartbeats h1 g-f)" = "$before" ] || fail 'it runs'
    host_virsh h1 resume g-f
    guest_check h1 g-f
    exit
    ;;
killed) sleep 3 && kill9_ferry && sleep 0.5 && start_ferry ;;
esac
wait_final "$job" 90
note "$(job_field "$job" .status.ferry) $(intents)"
assert_job "$job" .status.phase Succeeded
not_here h1 g-f || fail "g-f is on h1: $(guest_state h1 g-f)"
assert_equal 'state on the target' "$(guest_state h2 g-f)" 'paused \(user\)'
assert_equal 'orders' "$(sql "SELECT count(*) > 0 FROM intents WHERE action = 'pause-at-target' AND node = 'h2' AND err = 'none'")" 1
note "ran on the target for $(sql 'SELECT ran_ms FROM jobs') ms"
host_virsh h2 resume g-f
guest_check h2 g-f
