#!/bin/bash
# kill_target_libvirtd: the target's libvirtd dies in mid-copy; unreachable is never called absent
. "$(dirname "$0")/testlib.sh"

boot h1 g-killd 64 'ws=8 rate=1 hb=200'
start_ferry
job=$(migrate g-killd h2 4)
wait_until 20 pass_reached h1 g-killd 1 || fail 'no first pass'
break_host kill-libvirtd h2
wait_final "$job" 30
assert_failed "$job" h1 g-killd
assert_verdict "$job" management-daemon-restart control
uid=$(uid_of "$job")
assert_observation "$uid" target 'unreachable .*'
assert_equal 'observations of the dead host as absent, after its death' "$(sql "SELECT count(*) FROM observations
    WHERE job_uid = '$uid' AND role = 'target' AND presence = 'absent' AND moment IN ('outcome', 'after')")" 0

note 'the host comes back and can be used again'
heal h2
wait_until 20 not_here h2 g-killd || fail "g-killd on h2: $(guest_state h2 g-killd)"
wait_until 20 node_ready h2 || fail 'h2 is not ready again'
job=$(migrate g-killd h2 64)
wait_final "$job" 30
assert_job "$job" .status.phase Succeeded
assert_runs_on h2 g-killd
guest_check h2 g-killd
