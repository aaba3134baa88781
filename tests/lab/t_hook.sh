#!/bin/bash
# hook: the optional libvirt hook refuses a migration of another appliance or of an earlier epoch, and no start
# full: refuses
# long: 50
. "$(dirname "$0")/testlib.sh"
. "$(dirname "$0")/stages.sh"

SEEN=$TEST_DIR/seen # what the hook remembers
HOOK=/etc/libvirt/hooks/qemu.d/ferry
doctor_says() { # PATTERN: on h2 itself
    local text
    printf '%s\n' 'hosts:' '  - name: h2' '    uri: qemu:///system' >"$TEST_DIR/h2.yaml"
    text=$(host_tool h2 "$FERRY" doctor --config "$TEST_DIR/h2.yaml" -o json 2>&1 || true)
    grep -q "$1" <<<"$text" || fail "doctor does not say '$1': $text"
}
[ ! -e "$LAB/h2/etc/hooks" ] || fail 'h2 has hooks already'
boot_as h1 g-f 64 'ws=8 rate=2 hb=200' "$(with_metadata "<ferry:label key='tier' value='f'/>")"
doctor_says 'no hook'
UNDO+=('remove_hook h2')
host_tool h2 mkdir -p /etc/libvirt/hooks/qemu.d
sed "s|/var/lib/ferry-hook|$SEEN|; s|/etc/ferry/hook.conf|$SEEN/hook.conf|" "$LAB_SCRIPTS/../../packaging/hooks/ferry" |
    host_tool h2 sh -c "cat >$HOOK && chmod 755 $HOOK"
host_tool h2 mkdir -p "$SEEN"
sleep 1
doctor_says 'not loaded'
restart_daemon h2
doctor_says '"loaded"'
start_ferry
wait_condition g-f LiveMigratable 'True '
job=$(migrate g-f h2 64)
wait_final "$job" 60
assert_job "$job" .status.phase Succeeded
id=$(sql 'SELECT id FROM appliance')
assert_equal 'epoch seen by the hook' "$(host_tool h2 cat "$SEEN/appliance-$id")" 1
job=$(migrate g-f h1 64)
wait_final "$job" 60
assert_job "$job" .status.phase Succeeded

note 'the store was restored elsewhere, and that appliance has migrated to h2'
host_tool h2 sh -c "echo 9 >$SEEN/appliance-$id"
job=$(migrate g-f h2 64)
wait_final "$job" 60
assert_job "$job" .status.phase Failed
note "$(job_field "$job" .status.migrationState.failureReason)"
assert_runs_on h1 g-f
guest_check h1 g-f

note 'another appliance'
host_tool h2 sh -c "rm $SEEN/appliance-*; echo appliance=somebody-else >$SEEN/hook.conf"
job=$(migrate g-f h2 64)
wait_final "$job" 60
assert_job "$job" .status.phase Failed
assert_runs_on h1 g-f
boot h2 g-start 64 'ws=8 rate=2 hb=200' # a start is not the hook's business
host_tool h2 rm "$SEEN/hook.conf"
job=$(migrate g-f h2 64)
wait_final "$job" 60
assert_job "$job" .status.phase Succeeded
