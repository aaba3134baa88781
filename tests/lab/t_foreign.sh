#!/bin/bash
# foreign: virsh migrates, something breaks: Ferry, which can only read, records the right outcome and verdict
# cases: abort kill_target_qemu
# full: abort_late drop_abort link_down blip reject stream libvirt_connection kill_source_qemu kill_target_libvirtd kill_source_libvirtd destroy_target destroy_source slow_abort refused_from_start stop_target_libvirtd stop_target_qemu_abort switch_kill_target_qemu switch_drop_heal switch_kill_source_libvirtd disks_full disks_stream disks_kill_target_qemu disks_abort post_blip post_kill_target_qemu post_kill_source_qemu post_kill_source_libvirtd post_stream_resume post_libvirt_connection after_kill
#
# A row: what is broken, how it must end, and the causes that the verdict may name: the true one, or one that is less exact
# where nothing tells the two apart. Who asked is never known. No order is in the store, and the sockets are read-only.
. "$(dirname "$0")/testlib.sh"
. "$(dirname "$0")/stages.sh"
. "$(dirname "$0")/foreign.sh"
ROW=${1:-}
trap 'note "events:"; events >&2; fail "command failed: $BASH_COMMAND"' ERR
source_off() { not_here h1 g-f; }

case $ROW in
abort) foreign_precopy && began && host_virsh h1 domjobabort g-f && ends source 15 none user-cancelled ;;
abort_late) foreign_precopy && sleep 5 && began && host_virsh h1 domjobabort g-f && ends source 15 none user-cancelled ;;
drop_abort) # somebody lost patience with a stalled stream
    foreign_precopy && began && break_host drop-port h2
    advised abort 40
    metrics | grep 'ferry_migration_advice{.*advice="abort"' >&2 || fail 'no metric has the advice'
    ferry describe migration "$job" | grep -E '^(Trouble|Ferry would|Command)' >&2
    follow_advice
    heal h2
    ends source 60 'none|data' 'user-cancelled|progress-stall|network-interrupted'
    ;;
slow_abort) # it does not converge
    foreign_begin 'ws=32 rate=60 hb=200' --bandwidth 12
    wait_until 30 pass_reached h1 g-f 5 || fail 'no fifth pass'
    began && host_virsh h1 domjobabort g-f && ends source 15 none 'user-cancelled'
    ;;
link_down) foreign_precopy && began && break_host link-down h2 && ends source 90 data network-interrupted ;;
blip) foreign_precopy && began && break_host link-down h2 && sleep 2 && heal h2 && ends target 60 ;;
reject) foreign_precopy && began && break_host refuse-port h2 && ends source 30 data network-interrupted ;;
stream) foreign_precopy && began && break_host break-stream h1 && ends source 30 data network-interrupted ;;
libvirt_connection) foreign_precopy && began && end_libvirt_connection h1 && ends source 30 control 'control-connection-lost|management-daemon-restart' ;;
kill_target_qemu) foreign_precopy && began && break_host kill-qemu h2 g-f && ends source 30 data destination-vmm-crashed ;;
kill_source_qemu) foreign_precopy && began && break_host kill-qemu h1 g-f && ends lost 30 data source-vmm-crashed ;;
kill_target_libvirtd) foreign_precopy && began && break_host kill-libvirtd h2 && sleep 3 && heal h2 && ends source 60 control management-daemon-restart ;;
kill_source_libvirtd) foreign_precopy && began && break_host kill-libvirtd h1 && sleep 3 && heal h1 && ends source 60 control management-daemon-restart ;;
destroy_target) foreign_precopy && began && host_virsh h2 destroy g-f && ends source 30 none user-cancelled ;;
destroy_source) foreign_precopy && began && host_virsh h1 destroy g-f && ends lost 30 none guest-stopped-during-migration ;;
switch_kill_target_qemu) foreign_switch && began && break_host kill-qemu h2 g-f && ends source 30 data destination-vmm-crashed ;;
switch_drop_heal) foreign_switch && began && break_host drop-port h2 && sleep 6 && heal h2 && ends target 60 ;;
switch_kill_source_libvirtd) foreign_switch && began && break_host kill-libvirtd h1 && sleep 2 && heal h1 && ends either 60 control management-daemon-restart ;;
refused_from_start) # the target's port: no byte is transferred
    break_host refuse-port h2
    began && foreign_begin 'ws=8 rate=2 hb=200' --bandwidth 6
    ends source 30 data 'data-connect-failed|network-interrupted'
    ;;
stop_target_libvirtd) foreign_precopy && began && break_host stop-libvirtd h2 && sleep 12 && heal h2 && ends either 90 control 'management-daemon-restart|control-connection-lost' ;;
stop_target_qemu_abort)
    foreign_precopy && began && break_host stop-qemu h2 g-f && sleep 6
    host_virsh h1 domjobabort g-f || true # QEMU cancels only when the other end is gone or answers
    sleep 4
    break_host cont-qemu h2 g-f
    ends source 60 'none|data' 'user-cancelled|progress-stall'
    ;;
disks_full) # there is room for half of it
    host_run h2 mkdir -p $IMAGES
    host_run h2 mount -t tmpfs -o size=8m full $IMAGES
    UNDO+=("host_run h2 umount $IMAGES")
    foreign_disks && began && ends source 60 data 'block-copy-failed' # that there was no room went to who started it
    ;;
disks_stream) foreign_disks && in_memory && began && break_host break-stream h1 && ends source 60 data network-interrupted ;;
disks_kill_target_qemu) foreign_disks && in_memory && began && break_host kill-qemu h2 g-f && ends source 60 data destination-vmm-crashed ;;
disks_abort) foreign_disks && in_memory && began && host_virsh h1 domjobabort g-f && ends source 60 none user-cancelled ;;
post_blip) foreign_postcopy && began && break_host link-down h2 && sleep 2 && heal h2 && ends target 90 ;;
post_kill_target_qemu) foreign_postcopy && began && break_host kill-qemu h2 g-f && ends irrecoverable 60 data destination-vmm-crashed ;;
post_kill_source_qemu) foreign_postcopy && began && break_host kill-qemu h1 g-f && ends irrecoverable 60 data source-vmm-crashed ;;
post_kill_source_libvirtd) foreign_postcopy && began && break_host kill-libvirtd h1 && sleep 2 && heal h1 && ends target 120 ;;
post_libvirt_connection) foreign_postcopy && began && end_libvirt_connection h1 && ends target 90 ;;
post_stream_resume) # broken, and mended by who started it
    foreign_postcopy && began && break_host break-stream h1
    wait_until 20 both_broken || fail 'it is not broken'
    sleep 4
    advised resume-stream 20
    wait_until 40 follow_advice || fail 'not resumed'
    ends target 60
    ;;
after_kill)
    foreign_precopy && virsh_ended && wait_until 10 is_recorded
    break_host kill-qemu h2 g-f
    wait_until 15 has_cause destination-crash-after-switchover || fail "the verdict is $(job_field "$job" .status.ferry.verdict.cause)"
    ;;
*) fail "no row '$ROW'" ;;
esac
