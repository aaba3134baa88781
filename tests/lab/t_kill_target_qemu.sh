#!/bin/bash
# kill_target_qemu: the target's QEMU dies in mid-copy; the guest stays, the error is kept
. "$(dirname "$0")/testlib.sh"

boot h1 g-killq 64 'ws=8 rate=1 hb=200'
start_ferry
job=$(migrate g-killq h2 4)
wait_until 20 pass_reached h1 g-killq 1 || fail 'no first pass'
break_host kill-qemu h2 g-killq
wait_final "$job" 20
assert_failed "$job" h1 g-killq
assert_verdict "$job" destination-vmm-crashed data
assert_observation "$(uid_of "$job")" target 'absent .*'
