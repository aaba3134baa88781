#!/bin/bash
# relay: memory that passes through Ferry: a switch-over that stalls ends in seconds, and what is relayed ends with Ferry
# cases: switch
# full: switch_parallel arrives killed
# long: 25
#
# Ferry must be where the hosts reach it: the whole test runs on the lab's switch.
. "$(dirname "$0")/testlib.sh"
SWITCH=/run/netns/$(netns switch)
if [ "$(stat -Lc %i /proc/self/ns/net)" != "$(stat -Lc %i "$SWITCH")" ]; then
    exec nsenter --net="$SWITCH" "$0" "$@"
fi
. "$(dirname "$0")/stages.sh"
trap 'note "events:"; events >&2; fail "command failed: $BASH_COMMAND"' ERR

relay_to() { # HOST: after write_config
    sed -i "/^  - name: $1\$/a\\    relay: $LAB_NET.254\n    migrationAddress: $LAB_NET.${1#h}" "$TEST_DIR/ferry.yaml"
}
# relayed CONNECTIONS: so many of h1 go to Ferry, and none to h2
relayed() {
    local range="dport >= :${LAB_PORTS%-*} and dport <= :${LAB_PORTS#*-}"
    assert_equal 'to Ferry' "$(host_run h1 ss -Htn state established "( dst $LAB_NET.254 and $range )" | wc -l)" "$1"
    assert_equal 'to h2' "$(host_run h1 ss -Htn state established "( dst $LAB_NET.2 and $range )" | wc -l)" 0
    [[ $(ferry describe vmim "$job") == *'memory passes through Ferry'* ]] || fail 'describe does not say so'
}
at_home() { # SECONDS CAUSE PLANE
    wait_final "$job" "$1"
    note "final after $(elapsed) s: $(intents); $(job_field "$job" .status.migrationState.failureReason)"
    for host in "${BROKEN[@]}"; do heal "$host"; done
    assert_job "$job" .status.phase Failed
    assert_job "$job" .status.ferry.guestAt running-on-source
    assert_runs_on h1 g-f
    guest_check h1 g-f
    assert_verdict "$job" "$2" "$3"
}

write_config
relay_to h2
case ${1:-} in
switch | switch_parallel)
    streams=1 more=
    [ "$1" = switch ] || { streams=3 more=', parallelConnections: 2'; }
    in_switch "relayed: true$more"
    relayed $streams
    began
    break_host link-down h2
    freed_in_time
    decided stalled-switch-reset-relay || fail "decided: $(events)"
    at_home 90 network-interrupted data
    ;;
arrives)
    sed -i "/^  - name: h[12]\$/a\\    tls: true" "$TEST_DIR/ferry.yaml"
    in_precopy 'relayed: true, requireTLS: true, parallelConnections: 2'
    relayed 3
    began
    wait_final "$job" 60
    assert_job "$job" .status.phase Succeeded
    assert_runs_on h2 g-f
    guest_check h2 g-f
    note "arrived after $(elapsed) s"
    ;;
killed)
    in_precopy 'relayed: true'
    relayed 1
    began
    kill_ferry KILL
    start_ferry
    at_home 60 management-daemon-restart control
    [[ $(job_field "$job" .status.migrationState.failureReason) == *'passed through Ferry'* ]] || fail 'no reason'
    ;;
*) fail "no case '${1:-}'" ;;
esac
