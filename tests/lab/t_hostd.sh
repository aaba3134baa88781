#!/bin/bash
# hostd: the helper on a host closes a guest's migration stream and nothing else, also in the switch-over
# cases: switchover
# full: answers precopy postcopy
. "$(dirname "$0")/testlib.sh"
first_hosts 3

uuid_of() { host_virsh "$1" domuuid "$2" | head -n 1; } # HOST GUEST
# ask HOST OPTION...: from h3, over the network, as Ferry would
ask() { host_tool h3 "$FERRY" hostd --at "$LAB_NET.${1#h}:7011" --secret-file "$HOSTD_SECRET" "${@:2}"; }
has_no_job() { [ "$(host_virsh "$1" domjobinfo "$2" | awk '/^Job type:/ {print $3}')" = None ]; }
state_is() { [[ $(guest_state "$1" "$2") =~ ^($3)$ ]]; }
# virsh_migrate GUEST OPTION...: h1 to h2 by libvirt alone, so that nobody else frees the guest
virsh_migrate() {
    virsh -q -c "$(host_uri h1)" migrate --live --p2p "$1" qemu+tcp://h2/system "${@:2}" >"$TEST_DIR/virsh.log" 2>&1 </dev/null &
    VIRSH=$!
    wait_until 20 pass_reached h1 "$1" 1 || fail "no first pass: $(cat "$TEST_DIR/virsh.log")"
}
streams() { host_run "$1" ss -Htn state established "( dport >= :${LAB_PORTS%-*} and dport <= :${LAB_PORTS#*-} )" | wc -l; } # HOST
no_streams() { [ "$(streams "$1")" = 0 ]; }

start_hostd h1 "$LAB_NET.1:7011"
assert_equal ping "$(ask h1 --ping)" 'ferry hostd .*, can close sockets'

case ${1:-} in
precopy)
    boot_as h1 g-hostd 64 'ws=8 rate=1 hb=200' \
        "$(with_device "<graphics type='vnc' port='5907' listen='127.0.0.1'/>")"
    boot h1 g-other 64 'ws=8 rate=1 hb=200'
    uuid=$(uuid_of h1 g-hostd)

    note 'somebody watches its console, and another guest moves as well'
    # shellcheck disable=SC2016 # expanded inside
    host_run h1 bash -ec 'exec 5<>/dev/tcp/127.0.0.1/5907; read -r -t 5 -u 5 hello; echo "$hello"
        until [ -e "$1" ]; do sleep 0.05; done
        printf "RFB 003.008\n" >&5; read -r -t 5 -N 1 -u 5 kinds; echo still here' console "$TEST_DIR/look" >"$TEST_DIR/console" 2>&1 &
    wait_until 10 grep -q RFB "$TEST_DIR/console" || fail "no console: $(cat "$TEST_DIR/console")"

    write_config
    start_hostd h2
    configure_hostd h2
    "$FERRY" doctor --config "$TEST_DIR/ferry.yaml" -o json >"$TEST_DIR/report" || fail 'doctor is not content'
    assert_equal helpers "$(jq -r '[.hosts[] | select(.check == "helper") | .result] | join(" ")' "$TEST_DIR/report")" 'note ok note'
    start_ferry
    job=$(migrate g-hostd h2 2)
    other=$(migrate g-other h2 2)
    for guest in g-hostd g-other; do
        wait_until 20 pass_reached h1 $guest 1 || fail "$guest: no first pass"
    done
    assert_equal 'streams of h1' "$(streams h1)" 2

    note 'neither a wrong secret nor another guest closes anything'
    cp "$HOSTD_SECRET" "$TEST_DIR/wrong" && echo more >>"$TEST_DIR/wrong" && chmod 600 "$TEST_DIR/wrong"
    ! host_tool h3 "$FERRY" hostd --at "$LAB_NET.1:7011" --secret-file "$TEST_DIR/wrong" --kill "$uuid" || fail 'any secret does'
    ! ask h1 --kill 00000000-0000-4000-8000-000000000000 || fail 'a guest that is not there was found'
    assert_equal 'streams of h1' "$(streams h1)" 2

    ask h1 --kill "$uuid" >"$TEST_DIR/killed"
    note "$(tr '\n' ' ' <"$TEST_DIR/killed")"
    assert_equal closed "$(head -n 1 "$TEST_DIR/killed")" 'closed 1'
    grep -qE "^$LAB_NET.1:[0-9]+>$LAB_NET.2:49[0-9]+$" "$TEST_DIR/killed" || fail 'no four-tuple'
    wait_final "$job" 20
    assert_failed "$job" h1 g-hostd
    assert_verdict "$job" network-interrupted data
    assert_equal 'streams of h1' "$(streams h1)" 1
    is_phase "$other" Running || fail "the other guest is disturbed: $(phase_of "$other")"
    touch "$TEST_DIR/look"
    wait_until 10 grep -q 'still here' "$TEST_DIR/console" || fail 'its console was closed too'
    assert_equal 'closed again' "$(ask h1 --kill "$uuid")" 'closed 0'

    ferry abort "$other" --wait || true
    assert_runs_on h1 g-other
    guest_check h1 g-other
    note 'and the guest can still move'
    job=$(migrate g-hostd h2 64)
    wait_final "$job" 40
    assert_job "$job" .status.phase Succeeded
    guest_check h2 g-hostd
    ;;

switchover | answers) # the target hears nothing, or the source does not hear the target
    boot h1 g-hostd 64 'ws=32 rate=40 hb=200'
    uuid=$(uuid_of h1 g-hostd)
    break_host limit h1 20mbit
    virsh_migrate g-hostd
    host_virsh h1 migrate-setmaxdowntime g-hostd 100000
    wait_until 60 state_is h1 g-hostd 'paused \(migrating\)' || fail "no switch-over: $(guest_state h1 g-hostd)"
    if [ "$1" = answers ]; then break_host drop-answers h1; else break_host drop-port h2; fi
    sleep 2
    state_is h1 g-hostd 'paused \(migrating\)' || fail "it did not stall: $(guest_state h1 g-hostd)"
    before=$(heartbeats h1 g-hostd)
    began=$EPOCHREALTIME
    assert_equal closed "$(ask h1 --kill "$uuid" | head -n 1)" 'closed 1'
    wait_until 5 state_is h1 g-hostd 'running .*' || fail "still $(guest_state h1 g-hostd)"
    freed=$EPOCHREALTIME
    wait_until 5 more_heartbeats h1 g-hostd "$before" || fail 'it does not run'
    note "$(awk -v a="$began" -v b="$freed" -v c="$EPOCHREALTIME" 'BEGIN {printf "running after %.2f s, a heartbeat after %.2f s", b - a, c - a}')"
    heal h1
    heal h2
    wait "$VIRSH" || true
    note "virsh: $(tr '\n' ' ' <"$TEST_DIR/virsh.log")"
    wait_until 10 has_no_job h1 g-hostd || fail 'its job has not ended'
    assert_runs_on h1 g-hostd
    guest_check h1 g-hostd
    ;;

postcopy)
    POSTCOPY=1
    note 'on the target, which never learns by itself that its stream is dead'
    start_hostd h2 "$LAB_NET.2:7011"
    boot h1 g-hostd 64 'ws=32 rate=20 hb=200'
    uuid=$(uuid_of h1 g-hostd)
    virsh_migrate g-hostd --postcopy --postcopy-bandwidth 1 --bandwidth 4
    host_virsh h1 migrate-postcopy g-hostd
    wait_until 20 state_is h2 g-hostd 'running \(post-copy\)' || fail "$(guest_state h2 g-hostd)"
    assert_equal path "$(ask h1 --probe "$LAB_NET.2:22")" refused
    break_host link-down h2
    assert_equal path "$(ask h1 --probe "$LAB_NET.2:22")" dead
    assert_equal 'closed on the source' "$(ask h1 --kill "$uuid" | head -n 1)" 'closed [12]' # newer QEMU has a second one for urgent pages
    killed=$(host_tool h2 "$FERRY" hostd --at "$LAB_NET.2:7011" --secret-file "$HOSTD_SECRET" --kill "$uuid")
    assert_equal 'closed on the target' "$(head -n 1 <<<"$killed")" 'closed [12]'
    heal h2
    wait_until 30 state_is h2 g-hostd 'running \(post-copy failed\)|paused \(post-copy failed\)' || fail "$(guest_state h2 g-hostd)"
    wait_until 30 state_is h1 g-hostd 'paused \(post-copy failed\)' || fail "$(guest_state h1 g-hostd)"
    wait "$VIRSH" || true
    resume() { timeout 60 virsh -q -c "$(host_uri h1)" migrate --live --p2p --postcopy --postcopy-resume --postcopy-bandwidth 64 g-hostd qemu+tcp://h2/system; }
    wait_until 30 resume || fail 'not recovered'
    guest_check h2 g-hostd
    ;;
esac
