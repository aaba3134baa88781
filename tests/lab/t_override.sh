#!/bin/bash
# override: with unsafeMigrationOverride a guest goes only where its disk is found, by name and size
# full: missing
# long: 40
. "$(dirname "$0")/testlib.sh"
first_hosts 2
IMAGES=/var/lib/libvirt/images # each host has its own

write_config
echo '  unsafeMigrationOverride: true' >>"$TEST_DIR/ferry.yaml"
for host in h1 h2; do host_run "$host" mkdir -p $IMAGES; done
host_run h1 truncate -s 16M $IMAGES/o.img
UNDO+=("host_run h1 rm -f $IMAGES/o.img" "host_run h2 rm -f $IMAGES/o.img")
boot_as h1 g-o 64 'ws=8 rate=1 hb=200' \
    "$(with_device "<disk type='file' device='disk'><driver name='qemu' type='raw' cache='none'/><source file='$IMAGES/o.img'/><target dev='vda' bus='virtio'/></disk>")"
start_ferry
wait_condition g-o LiveMigratable 'True '

rejected() { [ "$(sql "SELECT count(*) FROM events WHERE reason = 'TargetRejected' AND message LIKE '%$1%'")" -ge 1 ]; }
job=$(migrate g-o h2 64)
wait_until 20 rejected 'it has no /var/lib' || fail "not rejected: $(sql 'SELECT reason, message FROM events')"
host_run h2 truncate -s 8M $IMAGES/o.img
wait_until 60 rejected 'is another one' || fail "not rejected: $(sql 'SELECT reason, message FROM events')"
assert_equal 'migrate calls' "$(sql "SELECT count(*) FROM intents WHERE action = 'migrate'")" 0
host_run h2 truncate -s 16M $IMAGES/o.img
wait_final "$job" 90
assert_job "$job" .status.phase Succeeded
guest_check h2 g-o
