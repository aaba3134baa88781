#!/bin/bash
# userpause: a guest that its user pauses while it moves is paused on the target, whatever libvirt does
# cases: during
# full: killed
. "$(dirname "$0")/testlib.sh"
. "$(dirname "$0")/stages.sh"

in_precopy
host_virsh h1 suspend g-f
note "paused by its user: $(guest_state h1 g-f)"
case ${1:-} in
during) ;;
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
