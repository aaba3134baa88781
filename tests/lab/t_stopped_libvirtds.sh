#!/bin/bash
# stopped_libvirtds: half of the libvirtds hang; scrapes and the other hosts' samples do not
. "$(dirname "$0")/testlib.sh"

boot h1 g-half 64 'ws=8 rate=1 hb=200'
start_ferry
since=$(nodes_since)
job=$(migrate g-half h2 4)
uid=$(uid_of "$job")
wait_until 20 pass_reached h1 g-half 1 || fail 'no first pass'
sleep 2 # samples to compare with

break_host stop-libvirtd h3
break_host stop-libvirtd h4
stopped_ms=$(date +%s%3N)
worst=0
for _ in $(seq 60); do
    took=$(curl -sS -m 5 --fail -o /dev/null -w '%{time_total}' "$SERVER/metrics") || fail 'no answer to a scrape'
    worst=$(awk -v a="$worst" -v b="$took" 'BEGIN {print (b > a) ? b : a}')
    sleep 0.1
done
until_ms=$(date +%s%3N)
note "slowest scrape $worst s"
awk -v a="$worst" 'BEGIN {exit !(a < 1)}' || fail "a scrape took $worst s"
is_phase "$job" Running || fail "$job ended too early for this test"
# 1 s x 5: the keepalive of the stopped ones has fired by now or will soon; nobody else notices.
wait_until 15 node_not_ready h3 || fail 'h3 hangs and is called ready'
wait_final "$job" 60
assert_job "$job" .status.phase Succeeded

gap() { # CONDITION: largest gap between two samples
    samples "SELECT coalesce(max(gap), 0) FROM (SELECT at_ms, mono_ms - lag(mono_ms) OVER (ORDER BY seq) AS gap
             FROM samples WHERE job_uid = '$uid') WHERE $1"
}
before=$(gap "at_ms < $stopped_ms") after=$(gap "at_ms BETWEEN $stopped_ms AND $until_ms")
note "largest gap $before ms before, $after ms with half of the hosts stopped"
[ "$after" -gt 0 ] || fail 'no samples while half of the hosts were stopped'
# One poll more than before is the machine's noise; a lane that waits for a stopped host is seconds.
[ "$after" -le $((before + 400)) ] || fail "sampling gap grew from $before to $after ms"

heal h3
heal h4
for host in h3 h4; do
    wait_until 20 node_ready $host || fail "$host answers again and is not called ready"
done
[ "$(nodes_since | grep -c -v -F -x "$since")" = 2 ] || fail "nodes that were lost do not show it: $(nodes_since)"
assert_runs_on h2 g-half
guest_check h2 g-half
