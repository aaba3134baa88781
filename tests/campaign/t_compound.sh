#!/bin/bash
# compound: two faults at once, or one in the middle of the answer to another
# cases: pre_drop_and_source_libvirtd pre_stream_and_target_libvirtd pre_stopped_qemu_and_abort pre_link_and_stopped_libvirtd pre_slow_and_blip pre_qemu_and_libvirtd pre_both_libvirtds pre_answers_and_abort pre_stopped_source_qemu pre_drop_healed_late pre_link_flaps pre_full_stop_of_target switch_drop_healed switch_source_libvirtd_and_target_qemu switch_stopped_qemu_continues switch_link_and_abort switch_both_libvirtds switch_stream switch_stream_and_libvirtd post_stream_and_target_libvirtd post_stream_and_source_libvirtd post_stream_three_times post_link_and_source_libvirtd post_stopped_qemu_and_stream post_drop_and_stream post_stream_and_refused post_link_flaps post_both_libvirtds disks_drop_and_abort disks_link_and_target_libvirtd disks_stream_and_source_libvirtd disks_answers
. "$(dirname "$0")/../lab/testlib.sh"
STAGE_HOSTS=3 . "$LAB_SCRIPTS/stages.sh"
. "$(dirname "$0")/oracle.sh"
ROW=${1:-}
restart() { break_host kill-libvirtd "$1" && sleep "${2:-2}" && heal "$1"; } # HOST [SECONDS]
# A daemon that ends right after an attempt to resume is not asked again (it may be what killed it): an operator is.
recovered_or_asked() {
    asked() { is_phase "$job" 'Succeeded|Failed' || [ "$(sql 'SELECT recovery FROM jobs')" = recovery-exhausted ]; }
    wait_until 60 asked || return 0
    is_phase "$job" 'Succeeded|Failed' || { note "recovery: $(job_field "$job" .status.ferry.pending.message)" && sleep 3 && ferry recover "$job" >&2; }
}

case $ROW in
pre_*) in_precopy ;;
switch_*) in_switch ;;
post_drop_and_stream | post_stream_and_refused) HELPERS=h2 && in_postcopy ;; # only a helper tells the target
post_*) in_postcopy ;;
disks_*) in_disks ;;
esac
began
case $ROW in
pre_drop_and_source_libvirtd) break_host drop-port h2 && sleep 2 && restart h1 && sleep 10 && heal h2 && settles source 120 ;;
pre_stream_and_target_libvirtd) break_host break-stream h1 && restart h2 && settles source 60 ;;
pre_stopped_qemu_and_abort) break_host stop-qemu h2 g-f && sleep 2 && { ferry abort "$job" >&2 || true; } && settles source 100 user-cancelled ;;
pre_link_and_stopped_libvirtd) break_host stop-libvirtd h2 && break_host link-down h2 && sleep 15 && heal h2 && settles source 120 ;;
pre_slow_and_blip) break_host limit h1 4mbit && sleep 3 && break_host link-down h2 && sleep 2 && break_host link-up h2 && sleep 1 && heal h1 && settles either 120 ;;
pre_qemu_and_libvirtd) break_host kill-qemu h2 g-f && restart h2 && settles source 60 ;;
pre_both_libvirtds) break_host kill-libvirtd h1 && break_host kill-libvirtd h2 && sleep 3 && heal h1 && heal h2 && settles source 90 ;;
pre_answers_and_abort) break_host drop-answers h1 && sleep 2 && { ferry abort "$job" >&2 || true; } && sleep 8 && heal h1 && settles source 120 user-cancelled ;;
pre_stopped_source_qemu) break_host stop-qemu h1 g-f && sleep 12 && break_host cont-qemu h1 g-f && settles either 120 ;;
pre_drop_healed_late) break_host drop-port h2 && sleep 20 && heal h2 && settles source 120 progress-stall ;;
pre_link_flaps)
    for _ in 1 2 3; do break_host link-down h2 && sleep 1.5 && break_host link-up h2 && sleep 1.5; done
    settles either 120
    ;;
pre_full_stop_of_target) break_host kill-qemu h2 g-f && break_host kill-libvirtd h2 && break_host link-down h2 && sleep 12 && heal h2 && settles source 120 ;;
switch_drop_healed) break_host drop-port h2 && sleep 3 && heal h2 && settles either 90 ;;
switch_source_libvirtd_and_target_qemu) break_host kill-qemu h2 g-f && break_host kill-libvirtd h1 && sleep 2 && heal h1 && settles source 90 ;;
switch_stopped_qemu_continues) break_host stop-qemu h2 g-f && sleep 2 && break_host cont-qemu h2 g-f && settles either 90 ;;
switch_link_and_abort) break_host link-down h2 && sleep 2 && { ferry abort "$job" >&2 || true; } && sleep 3 && heal h2 && settles either 120 ;;
switch_both_libvirtds) break_host kill-libvirtd h1 && break_host kill-libvirtd h2 && sleep 2 && heal h1 && heal h2 && settles either 120 ;;
switch_stream) break_host break-stream h1 && settles source 60 ;;
switch_stream_and_libvirtd) break_host break-stream h1 && restart h2 && settles source 90 ;;
post_stream_and_target_libvirtd) break_host break-stream h1 && restart h2 && recovered_or_asked && settles target 150 ;;
post_stream_and_source_libvirtd) break_host break-stream h1 && restart h1 && recovered_or_asked && settles target 150 ;;
post_stream_three_times)
    for _ in 1 2 3; do break_host break-stream h1 && sleep 6; done
    settles target 200
    ;;
post_link_and_source_libvirtd) break_host link-down h2 && restart h1 && sleep 8 && heal h2 && settles target 200 ;;
post_stopped_qemu_and_stream) break_host stop-qemu h2 g-f && sleep 2 && break_host break-stream h1 && sleep 8 && break_host cont-qemu h2 g-f && settles target 200 ;;
post_drop_and_stream) break_host drop-port h2 && break_host break-stream h1 && sleep 10 && heal h2 && settles target 200 ;;
post_stream_and_refused) break_host refuse-port h2 && break_host break-stream h1 && sleep 10 && heal h2 && settles target 200 ;;
post_link_flaps)
    for _ in 1 2 3; do break_host link-down h2 && sleep 2 && break_host link-up h2 && sleep 3; done
    settles target 200
    ;;
post_both_libvirtds) break_host kill-libvirtd h1 && break_host kill-libvirtd h2 && sleep 2 && heal h1 && heal h2 && settles target 200 ;;
disks_drop_and_abort) break_host drop-port h2 && sleep 2.5 && { ferry abort "$job" >&2 || true; } && settles source 90 user-cancelled ;;
disks_link_and_target_libvirtd) break_host link-down h2 && sleep 2 && break_host kill-libvirtd h2 && sleep 5 && heal h2 && settles source 120 ;;
disks_stream_and_source_libvirtd) break_host break-stream h1 && restart h1 && settles source 90 ;;
disks_answers) break_host drop-answers h1 && sleep 10 && heal h1 && settles either 120 ;;
*) fail "no row '$ROW'" ;;
esac
