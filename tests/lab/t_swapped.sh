#!/bin/bash
# swapped: two hosts' names are swapped in the configuration while a migration is unfinished: nothing is proven, nothing is ordered
# full: running arrived
# long: running=40 arrived=40
#
# running: the migration still runs when Ferry comes back. arrived: it ended meanwhile. Without host UUIDs the
# machine that is now called h1 would prove that the guest stayed there, or that it is lost.
. "$(dirname "$0")/testlib.sh"
. "$(dirname "$0")/stages.sh"
trap 'note "events:"; events >&2; fail "command failed: $BASH_COMMAND"' ERR

swap() { # h1's machine is called h2 and the other way round
    sed -i -E '/^ *(uri|peerUri|qemuLogDir):/ {s#\bh1\b#hX#g; s#\bh2\b#h1#g; s#\bhX\b#h2#g}' "$TEST_DIR/ferry.yaml"
}
names_the_machine() { [[ $(job_field "$job" .status.ferry.pending.message) == *'is another machine than at the migrate call'* ]]; }

in_precopy
kill9_ferry
orders() { sql 'SELECT count(*) FROM intents'; }
ordered=$(orders)
[ "$1" != arrived ] || wait_until 60 runs_here h2 g-f || fail 'it does not arrive'
swap
start_ferry
wait_until 30 names_the_machine || fail "pending: $(job_field "$job" .status.ferry.pending.message)"
note "pending: $(job_field "$job" .status.ferry.pending.message)"
sleep 5
assert_job "$job" .status.phase 'TargetReady|Running'
assert_equal 'orders' "$(orders)" "$ordered"
! metrics | grep '^ferry_incident{.*kind="\(lost\|split\|irrecoverable\|down\)"' || fail 'somebody is paged for a guest that is well'
stop_ferry
swap
start_ferry
wait_final "$job" 60
assert_job "$job" .status.phase Succeeded
assert_runs_on h2 g-f
guest_check h2 g-f
