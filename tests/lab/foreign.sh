# foreign.sh - a guest g-f that virsh migrates from h1 to h2 while Ferry only reads; sourced after testlib.sh and stages.sh.
# shellcheck shell=bash disable=SC2034,SC2154
is_recorded() { job=$(newest_job g-f) && [ -n "$job" ]; }
both_broken() { [ "$(guest_state h1 g-f)" = 'paused (post-copy failed)' ] && [[ $(guest_state h2 g-f) == *post-copy* ]]; }
has_cause() { [ "$(job_field "$job" .status.ferry.verdict.cause)" = "$1" ]; }
# Ferry has the read-only sockets and no other.
observe_config() {
    write_config
    sed -i 's|libvirt-sock|libvirt-sock-ro|' "$TEST_DIR/ferry.yaml"
    grep -q 'libvirt-sock-ro' "$TEST_DIR/ferry.yaml" || fail 'the hosts are not reached through sockets'
    echo 'mode: observe' >>"$TEST_DIR/ferry.yaml"
}
# virsh_migrate GUEST FROM TO [OPTION]...: in the background; virsh_ended waits for it
virsh_migrate() {
    virsh -q -c "$(host_uri "$2")" migrate --live --p2p "${@:4}" "$1" "qemu+tcp://$3/system" >"$TEST_DIR/virsh.log" 2>&1 &
    HAND=$!
    UNDO+=("kill $HAND 2>/dev/null || true")
}
virsh_ended() { wait "$HAND" || true; }
foreign_begin() { # "guest's work" [virsh option]...; EDITS
    observe_config
    boot_as h1 g-f 64 "$1" ${EDITS:+"$EDITS"}
    start_ferry
    wait_until 15 guest_node_is g-f h1 || fail 'g-f is not known'
    virsh_migrate g-f h1 h2 "${@:2}"
}
foreign_precopy() {
    foreign_begin 'ws=8 rate=2 hb=200' --bandwidth 6
    wait_until 30 pass_reached h1 g-f 1 || fail "no pass began: $(cat "$TEST_DIR/virsh.log")"
    sleep 1
}
foreign_switch() {
    break_host limit h1 40mbit # QEMU's own limit does not hold in a switch-over
    foreign_begin 'ws=24 rate=40 hb=200'
    wait_until 30 pass_reached h1 g-f 2 || fail "no pass began: $(cat "$TEST_DIR/virsh.log")"
    host_virsh h1 migrate-setmaxdowntime g-f 30000
    wait_until 30 stands_still || fail 'no switch-over'
}
foreign_postcopy() {
    POSTCOPY=1
    foreign_begin 'ws=32 rate=40 hb=200' --postcopy --bandwidth 12 --postcopy-bandwidth 1
    wait_until 30 pass_reached h1 g-f 2 || fail "no pass began: $(cat "$TEST_DIR/virsh.log")"
    host_virsh h1 migrate-postcopy g-f
    wait_until 10 is_recorded
    wait_until 10 mode_is PostCopy || fail 'no post-copy'
    sleep 0.5
}
foreign_disks() {
    for host in h1 h2; do host_run "$host" mkdir -p $IMAGES; done
    host_run h1 sh -c "head -c 16M /dev/urandom >$IMAGES/f.img"
    host_run h2 truncate -s 16M $IMAGES/f.img
    UNDO=("host_run h1 rm -f $IMAGES/f.img" "host_run h2 rm -f $IMAGES/f.img" "${UNDO[@]}")
    EDITS=$(with_device "<disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='$IMAGES/f.img'/><target dev='vda' bus='virtio'/></disk>")
    foreign_begin 'ws=8 rate=2 hb=200' --bandwidth 6 --copy-storage-all --unsafe
}
in_memory() { wait_until 60 pass_reached h1 g-f 1 && sleep 1; }
ends() { # source|target|lost|irrecoverable|either SECONDS [PLANE CAUSE]
    local fate=$1 orders arrived_as=none
    wait_until 15 is_recorded || fail 'nothing is recorded'
    wait_final "$job" "$2"
    note "$ROW: final after $(elapsed) s: $(job_field "$job" .status.ferry.outcome); virsh said: $(tail -n 1 "$TEST_DIR/virsh.log")"
    note "reason: $(job_field "$job" .status.migrationState.failureReason)"
    for host in "${BROKEN[@]}"; do heal "$host"; done
    assert_job "$job" .status.migrationState.sourceNode h1
    assert_job "$job" .status.migrationState.targetNode h2
    assert_job "$job" .status.ferry.requester unknown
    [ "$fate" != either ] || fate=$([ "$(phase_of "$job")" = Succeeded ] && echo target || echo source)
    case $fate in
    source)
        assert_job "$job" .status.phase Failed
        assert_job "$job" .status.ferry.guestAt running-on-source
        wait_until 15 runs_here h1 g-f
        assert_runs_on h1 g-f
        guest_check h1 g-f
        ;;
    target)
        assert_job "$job" .status.phase Succeeded
        wait_until 15 runs_here h2 g-f
        assert_runs_on h2 g-f
        guest_check h2 g-f
        ;;
    lost)
        assert_job "$job" .status.phase Failed
        assert_job "$job" .status.ferry.guestAt 'lost|stopped-on-source'
        ;;
    irrecoverable) assert_job "$job" .status.ferry.outcome irrecoverable ;;
    esac
    case $fate in
    target) assert_verdict "$job" "$arrived_as" none ;;
    irrecoverable) assert_verdict "$job" "$4" "$3" 1 ;;
    *) assert_verdict "$job" "$4" "$3" ;;
    esac
    orders=$(sql 'SELECT count(*) FROM intents')
    assert_equal orders "$orders" 0
    kill "$HAND" 2>/dev/null || true
}
# advised WHAT SECONDS: Ferry says what it would do; follow_advice: as it says, by the command that it shows
has_advice() { is_recorded && [ "$(job_field "$job" .status.ferry.advice.name)" = "$1" ]; }
advised() {
    wait_until "$2" has_advice "$1" || fail "the advice is '$(job_field "$job" .status.ferry.advice.name)', want $1"
    note "advice after $(elapsed) s: $(api "$MIGRATIONS/$job" | jq -c .status.ferry.advice)"
}
follow_advice() {
    local node command
    node=$(job_field "$job" .status.ferry.advice.node) command=$(job_field "$job" .status.ferry.advice.command)
    [ -n "$command" ] && note "on $node: $command" && host_run "$node" sh -c "$command" >&2
}
