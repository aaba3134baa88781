#!/bin/bash
# modes: each way to move a guest is what libvirt and QEMU were really told, and the guest arrives whole
# cases: auto_converge parallel tls mt tunnelled lasting
# full: xbzrle zstd bandwidth paused postcopy_mixed disks
. "$(dirname "$0")/testlib.sh"
first_hosts 3
GUEST=g-mode
FROM=h1 POLICY='' # where the guest is, and the policy it has

policy() { # FIELDS
    POLICY=way
    ferry apply -f - <<<"{apiVersion: migrations.kubevirt.io/v1alpha1, kind: MigrationPolicy, metadata: {name: way},
        spec: {selectors: {virtualMachineInstanceSelector: {tier: way}}, $1}}"
}
mode_guest() { # MEMORY_MIB "guest command line"
    boot_as h1 $GUEST "$1" "$2" "$(with_metadata "<ferry:label key='tier' value='way'/>")"
}
with_addresses() { # memory goes where the configuration says
    [ -f "$TEST_DIR/ferry.yaml" ] || write_config
    sed -i "s|^  - name: h\\([0-9]\\)\$|&\n    migrationAddress: $LAB_NET.\\1|" "$TEST_DIR/ferry.yaml"
}
appliance() {
    with_addresses
    start_ferry
    wait_condition $GUEST LiveMigratable 'True '
}
# The hosts of the fleet whose QEMU has certificates, as the configuration says it.
with_tls() { # HOST...
    write_config
    local host
    for host in "$@"; do sed -i "/^  - name: $host\$/a\\    tls: true" "$TEST_DIR/ferry.yaml"; done
}
go() { # TARGET: prints the job's name
    local job
    job=$(ferry migrate $GUEST --to "$1" -o name) || fail 'migrate was refused'
    echo "${job#*/}"
}
# What QEMU itself says while memory moves.
qmp() { host_virsh h1 qemu-monitor-command $GUEST "{\"execute\":\"$1\"}" | jq -c .return; }
capabilities() { qmp query-migrate-capabilities | jq -r '[.[] | select(.state) | .capability] | join(" ")'; }
assert_capability() { # NAME...
    local on name
    on=$(capabilities)
    note "QEMU's capabilities: $on"
    for name in "$@"; do [[ " $on " == *" $name "* ]] || fail "QEMU has no $name: $on"; done
}
assert_no_capability() { [[ " $(capabilities) " != *" $1 "* ]] || fail "QEMU has $1: $(capabilities)"; } # NAME
parameter() { qmp query-migrate-parameters | jq -r ".\"$1\" // empty"; }                                  # NAME
streams() { host_run h1 ss -Htn state established dst "$LAB_NET.2" | awk -v low="${LAB_PORTS%-*}" '{sub(/.*:/, "", $4)} $4 >= low' | wc -l; }
moves() { wait_until 20 pass_reached h1 $GUEST 1 || fail "nothing moves: $(job_field "$1" .status)"; } # JOB
flags() { job_field "$1" '.status.ferry.flags | join(" ")'; }
left_out() { job_field "$1" '.status.ferry.flagsLeftOut // [] | join("; ")'; }
modes() { sql "SELECT group_concat(mode, ' ') FROM (SELECT mode FROM modes WHERE job_uid = '$(uid_of "$1")' ORDER BY at_ms, id)"; }
IN_THE_CLEAR='memory is sent unencrypted: not both hosts have tls in the configuration'
# arrived JOB HOST FLAGS LEFT_OUT [MODES]: it ended well, as it was told to; all of this is kept.
arrived() {
    wait_final "$1" 90
    assert_job "$1" .status.phase Succeeded
    assert_equal 'flags' "$(flags "$1")" "live peer-to-peer${3:+ $3}"
    assert_equal 'left out' "$(left_out "$1")" "$4"
    assert_equal 'modes' "$(modes "$1")" "${5:-PreCopy}"
    assert_state "$1" "$FROM" "$2" "${5:-PreCopy}" "$POLICY"
    FROM=$2
    local name
    for name in $3; do
        ferry describe migration "$1" | grep -q "^  $name  *[A-Za-z]" || fail "describe does not explain $name: $(ferry describe migration "$1")"
    done
    assert_runs_on "$2" $GUEST
    guest_check "$2" $GUEST
}

case ${1:-} in
auto_converge)
    mode_guest 64 'ws=48 rate=-1 cost=8000 hb=200'
    appliance
    policy 'bandwidthPerMigration: 48Mi, allowAutoConverge: true, autoConvergeInitial: 50, autoConvergeIncrement: 20'
    job=$(go h2)
    moves "$job"
    assert_capability auto-converge
    assert_equal 'first throttle' "$(parameter cpu-throttle-initial)" 50
    assert_equal 'next throttles' "$(parameter cpu-throttle-increment)" 20
    arrived "$job" h2 auto-converge "$IN_THE_CLEAR"
    throttle=$(samples "SELECT max(throttle_percent) FROM samples WHERE job_uid = '$(uid_of "$job")'")
    note "slowed by up to $throttle %"
    [ "$throttle" -ge 50 ] || fail "it was slowed by $throttle %"
    ;;
parallel)
    mode_guest 96 'ws=8 rate=2 fill=80 hb=200'
    appliance
    policy 'bandwidthPerMigration: 24Mi, parallelConnections: 4'
    break_host limit h1 20mbit # else it may be over before QEMU is asked
    job=$(go h2)
    moves "$job"
    assert_capability multifd
    assert_equal 'channels' "$(parameter multifd-channels)" 4
    assert_equal 'connections' "$(streams)" 5 # and the main one
    heal h1
    arrived "$job" h2 parallel "$IN_THE_CLEAR"
    ;;
tls)
    mode_guest 64 'ws=8 rate=2 fill=48 hb=200'
    with_tls h1 h2
    appliance
    policy 'bandwidthPerMigration: 12Mi, requireTLS: true'
    job=$(go h3)
    wait_final "$job" 10
    assert_job "$job" .status.phase Failed
    assert_verdict "$job" tls-certificate control
    assert_job "$job" '.status.ferry.rejections[] | select(.node == "h3") | .reason' tls-missing
    assert_job "$job" '.status.ferry.rejections[] | select(.node == "h3") | .detail' 'h3 has no `tls: true` in the configuration'
    job=$(go h2)
    moves "$job"
    [ -n "$(parameter tls-creds)" ] || fail "QEMU has no certificates in use: $(qmp query-migrate-parameters)"
    arrived "$job" h2 tls ''
    policy 'bandwidthPerMigration: 64Mi'
    job=$(go h3)
    arrived "$job" h3 '' "$IN_THE_CLEAR"
    ;;
xbzrle | mt)
    mode_guest 64 'ws=16 rate=4 fill=48 hb=200'
    appliance
    policy "bandwidthPerMigration: 12Mi, experimental: {compression: $1}"
    qemu=$(qemu_version h1)
    break_host limit h1 1mbit # compressed it would be over before QEMU is asked
    job=$(go h2)
    moves "$job"
    if [ "$1" = mt ] && version_from 9.1 "$qemu"; then
        assert_no_capability compress
        heal h1
        arrived "$job" h2 '' "$IN_THE_CLEAR; mt left out: QEMU has it up to 9.0 only"
    else
        assert_capability "$([ "$1" = mt ] && echo compress || echo xbzrle)"
        heal h1
        arrived "$job" h2 "$1" "$IN_THE_CLEAR"
    fi
    ;;
zstd)
    mode_guest 64 'ws=16 rate=4 fill=48 hb=200'
    appliance
    # What is sent is so little that QEMU's limit does not count.
    if version_from 9.4 "$(libvirt_version h1)"; then break_host limit h1 1mbit; fi
    policy "bandwidthPerMigration: 12Mi, parallelConnections: 2, experimental: {compression: zstd}"
    job=$(go h2)
    moves "$job"
    assert_capability multifd
    if version_from 9.4 "$(libvirt_version h1)"; then
        assert_equal 'compression' "$(parameter multifd-compression)" zstd
        heal h1
        arrived "$job" h2 'parallel zstd' "$IN_THE_CLEAR"
    else
        arrived "$job" h2 'parallel' "$IN_THE_CLEAR; zstd left out: both hosts need libvirt 9.4"
    fi
    ;;
bandwidth)
    mode_guest 64 'ws=8 rate=1 fill=48 hb=200'
    appliance
    policy 'bandwidthPerMigration: 6Mi, bandwidthPostCopy: 9Mi, allowPostCopy: true'
    job=$(go h2)
    moves "$job"
    assert_capability postcopy-ram
    assert_equal 'limit' "$(parameter max-bandwidth)" $((6 << 20))
    assert_equal 'limit of post-copy' "$(parameter max-postcopy-bandwidth)" $((9 << 20))
    arrived "$job" h2 post-copy "$IN_THE_CLEAR"
    bytes=$(samples "SELECT max(data_processed) * 1000 / max(time_elapsed_ms) FROM samples WHERE job_uid = '$(uid_of "$job")' AND time_elapsed_ms > 0")
    note "$((bytes >> 10)) KiB/s on average"
    [ "$bytes" -le $((7 << 20)) ] || fail "$bytes bytes per second under a limit of 6 MiB/s"
    ;;
tunnelled)
    mode_guest 64 'ws=8 rate=2 fill=48 hb=200'
    with_tls h1 h2
    appliance
    policy 'bandwidthPerMigration: 12Mi, tunnelled: true, allowPostCopy: true, parallelConnections: 2'
    job=$(go h2)
    moves "$job"
    assert_equal 'connections of its own' "$(streams)" 0
    assert_no_capability multifd
    assert_no_capability postcopy-ram
    arrived "$job" h2 tunnelled "post-copy left out: the stream is tunnelled; QEMU's encryption left out: .*; parallel streams left out: the stream is tunnelled"
    ;;
paused)
    mode_guest 64 'ws=8 rate=2 fill=48 hb=200'
    appliance
    policy 'bandwidthPerMigration: 24Mi, allowPostCopy: true'
    host_virsh h1 suspend $GUEST
    job=$(go h2)
    wait_final "$job" 60
    assert_job "$job" .status.phase Succeeded
    assert_equal 'flags' "$(flags "$job")" 'live peer-to-peer paused'
    assert_equal 'left out' "$(left_out "$job")" "post-copy left out: the guest is paused; $IN_THE_CLEAR"
    assert_equal 'modes' "$(modes "$job")" PreCopy
    assert_state "$job" h1 h2 PreCopy way
    assert_equal 'state on h2' "$(host_virsh h2 domstate --reason $GUEST)" 'paused \(user\)'
    before=$(heartbeats h2 $GUEST)
    sleep 1
    assert_equal 'heartbeats of a paused guest' "$(heartbeats h2 $GUEST)" "$before"
    host_virsh h2 resume $GUEST
    assert_runs_on h2 $GUEST
    guest_check h2 $GUEST
    ;;
lasting) # what is only running stays so; what is defined is defined where it runs, and only there
    mode_guest 48 'ws=8 rate=2 hb=200'
    start_ferry # and where memory goes is left to libvirt
    wait_condition $GUEST LiveMigratable 'True '
    job=$(go h2)
    arrived "$job" h2 '' "$IN_THE_CLEAR"
    assert_equal 'lasting on h2' "$(host_virsh h2 dominfo $GUEST | awk '/^Persistent:/ {print $2}')" no
    host_virsh h2 dumpxml $GUEST --migratable >"$LAB/$GUEST.stored.xml"
    host_virsh h2 define "$LAB/$GUEST.stored.xml"
    job=$(go h1)
    arrived "$job" h1 persist "$IN_THE_CLEAR"
    assert_equal 'lasting on h1' "$(host_virsh h1 dominfo $GUEST | awk '/^Persistent:/ {print $2}')" yes
    assert_equal 'on h2' "$(guest_state h2 $GUEST)" absent
    host_virsh h1 undefine $GUEST
    ;;
postcopy_mixed) # what post-copy goes with; more is written than xbzrle's cache holds, or it would not be needed
    POSTCOPY=1
    mode_guest 128 'ws=100 rate=200 hb=200'
    with_tls h1 h2
    appliance
    policy 'bandwidthPerMigration: 24Mi, allowPostCopy: true, allowAutoConverge: true, parallelConnections: 4,
        experimental: {compression: xbzrle, stallDetector: {stallProgressTimeout: 4, switchoverTimeout: 30}}'
    job=$(go h2)
    moves "$job"
    assert_capability postcopy-ram xbzrle auto-converge
    assert_no_capability multifd
    arrived "$job" h2 'auto-converge post-copy tls xbzrle' 'parallel streams left out: post-copy is allowed' 'PreCopy PostCopy'
    ;;
disks) # encrypted as well; with parallel streams libvirt 9.0 would refuse its own certificate
    image=/var/lib/libvirt/images/$GUEST.img
    host_run h1 sh -c "head -c 32M /dev/urandom >$image"
    host_run h2 truncate -s 32M "$image"
    UNDO+=("host_run h1 rm -f $image" "host_run h2 rm -f $image")
    boot_as h1 $GUEST 48 'ws=8 rate=2 hb=200' "$(with_metadata "<ferry:label key='tier' value='way'/>")" \
        "$(with_device "<disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='$image'/><target dev='vda' bus='virtio'/></disk>")"
    with_tls h1 h2
    with_addresses
    start_ferry
    wait_condition $GUEST LiveMigratable 'False DisksNotLiveMigratable'
    policy 'bandwidthPerMigration: 24Mi, parallelConnections: 2, tunnelled: true'
    job=$(ferry migrate $GUEST --to h2 --volume vda="$image" -o name)
    job=${job#*/}
    arrived "$job" h2 'disks tls' 'tunnel left out: migrated disks cannot go through it; parallel streams left out: disks are migrated with TLS'
    assert_equal 'data on h2' "$(host_run h2 sha256sum "$image")" "$(host_run h1 sha256sum "$image")"
    ;;
*) fail "no case '${1:-}'" ;;
esac
