#!/bin/bash
# faults: what breaks in the middle of a move, row by row; the guest runs on exactly one host, or it is said why not
# cases: pre_drop pre_stop_target_qemu switch_drop disks_drop
# full: pre_link_down pre_blip pre_reject pre_stream pre_libvirt_connection pre_kill_target_qemu pre_kill_source_qemu pre_kill_target_libvirtd pre_kill_source_libvirtd pre_stop_target_libvirtd pre_stop_source_libvirtd pre_destroy_target pre_destroy_source pre_slow switch_stop_target_qemu switch_kill_target_qemu switch_link_down disks_link_down disks_abort disks_stream post_blip post_libvirt_connection post_kill_source_libvirtd post_reject post_stop_target_qemu
#
# A row: when it is broken (the first word of its name), how, and how it must end. ends FATE SECONDS:
# source, target or lost. Memory is checked in every row where the guest lives.
. "$(dirname "$0")/testlib.sh"
first_hosts 2
ROW=${1:-}
IMAGES=/var/lib/libvirt/images # each host has its own

events() { sql "SELECT reason, message FROM events WHERE uid = '$(uid_of "$job")' ORDER BY at_ms, id"; }
intents() { sql "SELECT group_concat(action || '=' || err, ' ') FROM (SELECT action, err FROM intents WHERE job_uid = '$(uid_of "$job")' ORDER BY epoch, seq)"; }
decided() { [ "$(sql "SELECT count(*) FROM decisions WHERE job_uid = '$(uid_of "$job")' AND decision = '$1'")" -ge 1 ]; }
mode_is() { [ "$(job_field "$job" .status.migrationState.mode)" = "$1" ]; }
stands_still() { [[ $(guest_state h1 g-f) == paused* ]]; }
disks_alike() { [ "$(job_field "$job" .status.ferry.sample.memoryProcessedBytes)" -gt 0 ] 2>/dev/null; }
end_libvirt_connection() { # HOST: between the two libvirtds
    host_run "$1" ss -K -Htn state established '( dport = :16509 or sport = :16509 )' >/dev/null 2>&1 || true
}

policy() { # MORE FIELDS
    ferry apply -f - <<<"{apiVersion: migrations.kubevirt.io/v1alpha1, kind: MigrationPolicy, metadata: {name: f},
        spec: {selectors: {virtualMachineInstanceSelector: {tier: f}},
               experimental: {stallDetector: {stallProgressTimeout: ${STALL:-5}, switchoverTimeout: 30}}, $1}}"
}
begin() { # "guest's work" "policy" [migrate option]...
    local work=$1 rules=$2 edits=("$(with_metadata "<ferry:label key='tier' value='f'/>")")
    if [[ $ROW == disks_* ]]; then
        for host in h1 h2; do host_run "$host" mkdir -p $IMAGES; done
        host_run h1 sh -c "head -c 16M /dev/urandom >$IMAGES/f.img"
        host_run h2 truncate -s 16M $IMAGES/f2.img
        UNDO+=("host_run h1 rm -f $IMAGES/f.img" "host_run h2 rm -f $IMAGES/f2.img")
        edits+=("$(with_device "<disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='$IMAGES/f.img'/><target dev='vda' bus='virtio'/></disk>")")
    fi
    boot_as h1 g-f 64 "$work" "${edits[@]}"
    start_ferry
    if [[ $ROW == disks_* ]]; then wait_condition g-f LiveMigratable 'False DisksNotLiveMigratable'; else wait_condition g-f LiveMigratable 'True '; fi
    policy "$rules"
    job=$(ferry migrate g-f --to h2 -o name "${@:3}")
    job=${job#*/}
}
# In the named stage of the move.
in_precopy() {
    begin 'ws=8 rate=2 hb=200' "bandwidthPerMigration: 6Mi${1:+, $1}"
    wait_until 30 pass_reached h1 g-f 1 || fail 'no pass began'
    sleep 1
}
in_switch() { # the guest writes faster than its link carries and may be stopped: a switch-over of seconds
    STALL=3 begin 'ws=32 rate=40 hb=200' "bandwidthPerMigration: 8Mi, allowWorkloadDisruption: true, allowPostCopy: false"
    wait_until 60 stands_still || fail 'no switch-over'
    note "switch-over: $(guest_state h1 g-f)"
}
in_postcopy() {
    STALL=3 begin 'ws=32 rate=40 hb=200' "bandwidthPerMigration: 12Mi, bandwidthPostCopy: 1Mi, allowPostCopy: true"
    wait_until 60 mode_is PostCopy || fail 'no post-copy'
    sleep 0.5
}
in_disks() { # disks are alike and memory moves
    begin 'ws=8 rate=2 hb=200' 'bandwidthPerMigration: 6Mi' --volume "vda=$IMAGES/f2.img"
    wait_until 60 disks_alike || fail 'the disk was not copied'
    sleep 1
}

began() { BEGAN=$EPOCHREALTIME; }
elapsed() { awk -v a="$BEGAN" -v b="$EPOCHREALTIME" 'BEGIN {printf "%.1f", b - a}'; }
# runs_again HOST SECONDS: the guest's own heartbeat says so
runs_again() {
    local before
    before=$(heartbeats "$1" g-f)
    wait_until "$2" more_heartbeats "$1" g-f "$before" || fail "g-f does not run on $1 after $2 s"
    note "g-f runs on $1 again after $(elapsed) s"
}
ends() { # source|target|lost SECONDS
    wait_final "$job" "$2"
    note "$ROW: final after $(elapsed) s: $(job_field "$job" .status.ferry.outcome), $(intents)"
    note "reason: $(job_field "$job" .status.migrationState.failureReason)"
    for host in "${BROKEN[@]}"; do heal "$host"; done
    case $1 in
    source)
        assert_job "$job" .status.phase Failed
        assert_job "$job" .status.ferry.guestAt running-on-source
        assert_runs_on h1 g-f
        guest_check h1 g-f
        ;;
    target)
        assert_job "$job" .status.phase Succeeded
        assert_runs_on h2 g-f
        guest_check h2 g-f
        ;;
    lost)
        assert_job "$job" .status.phase Failed
        assert_job "$job" .status.ferry.guestAt 'lost|stopped-on-source'
        not_here h1 g-f && not_here h2 g-f || fail "g-f is somewhere"
        ;;
    irrecoverable)
        assert_job "$job" .status.ferry.outcome irrecoverable
        ;;
    esac
}
trap 'note "events:"; events >&2; fail "command failed: $BASH_COMMAND"' ERR

case $ROW in
pre_*) in_precopy ;;
switch_*) in_switch ;;
post_*) in_postcopy ;;
disks_*) in_disks ;;
esac
began
case $ROW in
pre_link_down) break_host link-down h2 && ends source 60 ;;
pre_blip) break_host link-down h2 && sleep 2 && heal h2 && ends target 60 ;;
pre_drop)
    break_host drop-port h2
    ends source 60
    [[ $(job_field "$job" .status.migrationState.failureReason) == 'aborted by ferry: '* ]] || fail 'no reason'
    ;;
pre_reject) break_host refuse-port h2 && ends source 30 ;;
pre_stream) break_host break-stream h1 && ends source 30 ;;
pre_libvirt_connection) end_libvirt_connection h1 && ends source 30 ;;
pre_kill_target_qemu) break_host kill-qemu h2 g-f && ends source 30 ;;
pre_kill_source_qemu) break_host kill-qemu h1 g-f && ends lost 30 ;;
pre_kill_target_libvirtd) break_host kill-libvirtd h2 && sleep 3 && heal h2 && ends source 60 ;;
pre_kill_source_libvirtd) break_host kill-libvirtd h1 && sleep 3 && heal h1 && ends source 60 ;;
pre_stop_target_qemu)
    break_host stop-qemu h2 g-f
    ends source 100
    ;;
pre_stop_target_libvirtd) break_host stop-libvirtd h2 && sleep 20 && heal h2 && ends source 90 ;;
pre_stop_source_libvirtd) break_host stop-libvirtd h1 && sleep 12 && heal h1 && ends 'target' 90 ;;
pre_destroy_target) host_virsh h2 destroy g-f && ends source 30 ;;
pre_destroy_source) host_virsh h1 destroy g-f && ends lost 30 ;;
pre_slow)
    break_host limit h1 256kbit
    ends source 120
    ;;
switch_drop)
    break_host drop-port h2
    runs_again h1 12
    decided stalled-switch-drop-copy || fail "decided: $(events)"
    ends source 60
    ;;
switch_stop_target_qemu)
    break_host stop-qemu h2 g-f
    runs_again h1 20
    ends source 60
    ;;
switch_kill_target_qemu) break_host kill-qemu h2 g-f && runs_again h1 5 && ends source 30 ;;
switch_link_down) # nothing agentless frees it while the link is down: it is said, and ends when the link is back
    break_host link-down h2
    sleep 15
    note "pending: $(job_field "$job" .status.ferry.pending.message)"
    heal h2
    runs_again h1 30
    ends source 90
    ;;
disks_drop)
    break_host drop-port h2
    sleep 1
    runs_again h1 3
    sleep 8
    runs_again h1 3
    decided stalled-disks-yank || fail "decided: $(events)"
    ends source 60
    ;;
disks_link_down)
    break_host link-down h2
    sleep 8
    runs_again h1 3
    ends source 60
    ;;
disks_abort)
    break_host drop-port h2
    sleep 2.5
    ferry abort "$job" >&2 || true
    sleep 2
    runs_again h1 3
    ends source 60
    ;;
disks_stream) break_host break-stream h1 && runs_again h1 3 && ends source 60 ;;
post_blip) break_host link-down h2 && sleep 2 && heal h2 && ends target 90 ;;
post_libvirt_connection) end_libvirt_connection h1 && ends target 90 ;;
post_kill_source_libvirtd) break_host kill-libvirtd h1 && sleep 2 && heal h1 && ends target 120 ;;
post_reject) break_host refuse-port h2 && sleep 3 && heal h2 && ends target 200 ;;
post_stop_target_qemu) break_host stop-qemu h2 g-f && sleep 12 && break_host cont-qemu h2 g-f && ends target 120 ;;
*) fail "no row '$ROW'" ;;
esac
