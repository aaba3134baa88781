#!/bin/bash
# switched: the source's libvirtd dies when the target already runs the guest: orders back off, somebody is paged, an operator ends it
# full: killed aborted
# long: killed=110 aborted=130
. "$(dirname "$0")/testlib.sh"
. "$(dirname "$0")/stages.sh"
trap 'note "events:"; events >&2; fail "command failed: $BASH_COMMAND"' ERR

orders() { sql "SELECT action, status, err, count(*), sum(times) FROM intents WHERE job_uid = '$(uid_of "$job")' GROUP BY 1, 2, 3"; }
paged() { metrics | grep "^ferry_incident{.*kind=\"$1\"" >&2; } # KIND

in_switch
lose_finish h1 # the source never learns that the guest was started
"$LAB_SCRIPTS/fault" --name "$LAB_NAME" unlimit h1
wait_until 60 finish_lost h1 || fail "h2 did not finish it: $(guest_state h2 g-f)"
break_host kill-libvirtd h1
sleep 2
heal h1
note "h1: $(guest_state h1 g-f), h2: $(guest_state h2 g-f), job on h1: $(host_virsh h1 domjobinfo g-f | tr -s ' \n' ' ')"
if [ "${1:-}" = aborted ]; then ferry abort "$job" >&2 || true; fi
wait_until 90 paged unknown || fail 'nobody is paged'
note "pending: $(job_field "$job" .status.ferry.pending.message)"
note "orders: $(orders)"
events >&2
assert_equal 'state on the source' "$(guest_state h1 g-f)" 'paused.*'
runs_here h2 g-f || fail 'g-f no longer runs on h2'
assert_job "$job" .status.phase Running
assert_equal 'orders' "$(sql "SELECT count(*), coalesce(sum(times), 0) < 5 FROM intents WHERE job_uid = '$(uid_of "$job")' AND action = 'abort'")" '[01]\|1'
assert_equal 'slots in use' "$(metrics | awk '/^ferry_slots_used/ {print $2}')" 0
host_virsh h1 destroy g-f # as the message says
wait_final "$job" 15
assert_job "$job" .status.phase Succeeded
assert_runs_on h2 g-f
guest_check h2 g-f
! paged unknown || fail 'still paged'
