#!/bin/bash
# eight_at_once: eight migrations from one host at libvirtd's limits; one is aborted at once
# long: 30
. "$(dirname "$0")/testlib.sh"

fired() { cat "$LAB"/h[12]/log/libvirtd.log | grep -ci keepalive || true; } # in this lab, by all its tests
before=$(fired)

for i in 1 2 3 4 5 6 7 8; do
    GUESTS+=("g-eight$i")
    guest_create h1 "g-eight$i" 32 'ws=4 rate=1 hb=500'
done
for i in 1 2 3 4 5 6 7 8; do wait_until 60 guest_ready h1 "g-eight$i" || fail "g-eight$i did not start"; done
start_ferry
since=$(nodes_since)
jobs=()
for i in 1 2 3 4 5 6 7 8; do jobs+=("$(migrate "g-eight$i" h2 2)"); done
for job in "${jobs[@]}"; do wait_phase "$job" Running 30; done
for i in 1 2 3 4 5 6 7 8; do wait_until 20 pass_reached h1 "g-eight$i" 1 || fail "g-eight$i does not move"; done
note 'all eight move'

began=$EPOCHREALTIME
ferry abort "${jobs[3]}"
wait_final "${jobs[3]}" 5
took=$(awk -v a="$began" -v b="$EPOCHREALTIME" 'BEGIN {printf "%d", (b - a) * 1000}')
note "abort took $took ms"
[ "$took" -lt 2000 ] || fail "abort took $took ms"
assert_job "${jobs[3]}" .status.migrationState.abortStatus Succeeded
assert_runs_on h1 g-eight4

for i in 0 1 2 4 5 6 7; do
    wait_final "${jobs[$i]}" 60
    assert_job "${jobs[$i]}" .status.phase Succeeded
    guest_check h2 "g-eight$((i + 1))"
done
guest_check h1 g-eight4
# A keepalive that fires costs a node its readiness, if only for a moment.
assert_equal 'nodes' "$(nodes_since)" "$since"
assert_equal 'failed orders' "$(metrics | sed -n 's/^ferry_hypervisor_call_failures_total{node="h1",lane="control"} //p')" 0
assert_equal 'keepalives that fired' "$(fired)" "$before"
