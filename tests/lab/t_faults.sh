#!/bin/bash
# faults: what breaks in the middle of a move, row by row; the guest runs on exactly one host, or it is said why not
# cases: pre_drop pre_stop_target_qemu switch_helper disks_drop
# full: switch_drop pre_link_down pre_blip pre_reject pre_stream pre_libvirt_connection pre_kill_target_qemu pre_kill_source_qemu pre_kill_target_libvirtd pre_kill_source_libvirtd pre_stop_target_libvirtd pre_stop_source_libvirtd pre_destroy_target pre_destroy_source pre_slow switch_stop_target_qemu switch_kill_target_qemu switch_link_down disks_link_down disks_abort disks_stream disks_full disks_small disks_kill_target_libvirtd disks_kill_source_libvirtd switch_helper_drop switch_helper_stop_qemu switch_kill_target_libvirtd switch_kill_source_libvirtd switch_stop_target_libvirtd post_blip post_libvirt_connection post_kill_source_libvirtd post_reject post_stop_target_qemu after_kill_target_qemu
# long: pre_stop_target_qemu=30 switch_helper=30
#
# A row: when it is broken (the first word of its name), how, how it must end, and the true cause, which
# the verdict must name. ends FATE SECONDS PLANE CAUSE: source, target, lost, or either of the first two;
# one that arrived has no cause, unless libvirt said that it failed. Memory is checked in every row where the guest lives.
. "$(dirname "$0")/testlib.sh"
. "$(dirname "$0")/stages.sh"
ROW=${1:-}
seen_later() { [ "$(sql "SELECT count(*) FROM observations WHERE job_uid = '$(uid_of "$job")' AND moment = 'later'")" = 2 ]; }
ends() { # source|target|lost|either SECONDS [PLANE CAUSE]
    local arrived_as=${4:-none}
    [ "$1" != either ] || arrived_as='none|false-failure-report'
    wait_final "$job" "$2"
    note "$ROW: final after $(elapsed) s: $(job_field "$job" .status.ferry.outcome), $(intents)"
    note "reason: $(job_field "$job" .status.migrationState.failureReason)"
    for host in "${BROKEN[@]}"; do heal "$host"; done
    local fate=$1
    [ "$fate" != either ] || fate=$([ "$(phase_of "$job")" = Succeeded ] && echo target || echo source)
    case $fate in
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
    esac
    wait_until 5 seen_later || fail 'the two sides were not seen a second after the end'
    if [ "$fate" = target ]; then
        assert_verdict "$job" "$arrived_as" none
    else
        assert_verdict "$job" "$4" "$3" # gone as a whole is lost, not irrecoverable: that is half of a post-copy
    fi
}
trap 'note "events:"; events >&2; fail "command failed: $BASH_COMMAND"' ERR

case $ROW in
pre_* | after_*) in_precopy ;;
post_reject) HELPERS=h2 && in_postcopy ;; # only a helper tells the target
switch_helper*) HELPERS=h1 && in_switch ;;
post_*) in_postcopy ;;
switch_*) in_switch ;;
disks_*_libvirtd) in_copy ;;
disks_full | disks_small) ;; # they begin so
disks_*) in_disks ;;
esac
began
case $ROW in
pre_link_down) break_host link-down h2 && ends source 60 data 'network-interrupted' ;;
pre_blip) break_host link-down h2 && sleep 2 && heal h2 && ends target 60 ;;
pre_drop)
    break_host drop-port h2
    ends source 60 data 'progress-stall'
    [[ $(job_field "$job" .status.migrationState.failureReason) == 'aborted by ferry: '* ]] || fail 'no reason'
    ;;
pre_reject) break_host refuse-port h2 && ends source 30 data 'network-interrupted' ;;
pre_stream) break_host break-stream h1 && ends source 30 data 'network-interrupted' ;;
pre_libvirt_connection) end_libvirt_connection h1 && ends source 30 control 'control-connection-lost' ;;
pre_kill_target_qemu) break_host kill-qemu h2 g-f && ends source 30 data 'destination-vmm-crashed' ;;
pre_kill_source_qemu) break_host kill-qemu h1 g-f && ends lost 30 data 'source-vmm-crashed' ;;
pre_kill_target_libvirtd) break_host kill-libvirtd h2 && sleep 3 && heal h2 && ends source 60 control 'management-daemon-restart' ;;
pre_kill_source_libvirtd) break_host kill-libvirtd h1 && sleep 3 && heal h1 && ends source 60 control 'management-daemon-restart' ;;
pre_stop_target_qemu)
    break_host stop-qemu h2 g-f
    ends source 100 data 'progress-stall'
    ;;
pre_stop_target_libvirtd) break_host stop-libvirtd h2 && sleep 20 && heal h2 && ends source 90 control 'management-daemon-restart' ;;
pre_stop_source_libvirtd) break_host stop-libvirtd h1 && sleep 12 && heal h1 && ends either 90 control 'management-daemon-restart' ;;
pre_destroy_target) host_virsh h2 destroy g-f && ends source 30 none 'user-cancelled' ;;
pre_destroy_source) host_virsh h1 destroy g-f && ends lost 30 none 'guest-stopped-during-migration' ;;
pre_slow)
    break_host limit h1 256kbit
    ends source 120 data 'progress-stall'
    ;;
switch_drop)
    # The end of the copy is heard by the source. It goes on at once when its write in progress fits into what
    # the socket still takes (about two of three), else it keeps writing: said, and over when the path answers.
    break_host drop-port h2
    wait_until 12 decided stalled-switch-drop-copy || fail "decided: $(events)"
    if freed_within 4; then
        note "g-f runs on h1 again after $(elapsed) s"
    else
        wait_until 8 waits_for 'The copy on the target was destroyed' || fail 'it does not say what it waits for'
        heal h2
        runs_again h1 30
    fi
    ends source 60 data 'progress-stall'
    ;;
switch_stop_target_qemu)
    break_host stop-qemu h2 g-f
    runs_again h1 35 # libvirt itself waits 10 s before it kills
    ends source 60 data 'progress-stall'
    ;;
switch_helper)
    break_host link-down h2
    freed_in_time
    decided stalled-switch-kill-stream || fail "decided: $(events)"
    ends source 60 data 'network-interrupted'
    ;;
switch_helper_drop)
    break_host drop-port h2
    freed_in_time
    ends source 60 data 'progress-stall'
    ;;
switch_helper_stop_qemu)
    break_host stop-qemu h2 g-f
    freed_in_time
    decided stalled-switch-kill-stream || fail "decided: $(events)"
    ends source 60 data 'progress-stall'
    ;;
switch_kill_target_qemu) break_host kill-qemu h2 g-f && runs_again h1 5 && ends source 30 data 'destination-vmm-crashed' ;;
switch_link_down) # nothing agentless frees it while the link is down: it is said, and ends when the link is back
    break_host link-down h2
    sleep 15
    note "pending: $(job_field "$job" .status.ferry.pending.message)"
    heal h2
    runs_again h1 30
    ends source 90 data 'network-interrupted'
    ;;
disks_drop)
    break_host drop-port h2
    sleep 1
    runs_again h1 3
    sleep 8
    runs_again h1 3
    decided stalled-disks-yank || fail "decided: $(events)"
    ends source 60 data 'progress-stall'
    ;;
disks_link_down)
    break_host link-down h2
    sleep 8
    runs_again h1 3
    ends source 60 data 'network-interrupted'
    ;;
disks_abort)
    break_host drop-port h2
    sleep 2.5
    ferry abort "$job" >&2 || true
    sleep 2
    runs_again h1 3
    ends source 60 none 'user-cancelled'
    ;;
disks_stream) break_host break-stream h1 && runs_again h1 3 && ends source 60 data 'network-interrupted' ;;
disks_full) # there is room for half of it
    host_run h2 mkdir -p $IMAGES
    host_run h2 mount -t tmpfs -o size=8m full $IMAGES
    UNDO+=("host_run h2 umount $IMAGES")
    begin_disks
    ends source 60 data 'storage-no-space'
    ;;
disks_small) # big enough when it was looked at, cut short by libvirt's hook on h2 before QEMU opens it
    UNDO+=("remove_hook h2")
    add_hook h2 "[ \"\$1/\$2\" != g-f/prepare ] || truncate -s 4M $IMAGES/f2.img"
    begin_disks
    ends source 60 control 'destination-volume-too-small'
    ;;
disks_kill_target_libvirtd)
    break_host kill-libvirtd h2
    runs_again h1 3
    sleep 3
    heal h2
    runs_again h1 3
    ends source 60 control 'management-daemon-restart'
    ;;
disks_kill_source_libvirtd)
    break_host kill-libvirtd h1
    runs_again h1 3
    sleep 3
    heal h1
    runs_again h1 3
    ends source 60 control 'management-daemon-restart'
    ;;
switch_kill_target_libvirtd)
    break_host kill-libvirtd h2
    freed_in_time
    heal h2
    ends source 60 control 'management-daemon-restart'
    ;;
switch_kill_source_libvirtd) # nobody is there to start it until libvirtd is back
    break_host kill-libvirtd h1
    sleep 2
    heal h1
    began
    freed_in_time
    ends source 60 control 'management-daemon-restart'
    ;;
switch_stop_target_libvirtd)
    # Seen from outside it is a dead link, unless the source was heard once more and had sent all of it.
    break_host stop-libvirtd h2
    freed_in_time
    heal h2
    ends source 60 'control|data' 'management-daemon-restart|network-interrupted'
    ;;
post_blip) break_host link-down h2 && sleep 2 && heal h2 && ends target 90 ;;
post_libvirt_connection) end_libvirt_connection h1 && ends target 90 none 'false-failure-report' ;;
post_kill_source_libvirtd) break_host kill-libvirtd h1 && sleep 2 && heal h1 && ends target 120 none 'false-failure-report' ;;
post_reject) break_host refuse-port h2 && sleep 3 && heal h2 && ends target 200 ;;
post_stop_target_qemu) break_host stop-qemu h2 g-f && sleep 12 && break_host cont-qemu h2 g-f && ends target 120 ;;
after_kill_target_qemu) # it arrived, Ferry said so, and then it is gone: judged again, and somebody is paged
    wait_final "$job" 60
    break_host kill-qemu h2 g-f
    assert_job "$job" .status.phase Succeeded
    fell() { [ "$(job_field "$job" .status.ferry.verdict.cause)" = destination-crash-after-switchover ]; }
    wait_until 5 fell || fail "the verdict is still '$(job_field "$job" .status.ferry.verdict.cause)'"
    assert_verdict "$job" destination-crash-after-switchover data
    metrics | grep 'ferry_incident{.*guest_at="stopped-on-target".*kind="down"' >&2 || fail 'nobody is paged'
    not_here h1 g-f && not_here h2 g-f || fail 'g-f is somewhere'
    ;;
*) fail "no row '$ROW'" ;;
esac
