#!/bin/bash
# oneway: packets from the source to the target are lost in pre-copy; the guest runs on, the job ends by itself
# cases: port
# full: parallel all all_parallel stuck
# long: port=35 parallel=35 all=60 all_parallel=60 stuck=60
. "$(dirname "$0")/testlib.sh"
. "$(dirname "$0")/stages.sh"

# lose_all: nothing of the source reaches the target, whatever the port
lose_all() {
    BROKEN+=(h2)
    note 'fault: h2 drops what h1 sends'
    host_tool h2 nft -f - <<NFT
table inet ferry_fault {
    chain input {
        type filter hook input priority 0;
        ip saddr $LAB_NET.1 drop
    }
}
NFT
}
# keepalive COUNT: of both libvirtds, as clients and as servers, at 1 s each; libvirt's default is 5 at 5 s
keepalive() {
    local host
    for host in h1 h2; do
        sed -i "s/^keepalive_count.*/keepalive_count = $1/" "$LAB/$host"/etc/{qemu,libvirtd}.conf
        libvirtd_stop "$host"
        libvirtd_start "$host"
        libvirtd_wait "$host"
    done
}
status_of_stream() { host_virsh h1 qemu-monitor-command g-f '{"execute":"query-migrate"}' 2>/dev/null | jq -r '.return.status // "none"'; }
ended() { is_phase "$job" Failed; }
# ends_within SECONDS: the job ends, the guest never stopped, and nobody dropped the copy too early
ends_within() {
    wait_until "$1" ended || fail "not ended after $1 s: $(status_of_stream), $(job_field "$job" .status.ferry.pending) $(intents)"
    note "ended after $(elapsed) s: $(intents)"
    events >&2
    assert_equal 'remedies that drop a copy' "$(sql "SELECT count(*) FROM intents WHERE action = 'drop-copy'")" 0
    assert_job "$job" .status.ferry.guestAt running-on-source
    runs_here h1 g-f || fail "g-f on h1: $(guest_state h1 g-f)"
    heal h2
    guest_check h1 g-f
    assert_runs_on h1 g-f
}

STALL=20 # the monitor's own abort comes later
parallel=''
case ${1:-} in *parallel) parallel='parallelConnections: 2' ;; esac
case ${1:-} in
port | parallel) # libvirt's own connection works: nothing but Ferry ends it
    in_precopy "$parallel"
    began
    break_host drop-port h2
    wait_until 10 decided stream-quiet || fail 'the stall was not noticed'
    sleep 7
    [[ $(ferry describe migration "$job") =~ No\ data\ transferred\ for\ ([0-9]+) ]] || fail 'it does not say that nothing moves'
    [ "${BASH_REMATCH[1]}" -ge 3 ] || fail "it says ${BASH_REMATCH[1]} s"
    ends_within 20
    if [ "$1" = parallel ]; then decided stalled-disks-yank || fail 'no yank'; else decided stalled-pre-copy-abort || fail 'no abort'; fi
    ;;
all | all_parallel) # Ferry acts before the target's keepalive ends
    keepalive 25
    UNDO+=('keepalive 5')
    in_precopy "$parallel"
    began
    lose_all
    ends_within 50
    ;;
stuck) # the target's keepalive ended first, and its FIN arrived
    HELPERS=h1 in_precopy
    began
    lose_all
    ends_within 45
    ;;
esac
