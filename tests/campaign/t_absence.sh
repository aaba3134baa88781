#!/bin/bash
# absence: Ferry dies, or is stopped, and the world goes on
# cases: pre_stream pre_target_qemu pre_source_libvirtd pre_target_libvirtd pre_link_down pre_completes pre_three_times pre_frozen_stream pre_frozen_completes pre_abort_killed pre_terminated_abort switch_drop switch_target_libvirtd switch_completes switch_frozen post_stream post_link_down post_both_libvirtds post_completes post_frozen_stream post_recovery_killed post_recovery_killed_twice disks_stream disks_completes drain_killed queue_killed
. "$(dirname "$0")/../lab/testlib.sh"
STAGE_HOSTS=3 . "$LAB_SCRIPTS/stages.sh"
. "$(dirname "$0")/oracle.sh"
ROW=${1:-}

case $ROW in
pre_*) in_precopy ;;
switch_*) in_switch ;;
post_*) in_postcopy ;;
disks_*) in_disks ;;
esac
began
case $ROW in
pre_stream) gone_for 0.2 && break_host break-stream h1 && sleep 3 && back && settles source 60 ;;
pre_target_qemu) gone_for 0.2 && break_host kill-qemu h2 g-f && sleep 3 && back && settles source 60 ;;
pre_source_libvirtd) gone_for 0.2 && break_host kill-libvirtd h1 && sleep 2 && heal h1 && back && settles source 60 ;;
pre_target_libvirtd) gone_for 0.2 && break_host kill-libvirtd h2 && sleep 2 && heal h2 && back && settles source 60 ;;
pre_link_down) gone_for 0.2 && break_host link-down h2 && sleep 4 && back && sleep 8 && heal h2 && settles either 120 ;;
pre_completes) # nobody is there when it arrives; Ferry held its downtime, which virsh lifts
    gone_for 0.2
    host_virsh h1 migrate-setmaxdowntime g-f 2000 || true
    host_virsh h1 migrate-setspeed g-f 100 || true
    wait_until 40 runs_here h2 g-f || note "not there after 40 s"
    back
    settles target 60
    ;;
pre_three_times)
    for _ in 1 2 3; do gone_for 0.3 && back; done
    settles target 90
    ;;
pre_frozen_stream) (sleep 2 && "$LAB_SCRIPTS/fault" --name "$LAB_NAME" break-stream h1) & ferry_frozen 12 && settles source 60 ;;
pre_frozen_completes) host_virsh h1 migrate-setspeed g-f 100 && ferry_frozen 12 && settles target 90 ;;
pre_abort_killed) (ferry abort "$job" >&2 || true) & sleep 0.15 && gone_for 0.5 && back && settles either 90 ;;
pre_terminated_abort) stop_ferry && back && { ferry abort "$job" >&2 || true; } && settles source 60 user-cancelled ;;
switch_drop) gone_for 0.1 && break_host drop-port h2 && back && sleep 12 && heal h2 && settles either 120 ;;
switch_target_libvirtd) gone_for 0.1 && break_host kill-libvirtd h2 && sleep 2 && heal h2 && back && settles either 120 ;;
switch_completes) gone_for 12 && back && settles either 60 ;;
switch_frozen) ferry_frozen 12 && settles either 60 ;;
post_stream) gone_for 0.2 && break_host break-stream h1 && sleep 3 && back && settles target 150 ;;
post_link_down) gone_for 0.2 && break_host link-down h2 && sleep 5 && back && sleep 5 && heal h2 && settles target 200 ;;
post_both_libvirtds) gone_for 0.2 && break_host kill-libvirtd h1 && break_host kill-libvirtd h2 && sleep 2 && heal h1 && heal h2 && back && settles target 200 ;;
post_completes)
    gone_for 0.2
    host_virsh h1 migrate-setspeed g-f 100 --postcopy || true
    wait_until 90 not_here h1 g-f || note 'the source still has it'
    back
    settles target 120
    ;;
post_frozen_stream) (sleep 2 && "$LAB_SCRIPTS/fault" --name "$LAB_NAME" break-stream h1) & ferry_frozen 12 && settles target 150 ;;
post_recovery_killed) break_host break-stream h1 && sleep 1.5 && gone_for 1 && back && settles target 150 ;;
post_recovery_killed_twice) break_host break-stream h1 && sleep 1 && gone_for 0.3 && back && gone_for 0.3 && back && settles target 150 ;;
disks_stream) gone_for 0.2 && break_host break-stream h1 && sleep 3 && back && settles source 60 ;;
disks_completes) gone_for 20 && back && settles either 90 ;;
drain_killed) # a drain of three guests
    evicts
    boot_as h1 g-f 64 'ws=8 rate=2 hb=200' "$(with_metadata "<ferry:label key='tier' value='f'/>")"
    for guest in g-2 g-3; do boot h1 $guest 32 'ws=2 rate=1 hb=200'; done
    start_ferry
    wait_condition g-f LiveMigratable 'True '
    policy 'bandwidthPerMigration: 6Mi'
    ferry drain h1 >&2
    moving() { job=$(newest_job g-f) && [ -n "$job" ] && is_phase "$job" Running; }
    wait_until 30 moving || fail 'the drain moves nothing'
    gone_for 1
    back
    empty() { [ -z "$(host_virsh h1 list --name)" ]; }
    wait_until 100 empty || fail "left on h1: $(host_virsh h1 list --name)"
    TO=$(place)
    TO=$TO settles target 30
    ;;
queue_killed) # accepted, waiting for its target, killed: nothing accepted is lost
    boot_as h1 g-f 64 'ws=8 rate=2 hb=200' "$(with_metadata "<ferry:label key='tier' value='f'/>")"
    start_ferry
    wait_condition g-f LiveMigratable 'True '
    ferry cordon h2 >&2
    job=$(migrate g-f h2 32)
    gone_for 1
    back
    ferry uncordon h2 >&2
    settles target 60 none
    ;;
*) fail "no row '$ROW'" ;;
esac
