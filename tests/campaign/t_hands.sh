#!/bin/bash
# hands: people act on the guest or its hosts beside Ferry
# cases: pre_domjobabort pre_domjobabort_twice post_domjobabort pre_suspend_resume pre_suspend_abort pre_suspend_stream pre_suspend_killed_abort pre_destroy_target pre_destroy_target_killed pre_slower_by_hand pre_faster_by_hand pre_downtime_by_hand pre_virsh_migrate switch_virsh_abort waiting_destroyed waiting_recreated waiting_moved third_while_away foreign_while_away foreign_then_migrate arrived_destroyed cordon_target drain_source drain_target abort_at_switch abort_twice abort_in_post delete_running migrate_twice and_back suspended_before restart_both_daemons
# A row: the stage, what is done, how it must end (oracle.sh). by_hand: virsh as an operator at the host uses it.
. "$(dirname "$0")/../lab/testlib.sh"
STAGE_HOSTS=3 . "$LAB_SCRIPTS/stages.sh"
. "$(dirname "$0")/oracle.sh"
ROW=${1:-}
by_hand() { note "by hand: $*" && host_virsh "$@" >&2; } # HOST VIRSH...
move_by_hand() { # FROM TO [OPTION]...: as an operator moves it, past Ferry
    note "by hand: virsh migrate g-f $1 to $2"
    timeout 100 virsh -q -c "$(host_uri "$1")" migrate --live --p2p "${@:3}" g-f "qemu+tcp://$2/system" >&2
}
# waits: a guest, and a job for it that cannot begin: its target is cordoned.
waits() {
    boot_as h1 g-f 64 'ws=8 rate=2 hb=200' "$(with_metadata "<ferry:label key='tier' value='f'/>")"
    start_ferry
    wait_condition g-f LiveMigratable 'True '
    policy 'bandwidthPerMigration: 6Mi'
    ferry cordon h2 >&2
    job=$(ferry migrate g-f --to h2 -o name)
    job=${job#*/}
    sleep 2
    is_phase "$job" 'Pending|Scheduling' || fail "it does not wait: $(phase_of "$job")"
}
job_is_final() { is_phase "$job" 'Succeeded|Failed'; }

case $ROW in
drain_*) evicts && in_precopy ;;
pre_* | migrate_twice | cordon_target | delete_running | abort_twice | restart_both_daemons | *_while_away | arrived_*) in_precopy ;;
post_* | abort_in_post) in_postcopy ;;
switch_* | abort_at_switch) in_switch ;;
waiting_*) waits ;;
esac
began
case $ROW in
pre_domjobabort) by_hand h1 domjobabort g-f && settles source 60 '!network-interrupted' ;;
pre_domjobabort_twice) by_hand h1 domjobabort g-f && { by_hand h1 domjobabort g-f || true; } && settles source 60 '!network-interrupted' ;;
post_domjobabort) { by_hand h1 domjobabort g-f || true; } && settles target 120 ;;
pre_suspend_resume) by_hand h1 suspend g-f && sleep 2 && by_hand h1 resume g-f && settles target 90 none ;;
pre_suspend_abort) by_hand h1 suspend g-f && sleep 1 && ferry abort "$job" >&2 && settles paused-source 60 user-cancelled ;;
pre_suspend_stream) by_hand h1 suspend g-f && sleep 1 && break_host break-stream h1 && settles paused-source 60 network-interrupted ;;
pre_suspend_killed_abort)
    by_hand h1 suspend g-f
    sleep 1
    gone_for 1
    back
    ferry abort "$job" >&2
    settles paused-source 60 user-cancelled
    ;;
pre_destroy_target) by_hand h2 destroy g-f && settles source 60 '!destination-vmm-crashed' ;;
pre_destroy_target_killed) gone_for 0.2 && by_hand h2 destroy g-f && back && settles source 60 ;;
pre_slower_by_hand) by_hand h1 migrate-setspeed g-f 1 && settles either 180 ;;
pre_faster_by_hand) by_hand h1 migrate-setspeed g-f 100 && settles target 60 none ;;
pre_downtime_by_hand) by_hand h1 migrate-setmaxdowntime g-f 5000 && settles target 60 none ;;
pre_virsh_migrate) { move_by_hand h1 h3 || true; } && settles either 90 ;;
switch_virsh_abort) { by_hand h1 domjobabort g-f || true; } && settles either 90 ;;
waiting_destroyed)
    by_hand h1 destroy g-f
    wait_until 60 job_is_final || note "still $(phase_of "$job")"
    ferry abort "$job" >&2 || true
    settles nowhere 60
    not_paged 'lost|split|irrecoverable|down'
    ;;
waiting_recreated) # the same name, another UUID
    by_hand h1 destroy g-f
    host_virsh h1 create "$LAB/g-f.xml" >&2
    await_guests h1 g-f
    wait_until 60 job_is_final || fail "the old guest's job waits: $(job_field "$job" .status.ferry.pending.message)"
    ferry uncordon h2 >&2
    rm -f "$(guest_log h1 g-f)"
    by_hand h1 destroy g-f
    host_virsh h1 create "$LAB/g-f.xml" >&2
    await_guests h1 g-f
    wait_condition g-f LiveMigratable 'True '
    job=$(migrate g-f h2 32)
    settles target 60 none
    ;;
waiting_moved)
    move_by_hand h1 h3
    ferry uncordon h2 >&2
    wait_until 60 job_is_final || fail "it waits: $(job_field "$job" .status.ferry.pending.message)"
    at=$(place)
    says_the_truth "$at"
    [[ $at == h2 || $at == h3 ]] || fail "the guest runs on $at"
    guest_check "$at" g-f
    not_paged 'lost|split|irrecoverable'
    no_two_copies
    ;;
third_while_away) # aborted and moved to a third host by hand, while Ferry is gone
    gone_for 0.2
    by_hand h1 domjobabort g-f
    sleep 1
    move_by_hand h1 h3
    back
    wait_final "$job" 60
    says_the_truth "$(place)"
    assert_runs_on h3 g-f
    guest_check h3 g-f
    wait_until 10 api_says h3 || fail "the API says $(guest_field g-f .status.nodeName)"
    not_paged 'lost|split|irrecoverable'
    no_two_copies
    ;;
foreign_while_away) # the same guest is being moved elsewhere by hand when Ferry comes back
    gone_for 0.2
    by_hand h1 domjobabort g-f
    sleep 1
    host_virsh h1 migrate-setspeed g-f 4
    move_by_hand h1 h3 --bandwidth 4 &
    foreign=$!
    wait_until 20 pass_reached h1 g-f 1 || fail 'the move by hand does not begin'
    back
    wait $foreign || fail 'the move by hand was disturbed'
    wait_final "$job" 60
    # The job was over while the other migration ran: it said where the guest was then.
    [[ $(job_field "$job" .status.migrationState.failureReason) == *'somebody else migrates'* ]] || fail 'another reason'
    assert_runs_on h3 g-f
    guest_check h3 g-f
    assert_equal 'orders to abort' "$(sql "SELECT count(*) FROM intents WHERE action = 'abort'")" 0
    not_paged 'lost|split|irrecoverable'
    no_two_copies
    ;;
foreign_then_migrate) # asked to move a guest that somebody else is moving
    boot_as h1 g-f 64 'ws=8 rate=2 hb=200' "$(with_metadata "<ferry:label key='tier' value='f'/>")"
    start_ferry
    wait_condition g-f LiveMigratable 'True '
    move_by_hand h1 h3 --bandwidth 4 &
    foreign=$!
    wait_until 20 pass_reached h1 g-f 1 || fail 'the move by hand does not begin'
    began
    job=$(ferry migrate g-f --to h2 -o name) || note 'refused'
    job=${job#*/}
    wait $foreign || fail 'the move by hand was disturbed'
    if [ -n "$job" ]; then
        wait_final "$job" 90
        note "job: $(phase_of "$job"): $(job_field "$job" .status.migrationState.failureReason)"
    fi
    at=$(place)
    [[ $at == h2 || $at == h3 ]] || fail "the guest runs on $at"
    guest_check "$at" g-f
    not_paged 'lost|split|irrecoverable'
    no_two_copies
    ;;
arrived_destroyed)
    wait_final "$job" 60
    assert_job "$job" .status.phase Succeeded
    by_hand h2 destroy g-f
    sleep 3
    not_paged 'lost|split|irrecoverable'
    no_two_copies
    ;;
cordon_target) ferry cordon h2 >&2 && settles target 60 none ;;
drain_source) ferry drain h1 >&2 && settles target 60 none ;;
drain_target)
    ferry drain h2 >&2
    wait_final "$job" 90
    left_h2() { [ "$(place)" = h1 ] || [ "$(place)" = h3 ]; }
    wait_until 90 left_h2 || fail "after the drain of h2 it runs on $(place)"
    guest_check "$(place)" g-f
    not_paged 'lost|split|irrecoverable'
    no_two_copies
    ;;
abort_at_switch) { ferry abort "$job" >&2 || true; } && settles either 90 ;;
abort_twice) { ferry abort "$job" >&2 && ferry abort "$job" >&2 || true; } && settles source 60 user-cancelled ;;
abort_in_post) { ferry abort "$job" >&2 || true; } && settles target 120 ;;
delete_running) ferry delete migration "$job" >&2 || true ;;
migrate_twice)
    ! ferry migrate g-f --to h3 >&2 || fail 'a second one was accepted'
    settles target 60 none
    ;;
and_back)
    begin 'ws=8 rate=2 hb=200' 'bandwidthPerMigration: 32Mi'
    settles target 60 none
    job=$(migrate g-f h1 32)
    FROM=h2 TO=h1 settles target 60 none
    ;;
suspended_before)
    boot_as h1 g-f 64 'ws=8 rate=2 hb=200' "$(with_metadata "<ferry:label key='tier' value='f'/>")"
    start_ferry
    wait_condition g-f LiveMigratable 'True '
    by_hand h1 suspend g-f
    sleep 1
    job=$(migrate g-f h2 32)
    wait_final "$job" 60
    assert_job "$job" .status.phase Succeeded
    assert_equal 'copies' "$(copies)" 'h2=paused \(user\)'
    resumed h2
    guest_check h2 g-f
    no_two_copies
    ;;
restart_both_daemons) break_host restart-libvirtd h1 && break_host restart-libvirtd h2 && settles either 90 ;; # in order: it may arrive in between
*) fail "no row '$ROW'" ;;
esac
if [ "$ROW" = delete_running ]; then # its object is gone or Failed; the guest is where it was
    runs_alone() { [ "$(place)" = h1 ] && not_here h2 g-f; }
    wait_until 40 runs_alone || fail "the guest is on $(copies)"
    guest_check h1 g-f
    no_two_copies
fi
