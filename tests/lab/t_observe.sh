#!/bin/bash
# observe: virsh migrates guests: Ferry records each migration, also through read-only sockets alone, and gives no order
# cases: read_only managed guide
# long: read_only=90 managed=30
. "$(dirname "$0")/testlib.sh"
first_hosts 2

recorded() { [ "$(sql "SELECT count(*) FROM jobs WHERE triggered_by = 'observed'")" = "$1" ]; }
newest() { sql "SELECT name FROM jobs WHERE triggered_by = 'observed' ORDER BY created_ms DESC, rowid DESC LIMIT 1"; }
mode_is() { [ "$(job_field "$(newest)" .status.migrationState.mode)" = "$1" ]; }
# virsh_migrate GUEST FROM TO [OPTION]...: in the background
virsh_migrate() {
    host_virsh "$2" migrate --live --p2p "${@:4}" "$1" "qemu+tcp://$3/system" >"$TEST_DIR/virsh.log" 2>&1 &
    HAND=$!
    UNDO+=("kill $HAND 2>/dev/null || true")
}
virsh_ended() { wait "$HAND" || true; }
# expect COUNT SOURCE TARGET OUTCOME GUEST_AT MODES: what became of the newest record
expect() {
    wait_until 15 recorded "$1" || fail "records: $(sql "SELECT name, source_node, target_node, outcome FROM jobs"), want $1"
    job=$(newest)
    wait_final "$job" 30
    assert_job "$job" .status.migrationState.sourceNode "$2"
    assert_job "$job" .status.migrationState.targetNode "$3"
    assert_job "$job" .status.ferry.outcome "$4"
    assert_job "$job" .status.ferry.guestAt "$5"
    assert_job "$job" .status.ferry.requester unknown
    assert_equal "modes of $job" "$(sql "SELECT group_concat(mode, ' ') FROM (SELECT mode FROM modes WHERE job_uid = '$(uid_of "$job")' ORDER BY at_ms)")" "$6"
    wait_until 5 has_verdict "$job" || fail "$job has no verdict"
    note "$job: $4, $(job_field "$job" .status.ferry.verdict.cause), $(samples "SELECT count(*) FROM samples WHERE job_uid = '$(uid_of "$job")'") samples, $(job_field "$job" .status.migrationState.failureReason)"
}
has_verdict() { [ -n "$(job_field "$1" .status.ferry.verdict.cause)" ]; }
# same_downtime TARGET: as the target's libvirt keeps it, to 20 ms
same_downtime() {
    local theirs ours
    theirs=$(host_virsh "$1" domjobinfo --completed g-o | awk '/^Total downtime:/ {print $3}')
    wait_until 5 final_known || fail "$job has no final statistics"
    ours=$(sql "SELECT final_downtime_ms FROM jobs WHERE name = '$job'")
    note "downtime: libvirt $theirs ms, Ferry $ours ms"
    [ $((theirs > ours ? theirs - ours : ours - theirs)) -le 20 ] || fail "downtime $ours ms, libvirt says $theirs ms"
}
final_known() { [ "$(sql "SELECT final_from FROM jobs WHERE name = '$job'")" != '' ]; }
no_orders() { assert_equal orders "$(sql 'SELECT count(*) FROM intents')" 0; }
refused() { # TEXT COMMAND...
    local answer
    ! answer=$("${@:2}" 2>&1) || fail "'${*:2}' was accepted: $answer"
    [[ $answer == *"$1"* ]] || fail "'${*:2}': $answer"
    note "refused: $answer"
}

case ${1:-} in
guide) # docs/observe.md, word for word, but for the way to the hosts
    guide=$LAB_SCRIPTS/../../docs/observe.md
    block() { awk -v kind="$1" '/^## /{on = /^## Five minutes/} on && $0 ~ "^ *```" {inside = !inside && $0 ~ kind; next} on && inside {sub(/^   /, ""); print}' "$guide"; }
    write_config
    block yaml >"$TEST_DIR/guide.yaml"
    for host in h1 h2; do
        uri=$(host_uri $host)
        grep -q "qemu+ssh://ferry@$host/system?socket=/run/libvirt/libvirt-sock-ro" "$TEST_DIR/guide.yaml" || fail "the guide does not name $host"
        sed -i "s|qemu+ssh://ferry@$host/.*|${uri/%-sock/-sock-ro}|" "$TEST_DIR/guide.yaml"
    done
    sed -n "/^state:/,/^log:/p" "$TEST_DIR/ferry.yaml" >>"$TEST_DIR/guide.yaml" # where this test's appliance lives
    mv "$TEST_DIR/guide.yaml" "$TEST_DIR/ferry.yaml"
    boot h1 g-g 32 'ws=2 rate=1 hb=500'
    "$FERRY" doctor --config "$TEST_DIR/ferry.yaml" >&2 || fail 'ferry doctor is not content'
    start_ferry
    wait_until 15 guest_node_is g-g h1 || fail 'g-g is not known'
    virsh_migrate g-g h1 h2
    virsh_ended
    expect 1 h1 h2 succeeded running-on-target PreCopy
    [ "$(block sh | wc -l)" -ge 4 ] || fail 'the guide has no commands'
    while read -r _ words; do
        # shellcheck disable=SC2086
        ferry $words >"$TEST_DIR/answer" 2>&1 </dev/null || fail "ferry $words: $(cat "$TEST_DIR/answer")"
        note "ferry $words: $(tail -n 1 "$TEST_DIR/answer")"
        [[ $words != 'get migrations'* ]] || grep -q "$job" "$TEST_DIR/answer" || fail "ferry $words does not show $job"
    done < <(block sh)
    ferry describe migration "$job" >&2
    ferry postmortem "$job" >/dev/null
    no_orders
    ;;
read_only)
    write_config
    sed -i 's|libvirt-sock|libvirt-sock-ro|' "$TEST_DIR/ferry.yaml"
    grep -q 'libvirt-sock-ro' "$TEST_DIR/ferry.yaml" || fail 'the hosts are not reached through sockets'
    echo 'mode: observe' >>"$TEST_DIR/ferry.yaml"
    boot h1 g-o 64 'ws=8 rate=2 hb=200'
    start_ferry
    wait_until 15 guest_node_is g-o h1 || fail 'g-o is not known'

    virsh_migrate g-o h1 h2 --bandwidth 12
    virsh_ended
    expect 1 h1 h2 succeeded running-on-target PreCopy
    same_downtime h2

    boot h1 g-q 32 'ws=1 rate=1 hb=500' # it has next to nothing to copy
    wait_until 15 guest_node_is g-q h1 || fail 'g-q is not known'
    virsh_migrate g-q h1 h2
    virsh_ended
    expect 2 h1 h2 succeeded running-on-target PreCopy
    note "short: libvirt took $(sql "SELECT final_total_ms FROM jobs WHERE name = '$job'") ms"

    virsh_migrate g-o h2 h1 # as fast as it can
    virsh_ended
    expect 3 h2 h1 succeeded running-on-target PreCopy
    same_downtime h1

    virsh_migrate g-o h1 h2 --postcopy --bandwidth 12 --postcopy-bandwidth 4
    wait_until 20 pass_reached h1 g-o 1 || fail "no migration: $(cat "$TEST_DIR/virsh.log")"
    host_virsh h1 migrate-postcopy g-o
    wait_until 10 mode_is PostCopy || fail 'no post-copy was seen'
    virsh_ended
    expect 4 h1 h2 succeeded running-on-target 'PreCopy PostCopy'

    virsh_migrate g-o h2 h1 --bandwidth 6
    wait_until 20 pass_reached h2 g-o 1 || fail "no migration: $(cat "$TEST_DIR/virsh.log")"
    sleep 1
    host_virsh h2 domjobabort g-o
    virsh_ended
    expect 5 h2 h1 'failed|aborted' running-on-source PreCopy

    virsh_migrate g-o h2 h1 --bandwidth 6
    wait_until 20 pass_reached h2 g-o 1 || fail "no migration: $(cat "$TEST_DIR/virsh.log")"
    sleep 1
    break_host kill-qemu h1 g-o
    virsh_ended
    expect 6 h2 h1 failed running-on-source PreCopy

    assert_runs_on h2 g-o
    POSTCOPY=1 guest_check h2 g-o
    refused 'observe mode' ferry migrate g-o --to h1
    refused 'observe mode' ferry drain h2
    no_orders
    ;;
managed)
    create_as h1 g-n 64 'ws=8 rate=2 hb=200' \
        "s|<vcpu>|<metadata><nova:instance xmlns:nova='http://openstack.org/xmlns/libvirt/nova/1.1'/></metadata><vcpu>|"
    await_guests h1 g-n
    start_ferry
    wait_condition g-n LiveMigratable 'False ManagedElsewhere'
    refused 'managed by OpenStack Nova' ferry migrate g-n --to h2
    virsh_migrate g-n h1 h2 --bandwidth 12
    virsh_ended
    expect 1 h1 h2 succeeded running-on-target PreCopy
    assert_job "$job" .status.ferry.managedBy nova
    no_orders
    ;;
esac
