#!/bin/bash
# mixed: a guest moves between hosts of two Debian releases, there and back, and arrives whole; what cannot is refused
# full: debian13 debian-testing
#
# The case is the other release. The test has a lab of its own: h1 is of this machine, h2 of the root.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
root=${1:?the case names the root}
if ! root_exists "$root"; then
    say "skipped: no root '$root' in $LAB_ROOTS (make lab-roots ROOT=$root)"
    exit 77
fi
LAB_TEST=${LAB_TEST:0:14}-m
trap '"$LAB_SCRIPTS/down" --name "$LAB_TEST" --quiet' EXIT
KEEPALIVE_INTERVAL=1 "$LAB_SCRIPTS/up" --hosts 2 --name "$LAB_TEST" --root h2="$root" || exit 1
. "$(dirname "$(readlink -f "$0")")/testlib.sh"
UNDO+=("$LAB_SCRIPTS/down --name $LAB_TEST --quiet") # testlib.sh has its own trap

version() { host_virsh "$1" version --daemon; } # HOST
for host in h1 h2; do note "$host: $(version $host | paste -sd' ')"; done
[ "$(version h1)" != "$(version h2)" ] || fail 'both hosts run the same versions'
note "machine type: $(cat "$LAB/machine")"

move() { # FROM TO
    local job
    job=$(migrate g-mixed "$2" 32)
    wait_final "$job"
    assert_job "$job" .status.phase Succeeded
    assert_runs_on "$2" g-mixed
    guest_check "$2" g-mixed
    assert_state "$job" "$1" "$2"
}
boot h1 g-mixed 96 'ws=24 rate=8 hb=200'
start_ferry
move h1 h2

# Its libvirtd is killed and started again in the same root, and finds the guest.
before=$(version h2)
break_host kill-libvirtd h2
wait_until 20 node_not_ready h2 || fail 'h2 is still ready'
heal h2
assert_equal 'version after the restart' "$(version h2)" "$before"
runs_here h2 g-mixed || fail "after the restart: $(guest_state h2 g-mixed)"
wait_until 20 node_ready h2 || fail 'h2 is not ready again'

move h2 h1

# A machine type that only the newer QEMU knows: refused before any call, with the reason.
newest=$(host_run h2 qemu-system-x86_64 -machine help | awk '/^pc-i440fx-[0-9]/ {print $1}' | sort -V | tail -n 1)
boot_as h2 g-newest 48 'rate=0 hb=200' "s/machine='[^']*'/machine='$newest'/"
wait_condition g-newest LiveMigratable 'True '
job=$(migrate g-newest h1 32)
wait_final "$job"
note "$newest: $(job_field "$job" .status.migrationState.failureReason)"
assert_job "$job" .status.phase Failed
assert_job "$job" '.status.ferry.rejections[] | select(.node == "h1") | .reason' machine-type
assert_runs_on h2 g-newest
