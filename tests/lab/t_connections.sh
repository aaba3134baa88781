#!/bin/bash
# connections: Ferry's connections to the hosts, and those between the hosts, go through ssh or TLS; a session daemon is refused
# full: ssh tls session
#
# Ferry runs on the hosts' network. A link that is lost ends its connection, which comes back by itself.
. "$(dirname "$0")/testlib.sh"
first_hosts 2
GUEST=g-conn

# connect_by URI_OF PEER_URI_OF: functions that print a host's uri
connect_by() {
    local host
    write_config
    for host in "${LAB_HOSTS[@]}"; do
        sed -i "/^  - name: $host\$/,/^  - name:/{s|^    uri: .*|    uri: \"$("$1" "$host")\"|;s|^    peerUri: .*|    peerUri: \"$("$2" "$host")\"|}" \
            "$TEST_DIR/ferry.yaml"
    done
    grep -i 'uri:' "$TEST_DIR/ferry.yaml" >&2
    INSIDE=(nsenter "--net=/run/netns/$(netns switch)")
}
address() { echo "$LAB_NET.${1#h}"; } # HOST

there_and_back() {
    local job
    boot h1 $GUEST 64 'ws=8 rate=2 fill=48 hb=200'
    "${INSIDE[@]}" "$FERRY" doctor --config "$TEST_DIR/ferry.yaml" >&2 || fail 'doctor is not content'
    start_ferry
    job=$(migrate $GUEST h2 16)
    wait_final "$job"
    assert_job "$job" .status.phase Succeeded
    assert_runs_on h2 $GUEST
    guest_check h2 $GUEST

    break_host link-down h1
    wait_until 30 node_not_ready h1 || fail 'h1 is still ready'
    heal h1
    wait_until 60 node_ready h1 || fail "h1 is not ready again: $(api /api/v1/nodes/h1)"
    job=$(migrate $GUEST h1 16)
    wait_until 20 pass_reached h2 $GUEST 1 || fail "nothing moves: $(job_field "$job" .status)"
    kill9_ferry
    start_ferry
    wait_final "$job"
    assert_job "$job" .status.phase Succeeded
    assert_runs_on h1 $GUEST
    guest_check h1 $GUEST
}

case ${1:-} in
ssh)
    host_run h1 test -x /usr/sbin/sshd || { note 'no sshd on the hosts: run --root debian13' && exit 77; }
    ssh=$TEST_DIR/ssh
    mkdir -p "$ssh"
    for key in host client; do ssh-keygen -q -t ed25519 -N '' -f "$ssh/$key"; done
    # libvirt's client runs this one, Ferry's as well as the hosts'; nothing is left in anybody's home.
    cat >"$ssh/ssh" <<SSH
#!/bin/sh
exec ssh -F /dev/null -i $ssh/client -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR "\$@"
SSH
    chmod +x "$ssh/ssh"
    cat >"$ssh/sshd_config" <<CONF
HostKey $ssh/host
AuthorizedKeysFile $ssh/client.pub
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
PidFile none
MaxStartups 100
CONF
    for host in "${LAB_HOSTS[@]}"; do
        host_run "$host" mkdir -p /run/sshd
        nsenter -t "$(host_pid "$host" holder)" -n -m -u -r -w /usr/sbin/sshd -D -e -f "$ssh/sshd_config" \
            >"$TEST_DIR/sshd-$host.log" 2>&1 </dev/null &
    done
    by_ssh() { echo "qemu+ssh://root@$(address "$1")/system?command=$ssh/ssh"; }
    connect_by by_ssh by_ssh
    there_and_back
    connections=$(pgrep -P "${FERRY_PROCESS%% *}" ssh | wc -l)
    note "Ferry has $connections ssh processes for two hosts"
    [ "$connections" -ge 2 ] || fail 'Ferry does not use ssh'
    ;;
tls)
    mkdir -p "$TEST_DIR/pki"
    cp "$LAB/h3/pki/CA/cacert.pem" "$LAB/h3/pki/libvirt/clientcert.pem" "$LAB/h3/pki/libvirt/private/clientkey.pem" "$TEST_DIR/pki"
    by_tls() { echo "qemu+tls://$(address "$1")/system?pkipath=$TEST_DIR/pki"; }
    peer_by_tls() { echo "qemu+tls://$1/system"; }
    connect_by by_tls peer_by_tls
    there_and_back
    "${INSIDE[@]}" ss -Htn state established '( dport = :16514 )' | grep -q . || fail 'Ferry does not use TLS'
    "${INSIDE[@]}" "$FERRY" doctor --config "$TEST_DIR/ferry.yaml" -o json >"$TEST_DIR/report"
    assert_equal certificates "$(jq -r '.hosts[] | select(.host == "h1" and .check == "certificates") | .detail' "$TEST_DIR/report")" \
        "the daemon's certificate ends in [1-9][0-9]* days"
    ;;
session) # a real one, of a user on h1
    user=libvirt-qemu home=$(mktemp -d) # a short name: QEMU's monitor is a socket below it
    UNDO+=("rm -rf $home")
    mkdir "$home/run" && chmod 777 "$home" "$home/run"
    as_user() { # COMMAND...
        nsenter -t "$(host_pid h1 holder)" -n -m -u -r -w setpriv --reuid="$user" --regid="$user" --clear-groups \
            env -i PATH="$PATH" HOME="$home" XDG_RUNTIME_DIR="$home/run" "$@"
    }
    ! is_modular h1 || { note 'the root has no libvirtd' && exit 77; }
    as_user libvirtd >"$TEST_DIR/session.log" 2>&1 </dev/null &
    wait_until 20 test -S "$home/run/libvirt/libvirt-sock" || fail "no session daemon: $(cat "$TEST_DIR/session.log")"
    uri="qemu:///session?socket=$home/run/libvirt/libvirt-sock"
    wait_until 10 virsh -q -c "$uri" version >&2 || fail 'the session daemon does not answer'
    guest_xml g-session 32 'rate=0 hb=200' | sed "s|/var/log/libvirt|$home|" >"$TEST_DIR/session.xml"
    virsh -q -c "$uri" create "$TEST_DIR/session.xml" >&2
    # Why: libvirt lets its guest go to another user's daemon. No host reaches the session for the way back:
    # by network ".../session" is the system daemon too.
    GUESTS+=(g-session)
    timeout 60 virsh -q -c "$uri" migrate --live --p2p g-session qemu+tcp://h2/system >&2
    timeout 60 virsh -q -c "$(host_uri h2)" migrate --live --p2p g-session qemu+tcp://h1/session >&2
    ! virsh -q -c "$uri" domstate g-session >&2 || fail 'it came back to the session'
    assert_runs_on h1 g-session
    printf '%s\n' 'hosts:' "- {name: h1, uri: '$uri'}" "state: $STATE" >"$TEST_DIR/ferry.yaml"
    for verb in doctor serve; do
        ! timeout 20 "$FERRY" $verb --config "$TEST_DIR/ferry.yaml" 2>"$TEST_DIR/refusal" || fail "$verb accepts a session daemon"
        grep "is a user's session daemon" "$TEST_DIR/refusal" >&2 || fail "$verb: $(cat "$TEST_DIR/refusal")"
    done
    ;;
*) fail "no case '${1:-}'" ;;
esac
