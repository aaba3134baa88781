# stages.sh - a guest g-f in a named stage of a move from h1 to h2, for tests that break something
# there; sourced after testlib.sh. Each in_* sets job to the migration's name.
# shellcheck shell=bash disable=SC2034,SC2154
first_hosts "${STAGE_HOSTS:-2}"
IMAGES=/var/lib/libvirt/images # each host has its own

events() { sql "SELECT reason, message FROM events WHERE uid = '$(uid_of "$job")' ORDER BY at_ms, id"; }
intents() { sql "SELECT group_concat(action || '=' || err, ' ') FROM (SELECT action, err FROM intents WHERE job_uid = '$(uid_of "$job")' ORDER BY epoch, seq)"; }
decided() { [ "$(sql "SELECT count(*) FROM decisions WHERE job_uid = '$(uid_of "$job")' AND decision = '$1'")" -ge 1 ]; }
mode_is() { [ "$(job_field "$job" .status.migrationState.mode)" = "$1" ]; }
stands_still() { [[ $(guest_state h1 g-f) == paused* ]]; }
end_libvirt_connection() { # HOST: between the two libvirtds
    host_tool "$1" ss -K -Htn state established '( dport = :16509 or sport = :16509 )' >/dev/null 2>&1 || true
}

policy() { # MORE FIELDS
    ferry apply -f - <<<"{apiVersion: migrations.kubevirt.io/v1alpha1, kind: MigrationPolicy, metadata: {name: f},
        spec: {selectors: {virtualMachineInstanceSelector: {tier: f}},
               experimental: {stallDetector: {stallProgressTimeout: ${STALL:-5}, switchoverTimeout: 30}}, $1}}"
}
begin() { # "guest's work" "policy" [migrate option]...; FAULT: where Ferry is to die
    local work=$1 rules=$2 edits=("$(with_metadata "<ferry:label key='tier' value='f'/>")")
    if [ -n "${DISKS:-}" ]; then
        for host in h1 h2; do host_run "$host" mkdir -p $IMAGES; done
        host_run h1 sh -c "head -c ${DISK_MIB:-16}M /dev/urandom >$IMAGES/f.img"
        host_run h2 truncate -s ${DISK_MIB:-16}M $IMAGES/f2.img
        UNDO+=("host_run h1 rm -f $IMAGES/f.img" "host_run h2 rm -f $IMAGES/f2.img")
        edits+=("$(with_device "<disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='$IMAGES/f.img'/><target dev='vda' bus='virtio'/></disk>")")
    fi
    [ -z "${HELPERS:-}${ADDRESSES:-}" ] || write_config
    [ -z "${ADDRESSES:-}" ] || configure_addresses
    if [ -n "${HELPERS:-}" ]; then
        for host in $HELPERS; do start_hostd "$host"; done
        # shellcheck disable=SC2086
        configure_hostd $HELPERS
    fi
    boot_as h1 g-f 64 "$work" "${edits[@]}"
    start_ferry ${FAULT:+FERRY_FAULT=$FAULT}
    if [ -n "${DISKS:-}" ]; then wait_condition g-f LiveMigratable 'False DisksNotLiveMigratable'; else wait_condition g-f LiveMigratable 'True '; fi
    policy "$rules"
    job=$(ferry migrate g-f --to h2 -o name "${@:3}") || [ -n "${FAULT:-}" ] || fail 'it was not accepted'
    job=${job#*/}
}
# A move that comes to be in that mode.
begin_postcopy() { POSTCOPY=1 && ADDRESSES=${ADDRESSES-1} STALL=3 begin "${WORK:-ws=32 rate=40 hb=200}" "bandwidthPerMigration: ${SPEED:-12Mi}, bandwidthPostCopy: ${1:-1Mi}, allowPostCopy: true"; }
begin_paused() { STALL=3 begin 'ws=32 rate=40 hb=200' 'bandwidthPerMigration: 8Mi, allowWorkloadDisruption: true, allowPostCopy: false'; }
begin_disks() { DISKS=1 begin 'ws=8 rate=2 hb=200' "bandwidthPerMigration: ${1:-6Mi}" --volume "vda=$IMAGES/f2.img"; } # [BANDWIDTH]
# On a busy machine a test's own steps take seconds, and so a stage must last longer.
is_busy() {
    local began_ms
    began_ms=$(date +%s%3N)
    host_virsh h1 version >/dev/null
    [ $(($(date +%s%3N) - began_ms)) -ge 150 ] # else 30
}
# In the named stage of the move.
in_precopy() { # ten seconds of it, on a busy machine twenty
    if is_busy; then
        begin 'ws=8 rate=1 hb=200' "bandwidthPerMigration: 3Mi${1:+, $1}"
    else
        begin 'ws=8 rate=2 hb=200' "bandwidthPerMigration: 6Mi${1:+, $1}"
    fi
    wait_until 30 pass_reached h1 g-f 1 || fail 'no pass began'
    sleep 1
}
in_switch() { # [MORE FIELDS]: the guest writes faster than its link carries and may be stopped: a switch-over of seconds
    break_host limit h1 40mbit # QEMU's own limit does not hold in a switch-over
    STALL=3 begin 'ws=24 rate=40 hb=200' "allowWorkloadDisruption: true, allowPostCopy: false${1:+, $1}"
    wait_until 60 stands_still || fail 'no switch-over'
    note "switch-over: $(guest_state h1 g-f)"
}
in_postcopy() {
    # Newer QEMU sends the pages that the guest asks for in a stream of their own, without a limit: a guest that
    # writes fast would have all its memory within a second.
    if version_from 10 "$(qemu_version h1)"; then WORK='ws=48 rate=10 hb=200' SPEED=6Mi; fi
    begin_postcopy
    wait_until 60 mode_is PostCopy || fail 'no post-copy'
    sleep 0.5
}
disk_copied() { host_virsh h1 domjobinfo g-f 2>/dev/null | awk '/^File processed:/ {n = $3} END {exit !(n > 0)}'; }
in_copy() { # its disk is being copied, for ten seconds more
    DISK_MIB=32 begin_disks 3Mi
    wait_until 30 disk_copied || fail 'no disk is copied'
    sleep 1
    [ "$(host_pass h1 g-f)" = 0 ] || fail 'the disk is copied already'
}
in_disks() { # disks are alike and memory moves
    begin_disks
    wait_until 60 pass_reached h1 g-f 1 || fail 'the disk was not copied'
    sleep 1
}

began() { BEGAN=$EPOCHREALTIME; }
elapsed() { awk -v a="$BEGAN" -v b="$EPOCHREALTIME" 'BEGIN {printf "%.1f", b - a}'; }
# freed_within SECONDS: the guest on h1 beats again
freed_within() {
    local before
    before=$(heartbeats h1 g-f)
    wait_until "$1" more_heartbeats h1 g-f "$before"
}
# within SECONDS: of began, to the tenth
within() { awk -v had="$(elapsed)" -v most="$1" 'BEGIN {exit !(had <= most)}' || fail "it took $(elapsed) s, at most $1 s are allowed"; }
waits_for() { [[ $(job_field "$job" .status.ferry.pending.message) == *"$1"* ]]; }
# runs_again HOST SECONDS: the guest's own heartbeat says so
runs_again() {
    local before
    before=$(heartbeats "$1" g-f)
    wait_until "$2" more_heartbeats "$1" g-f "$before" || fail "g-f does not run on $1 after $2 s"
    note "g-f runs on $1 again after $(elapsed) s"
}
# freed_in_time: a guest that a stalled switch-over holds runs on h1 again within the 10 s that are promised
freed_in_time() { runs_again h1 10 && within 10; }
