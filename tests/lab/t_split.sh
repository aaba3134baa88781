#!/bin/bash
# split: the target's libvirtd is frozen over the end of a pre-copy, and libvirt alone runs the guest on both hosts
# cases: frozen
# full: restarted
# long: frozen=40 restarted=45
#
# QEMU needs no daemon to end its stream. The source's libvirtd sends Finish, its keepalive closes the connection, and it
# resumes the guest. The target's libvirtd finds the Finish in its socket when it goes on, and starts the guest too. It
# answers a keepalive that it finds before the Finish into a closed connection, and drops the rest: so the stream must end
# within one interval, which is 5 s by default and 1 s in this lab.
. "$(dirname "$0")/testlib.sh"
. "$(dirname "$0")/stages.sh"
remaining_mib() { host_virsh h1 domjobinfo g-f 2>/dev/null | awk '/^Memory remaining:/ {n = $3 * ($4 == "GiB" ? 1024 : $4 == "KiB" ? 1 / 1024 : 1)} END {print n + 0}'; }
almost_done() { pass_reached h1 g-f 1 && awk -v n="$(remaining_mib)" 'BEGIN {exit !(n < 10)}'; }
call_failed() { [[ $(intents) == *migrate=hypervisor* ]]; }
is_running() { [[ $(guest_state "$1" g-f) == running* ]]; }
is_suspended() { [[ $(guest_state h2 g-f) == 'paused (user)' ]]; }
on_h2() { [ -n "$(guest_state h2 g-f)" ]; }
is_paged() { metrics | grep 'ferry_incident{.*kind="split"' >/dev/null; }
not_paged() { ! is_paged; }
keepalive() { # INTERVAL COUNT: between the two libvirtds
    local host
    for host in h1 h2; do
        sed -i "s/^keepalive_interval.*/keepalive_interval = $1/; s/^keepalive_count.*/keepalive_count = $2/" "$LAB/$host"/etc/{qemu,libvirtd}.conf
        libvirtd_stop "$host"
        libvirtd_start "$host"
        libvirtd_wait "$host"
    done
}
trap 'note "events:"; events >&2; fail "command failed: $BASH_COMMAND"' ERR

keepalive 4 1
UNDO+=('keepalive 1 5')
begin 'ws=8 rate=2 hb=200' 'bandwidthPerMigration: 6Mi'
wait_until 30 almost_done || fail 'no end in sight'
break_host stop-libvirtd h2
note "h2 is frozen, $(remaining_mib) MiB remain"
wait_until 30 call_failed || fail "the call did not fail: $(intents)"
wait_until 5 is_running h1 || fail "h1: $(guest_state h1 g-f)"
note "h1: $(guest_state h1 g-f), $(intents)"
if [ "${1:-}" = restarted ]; then kill9_ferry; fi
sleep 2
began
heal h2
wait_until 10 on_h2 || fail 'h2 does not answer'
note "h2: $(guest_state h2 g-f)"
if not_here h2 g-f; then fail 'libvirt did not start it there: this run shows nothing'; fi
if [ "${1:-}" = restarted ]; then # Ferry did not see when the source resumed the guest: nothing is proven, nothing is touched
    start_ferry
    wait_until 10 is_paged || fail 'nobody is paged'
    waits_for 'touch neither' || fail "it says $(job_field "$job" .status.ferry.pending.message)"
    sleep 3
    is_running h1 && is_running h2 || fail "h1: $(guest_state h1 g-f), h2: $(guest_state h2 g-f)"
else
    wait_until 8 is_suspended || fail "both run: h1 $(guest_state h1 g-f), h2 $(guest_state h2 g-f)"
    note "suspended after $(elapsed) s: $(intents)"
    within 5
    is_running h1 || fail "h1: $(guest_state h1 g-f)"
    wait_until 5 is_paged || fail 'nobody is paged'
    waits_for 'destroy that copy there' || fail "it says $(job_field "$job" .status.ferry.pending.message)"
    kill9_ferry
    start_ferry
    wait_until 10 waits_for 'destroy that copy there' || fail "it says $(job_field "$job" .status.ferry.pending.message)"
    sleep 3
    is_suspended && is_running h1 || fail "h1: $(guest_state h1 g-f), h2: $(guest_state h2 g-f)"
    is_paged || fail 'nobody is paged any more'
    assert_equal 'orders' "$(sql "SELECT group_concat(node || ' ' || err) FROM intents WHERE action = 'suspend-stray'")" 'h2 none'
fi
host_virsh h2 destroy g-f >&2
wait_final "$job" 30
assert_job "$job" .status.phase Failed
assert_job "$job" .status.ferry.guestAt running-on-source
wait_until 5 not_paged || fail 'the incident is still open'
assert_runs_on h1 g-f
guest_check h1 g-f
