#!/bin/bash
# oob: a guest with a second monitor that dials Ferry: a switch-over that stalls is broken through it
# full: switch
#
# Ferry must be where the hosts reach it: the whole test runs on the lab's switch.
. "$(dirname "$0")/testlib.sh"
SWITCH=/run/netns/$(netns switch)
if [ "$(stat -Lc %i /proc/self/ns/net)" != "$(stat -Lc %i "$SWITCH")" ]; then
    exec nsenter --net="$SWITCH" "$0" "$@"
fi
. "$(dirname "$0")/stages.sh"
trap 'note "events:"; events >&2; fail "command failed: $BASH_COMMAND"' ERR

AT=$LAB_NET.254 OOB_PORT=4555
# every guest of this test has one
eval "guest_xml_plain() $(declare -f guest_xml | tail -n +2)"
guest_xml() {
    guest_xml_plain "$@" | sed "s|</qemu:commandline>|<qemu:arg value='-chardev'/><qemu:arg value='socket,id=ferry,host=$AT,port=$OOB_PORT,reconnect=1'/><qemu:arg value='-mon'/><qemu:arg value='chardev=ferry,mode=control'/>&|"
}
ready() { grep -q oob_ready "$FERRY_LOG"; }

case ${1:-} in
switch)
    write_config
    echo "outOfBand: {listen: '$AT:$OOB_PORT', trustNetwork: true}" >>"$TEST_DIR/ferry.yaml"
    in_switch
    wait_until 5 ready || fail 'no monitor came'
    began
    break_host link-down h2
    freed_in_time
    decided stalled-yank-oob || fail "decided: $(events)"
    note "$(intents)"
    wait_final "$job" 60
    heal h2
    heal h1
    assert_job "$job" .status.ferry.guestAt running-on-source
    assert_runs_on h1 g-f
    guest_check h1 g-f
    assert_verdict "$job" network-interrupted data
    note 'and its next migration arrives'
    job=$(migrate g-f h2 64)
    wait_final "$job" 60
    assert_job "$job" .status.phase Succeeded
    guest_check h2 g-f
    ;;
*) fail "no case '${1:-}'" ;;
esac
