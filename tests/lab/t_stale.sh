#!/bin/bash
# stale: a target's libvirtd keeps an object of the guest that never started: such a node is left out, and its refusal is named
# full: left_out being_started
#
# libvirt reads the object from its own status file at its start: without process and number it is neither active
# nor defined, as after a start that was not cleaned up.
. "$(dirname "$0")/testlib.sh"
first_hosts 3
trap 'sql "SELECT reason, message FROM events ORDER BY at_ms" >&2; fail "command failed: $BASH_COMMAND"' ERR

stage_stale() { # HOST: has a stale object of g-s, which runs on h1
    local file=run/libvirt/qemu/g-s.xml
    libvirtd_stop "$1"
    UNDO+=("unstage_stale $1")
    sed -E "1,/<domain / {s/<domstatus state='[a-z]*' reason='[a-z]*' pid='[0-9]*'/<domstatus state='shutoff' reason='crashed' pid='0'/
        s/(<domain [^>]*) id='[0-9]*'/\1/}" "$LAB/h1/$file" >"$LAB/$1/$file"
    libvirtd_start "$1"
    libvirtd_wait "$1"
    assert_equal "g-s on $1" "$(guest_state "$1" g-s)" 'shut off.*'
    assert_equal 'persistent' "$(host_virsh "$1" dominfo g-s | awk '/^Persistent/ {print $2}')" no
}
unstage_stale() { # HOST
    libvirtd_stop "$1"
    rm -f "$LAB/$1/run/libvirt/qemu/g-s.xml"
    libvirtd_start "$1"
    libvirtd_wait "$1"
}
target_of() { job_field "$1" .status.migrationState.targetNode; }

boot h1 g-s 48 'ws=8 rate=2 fill=16 hb=200'
write_config
case ${1:-} in
left_out) # the node that has it is never chosen, and another one is
    stage_stale h2
    start_ferry
    wait_condition g-s LiveMigratable 'True '
    job=$(ferry migrate g-s -o name) && job=${job#*/}
    wait_final "$job" 60
    assert_job "$job" .status.phase Succeeded
    assert_equal target "$(target_of "$job")" h3
    assert_runs_on h3 g-s
    ferry check g-s --to h2 >"$TEST_DIR/check.txt" 2>&1 || true
    grep -i 'stale-domain\|left there' "$TEST_DIR/check.txt" >&2 || fail "check: $(cat "$TEST_DIR/check.txt")"
    ;;
being_started) # it appears between placement and the call: one refusal, and the next migration goes elsewhere
    start_ferry FERRY_FAULT=after-handoff-commit
    wait_condition g-s LiveMigratable 'True '
    ferry migrate g-s --to h2 || true
    wait_until 20 ferry_dead || fail 'ferry did not reach after-handoff-commit'
    stage_stale h2
    start_ferry
    job=$(newest_job g-s)
    wait_final "$job" 60
    note "error: $(sql "SELECT error_hv_code, error_text FROM jobs")"
    assert_equal error "$(sql "SELECT error_text FROM jobs")" '.*is already being started.*'
    assert_failed "$job" h1 g-s
    assert_verdict "$job" stale-migration-state control
    job=$(ferry migrate g-s -o name) && job=${job#*/}
    wait_final "$job" 60
    assert_job "$job" .status.phase Succeeded
    assert_equal target "$(target_of "$job")" h3
    ;;
esac
guest_check h3 g-s
