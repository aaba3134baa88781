# testlib.sh - what the lab tests share. A test is a file t_*.sh that sources this first; run starts
# it with FERRY (the program), LAB_TEST (the lab's name) and TEST_DIR (its own directory) set.
# shellcheck shell=bash
#
# A test fails by fail, by an assert_*, or by any command that fails unexpectedly. Whatever it
# started or broke is undone when it ends: cleanup is here, not in the tests.
set -Eeuo pipefail
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/lib.sh"
need_root
lab_use "${LAB_TEST:?run me through tests/lab/run}"
need_lab

STATE=$TEST_DIR/state
PORT=$(free_port)
SERVER=http://127.0.0.1:$PORT # what Prometheus and browsers use: read-only
SOCKET=$TEST_DIR/ferry.sock    # what changes go through
FERRY_LOG=$TEST_DIR/ferry.log
FERRY_PROCESS='' # "PID START" of the appliance
MIGRATIONS=/apis/kubevirt.io/v1/namespaces/default/virtualmachineinstancemigrations
VMIS=/apis/kubevirt.io/v1/namespaces/default/virtualmachineinstances
GUESTS=()
BROKEN=() # hosts to heal
INSIDE=() # prefix of the appliance and of those who ask it, when it is not on this machine's own network
UNDO=()   # commands that undo what else was changed in the hosts, last first

note() { printf '%s %s\n' "$(date +%T.%3N)" "$*" >&2; }
fail() {
    note "FAIL: $*"
    local frame=0 where
    while where=$(caller $frame); do note "      at $where" && frame=$((frame + 1)); done
    exit 1
}
trap 'fail "command failed: $BASH_COMMAND"' ERR

cleanup() {
    local status=$? host guest
    trap - ERR
    set +e
    [ $status != 0 ] || stop_ferry || status=1
    kill_ferry KILL
    # Every process of the test wrote to this log, those that were killed too.
    if grep -s '"internal_error"' "$FERRY_LOG" >&2; then
        note 'FAIL: internal error in Ferry' && status=1
    fi
    # shellcheck disable=SC2046
    kill $(jobs -p) 2>/dev/null
    for host in "${BROKEN[@]}"; do "$LAB_SCRIPTS/fault" --name "$LAB_NAME" heal "$host"; done
    for guest in "${GUESTS[@]}"; do guest_destroy "$guest"; done
    while [ ${#UNDO[@]} -gt 0 ]; do
        eval "${UNDO[-1]}" || { note "FAIL: not undone: ${UNDO[-1]}" && status=1; }
        unset 'UNDO[-1]'
    done
    exit $status
}
trap cleanup EXIT

# --- hosts and guests ---

boot() { # HOST GUEST MEMORY_MIB "guest command line"
    GUESTS+=("$2")
    guest_boot "$@" || fail "guest $2 did not start on $1"
}
# create_as HOST GUEST MEMORY_MIB "guest command line" SED...: one whose definition was edited
create_as() {
    local host=$1 name=$2 text edits=("${@:5}")
    GUESTS+=("$name")
    for text in "${LAB_HOSTS[@]}"; do rm -f "$(guest_log "$text" "$name")"; done
    guest_xml "$name" "$3" "$4" | sed -e '' "${edits[@]/#/-e}" >"$LAB/$name.xml"
    text=$(host_virsh "$host" create "$LAB/$name.xml" 2>&1) || fail "$name: $text"
}
await_guests() { # HOST GUEST...: until each of them has said something
    local guest
    for guest in "${@:2}"; do wait_until 60 guest_ready "$1" "$guest" || fail "$guest did not start on $1"; done
}
boot_as() { create_as "$@" && await_guests "$1" "$2"; }
# Edits for create_as and boot_as.
with_device() { echo "s|</devices>|$1</devices>|"; }
with_interface() { # NETWORK MAC
    with_device "<interface type='network'><mac address='$2'/><source network='$1'/><model type='virtio'/></interface>"
}
with_metadata() { # ELEMENTS: Ferry's, as a guest's owner writes them
    echo "s|<vcpu>|<metadata><ferry:guest xmlns:ferry='urn:ferry:domain:1'>$1</ferry:guest></metadata><vcpu>|"
}

# first_hosts N: the test's fleet is smaller than the lab.
first_hosts() { LAB_HOSTS=("${LAB_HOSTS[@]:0:$1}"); }
# make_network HOST NAME: a libvirt network of that name over a bridge of its own, joined to nothing.
make_network() {
    printf '%s\n' "<network><name>$2</name><forward mode='bridge'/><bridge name='br-$2'/></network>" >"$LAB/$2.net.xml"
    UNDO+=("remove_network $1 $2")
    host_run "$1" ip link add "br-$2" type bridge
    host_run "$1" ip link set "br-$2" up
    host_virsh "$1" net-define "$LAB/$2.net.xml"
    host_virsh "$1" net-start "$2"
}
remove_network() { # HOST NAME
    host_virsh "$1" net-destroy "$2"
    host_virsh "$1" net-undefine "$2" && host_run "$1" ip link del "br-$2"
}
# stage_capabilities HOST SED: libvirtd there finds what its QEMU can do in its cache, and the cache
# says otherwise; libvirtd answers, compares and refuses by it as if that QEMU were another one.
# Where KVM is visible libvirtd compares the CPUID that it reads at its start with the one in the cache. It has the
# APIC number of the core that it was read on: started on another core it probes QEMU again, so it is tried again.
stage_capabilities() {
    local file tries=0
    file=$(grep -l '<emulator>/usr/bin/qemu-system-x86_64<' "$LAB/$1"/cache/qemu/capabilities/*.xml)
    libvirtd_stop "$1"
    cp -p "$file" "$LAB/$1/capabilities.saved.xml"
    UNDO+=("unstage_capabilities $1 $file")
    while :; do
        sed "$2" "$LAB/$1/capabilities.saved.xml" >"$LAB/$1/capabilities.staged.xml"
        ! cmp -s "$LAB/$1/capabilities.staged.xml" "$LAB/$1/capabilities.saved.xml" || fail "$1: '$2' changed nothing in $file"
        cat "$LAB/$1/capabilities.staged.xml" >"$file"
        libvirtd_start "$1"
        libvirtd_wait "$1"
        host_virsh "$1" capabilities >/dev/null
        ! cmp -s "$LAB/$1/capabilities.staged.xml" "$file" || break
        tries=$((tries + 1))
        [ $tries -lt 20 ] || fail "$1: libvirtd does not take the staged $file"
        libvirtd_stop "$1"
    done
}
unstage_capabilities() { # HOST FILE
    libvirtd_stop "$1"
    mv "$LAB/$1/capabilities.saved.xml" "$2"
    libvirtd_start "$1"
    libvirtd_wait "$1"
}

restart_daemon() { # HOST
    libvirtd_stop "$1"
    libvirtd_start "$1"
    libvirtd_wait "$1"
}
# add_hook HOST SCRIPT: a hook of that host's libvirtd, which reads it when it starts; undone by remove_hook.
add_hook() {
    host_tool "$1" mkdir -p /etc/libvirt/hooks
    printf '#!/bin/sh\n%s\n' "$2" | host_tool "$1" sh -c 'cat >/etc/libvirt/hooks/qemu && chmod 755 /etc/libvirt/hooks/qemu'
    restart_daemon "$1"
}
remove_hook() { # HOST
    host_tool "$1" rm -rf /etc/libvirt/hooks
    restart_daemon "$1"
}

break_host() { # FAULT HOST [ARGUMENT]: the host is healed when the test ends
    [[ $1 == *-qemu ]] || BROKEN+=("$2")
    note "fault: $*"
    "$LAB_SCRIPTS/fault" --name "$LAB_NAME" "$@"
}
heal() { # HOST
    local host still=()
    "$LAB_SCRIPTS/fault" --name "$LAB_NAME" heal "$1"
    for host in "${BROKEN[@]}"; do [ "$host" = "$1" ] || still+=("$host"); done
    BROKEN=("${still[@]}")
}

# lose_finish HOST: what another libvirtd answers to the last call of a migration that leaves HOST is lost; nothing
# else is. Its keepalive passes, so it does not matter when that call comes: losing all answers instead ends the
# connection after KEEPALIVE_INTERVAL * (KEEPALIVE_COUNT + 1) seconds, and TCP sends nothing new long before that.
# Only that answer is so long: it carries statistics. Call it when memory moves, not before.
lose_finish() {
    BROKEN+=("$1")
    host_tool "$1" nft -f - <<'NFT'
table inet ferry_fault {
    counter lost { }
    chain input {
        type filter hook input priority 0;
        tcp sport 16509 meta length > 400 counter name lost drop
    }
}
NFT
}
# The other libvirtd answered: it has started the guest. HOST's keepalive ends the connection in six seconds, then
# it resumes the guest too.
finish_lost() { host_tool "$1" nft list counter inet ferry_fault lost | grep -q 'packets [1-9]'; } # HOST

# start_hostd HOST [ADDRESS]: Ferry's helper there; it ends with the test. Without an address it
# listens on a local socket, which Ferry reaches from outside the host.
HOSTD_SECRET=$TEST_DIR/hostd.secret
hostd_socket() { echo "$LAB/$1/hostd.sock"; } # HOST
start_hostd() {
    local at=${2:-$(hostd_socket "$1")}
    [ -f "$HOSTD_SECRET" ] || (umask 077 && tr -d - </proc/sys/kernel/random/uuid >"$HOSTD_SECRET")
    # Not host_tool: as a function it would leave a shell between, and only that would be ended.
    nsenter -t "$(host_pid "$1" holder)" -n -m -u "$FERRY" hostd --listen "$at" --ports "$LAB_PORTS" \
        --secret-file "$HOSTD_SECRET" >>"$TEST_DIR/hostd-$1.log" 2>&1 </dev/null &
    wait_until 10 grep -qs hostd_listens "$TEST_DIR/hostd-$1.log" ||
        fail "ferry hostd does not start on $1: $(cat "$TEST_DIR/hostd-$1.log")"
}
# configure_hostd HOST...: Ferry knows the helpers of these hosts; after write_config.
configure_hostd() {
    local host
    for host in "$@"; do
        sed -i "s|^  - name: $host\$|&\n    helper: $(hostd_socket "$host")|" "$TEST_DIR/ferry.yaml"
    done
    echo "helperSecretFile: $HOSTD_SECRET" >>"$TEST_DIR/ferry.yaml"
}

heartbeats() { grep -cs '^HB ' "$(guest_log "$1" "$2")" || true; }
more_heartbeats() { [ "$(heartbeats "$1" "$2")" -gt "$3" ]; }
# Emulated CPUs of QEMU 11.1 lose the last writes before a switch to post-copy, without any fault (about
# every second guest): there the memory of a guest that went through post-copy proves nothing.
memory_is_exact() { ! version_from 11.1 "$(qemu_version "$1")"; } # HOST
# guest_check HOST GUEST: it lives there, it is the guest that was booted, its memory is whole. POSTCOPY:
# it may have gone through post-copy.
guest_check() {
    local host before logs=()
    before=$(heartbeats "$1" "$2")
    wait_until 5 more_heartbeats "$1" "$2" $((before + 1)) || fail "$2: no heartbeat on $1"
    for host in "${LAB_HOSTS[@]}"; do
        [ ! -f "$(guest_log "$host" "$2")" ] || logs+=("$(guest_log "$host" "$2")")
    done
    [ "$(cat "${logs[@]}" | grep -c '^BOOT')" = 1 ] || fail "$2 was reset on the way"
    if [ -n "${POSTCOPY:-}" ] && ! memory_is_exact "$1"; then
        note "$2: memory is not checked, QEMU $(qemu_version "$1") emulates post-copy inexactly"
        return
    fi
    ! grep -h CORRUPT "${logs[@]}" || fail "$2: memory lost"
    # The last line may be half written.
    head -n -1 "$(guest_log "$1" "$2")" | grep '^HB ' | tail -n 1 | grep 'bad=0$' >/dev/null ||
        fail "$2: bad pages: $(tail -n 3 "$(guest_log "$1" "$2")")"
}
runs_here() { [[ $(guest_state "$1" "$2") == running* ]]; }
not_here() { [[ $(guest_state "$1" "$2") =~ ^(absent|shut\ off) ]]; }
# assert_runs_on HOST GUEST: there, and on no other host that answers.
assert_runs_on() {
    local host
    runs_here "$1" "$2" || fail "$2 on $1: $(guest_state "$1" "$2"), not running"
    for host in "${LAB_HOSTS[@]}"; do
        [ "$host" = "$1" ] || [[ " ${BROKEN[*]} " == *" $host "* ]] || wait_until 5 not_here "$host" "$2" ||
            fail "$2 is on $host too: $(guest_state "$host" "$2")"
    done
}
# The source's own word on a migration, not Ferry's. host_pass HOST GUEST: number of the pass, 0: none.
host_pass() { host_virsh "$1" domjobinfo "$2" 2>/dev/null | awk '/^Iteration:/ {n = $2} END {print n + 0}'; }
pass_reached() { [ "$(host_pass "$1" "$2")" -ge "$3" ]; }

# --- the appliance ---

# shellcheck disable=SC2120 # arguments are for a few only
write_config() { # [MIGRATIONS_AT_ONCE]
    {
        sed '/^state:/,$d' "$LAB/ferry.yaml" | awk -v hosts=" ${LAB_HOSTS[*]} " \
            '/^  - name:/ {skip = !index(hosts, " " $3 " ")} !skip'
        printf '%s\n' "state: $STATE" "listen: [127.0.0.1:$PORT, \"https://127.0.0.1:0\"]" "socket: $SOCKET" 'log: {level: info, format: json}' \
            'migrations:' '  bandwidthPerMigration: 64Mi' \
            "  parallelMigrationsPerCluster: ${1:-20}" '  parallelOutboundMigrationsPerNode: 20' '  parallelInboundMigrationsPerNode: 20'
    } >"$TEST_DIR/ferry.yaml"
}
# configure_addresses: Ferry names the address for memory, and so may choose the port; after write_config.
configure_addresses() { sed -i "s|^  - name: h\\([0-9]\\)\$|&\n    migrationAddress: $LAB_NET.\\1|" "$TEST_DIR/ferry.yaml"; }
ferry_alive() { process_alive "$FERRY_PROCESS"; }
ferry_dead() { ! ferry_alive; }
ferry_ready() { [ "$("${INSIDE[@]}" curl -so /dev/null -m 2 -w '%{http_code}' "$SERVER/readyz")" = 200 ]; }
ready_or_dead() { ferry_ready || ferry_dead; }
# shellcheck disable=SC2120
launch_ferry() { # [NAME=VALUE]...: environment; does not wait
    [ -f "$TEST_DIR/ferry.yaml" ] || write_config
    note "ferry serve $*"
    "${INSIDE[@]}" env "$@" "$FERRY" serve --config "$TEST_DIR/ferry.yaml" >>"$FERRY_LOG" 2>&1 </dev/null &
    FERRY_PROCESS=$(process_id $!)
    echo "$FERRY_PROCESS" >"$LAB/$(basename "$TEST_DIR").process"
}
# shellcheck disable=SC2120
start_ferry() { # [NAME=VALUE]...: environment
    launch_ferry "$@"
    wait_until 20 ready_or_dead || fail "ferry serve is not ready: $(tail -n 3 "$FERRY_LOG")"
    ferry_alive || fail "ferry serve ended: $(tail -n 3 "$FERRY_LOG")"
    local host
    for host in "${LAB_HOSTS[@]}"; do # ready to serve is not yet connected to all
        [[ " ${BROKEN[*]} " == *" $host "* ]] || wait_until 20 node_ready "$host" ||
            fail "$host is not ready: $(api "/api/v1/nodes/$host")"
    done
}
kill_ferry() { # SIGNAL
    ferry_alive || return 0
    kill -"$1" "${FERRY_PROCESS%% *}"
    wait "${FERRY_PROCESS%% *}" 2>/dev/null || true
    rm -f "$LAB/$(basename "$TEST_DIR").process"
}
# In order: it ends by itself and says that all was well; under a sanitizer also that nothing leaked.
stop_ferry() {
    ferry_alive || return 0
    local pid=${FERRY_PROCESS%% *} status=0
    kill -TERM "$pid"
    wait_until 15 ferry_dead || { note 'FAIL: SIGTERM did not end ferry serve' && return 1; }
    wait "$pid" || status=$?
    [ $status = 0 ] || { note "FAIL: ferry serve ended with status $status" && return 1; }
}
kill9_ferry() { note 'kill -9' && kill_ferry KILL; }
ferry() { FERRY_SERVER=unix:$SOCKET timeout 120 "${INSIDE[@]}" "$FERRY" "$@"; }
api() { "${INSIDE[@]}" curl -sS -m 5 --fail-with-body --unix-socket "$SOCKET" "http://localhost$1" "${@:2}"; } # PATH [curl option]...
metrics() { "${INSIDE[@]}" curl -sS -m 5 --fail "$SERVER/metrics"; }

# --- jobs ---

# newest_job GUEST: name of its newest migration; empty when there is none
newest_job() {
    api "$MIGRATIONS" | jq -r --arg g "$1" \
        '[.items[] | select(.spec.vmiName == $g)] | sort_by(.metadata.creationTimestamp) | last | .metadata.name // empty'
}
job_field() { api "$MIGRATIONS/$1" | jq -r "$2 // empty"; } # NAME FILTER
phase_of() { job_field "$1" .status.phase; }
is_phase() { [[ $(phase_of "$1") =~ ^($2)$ ]]; }
wait_phase() { # NAME PHASE|PHASE SECONDS
    wait_until "$3" is_phase "$1" "$2" || fail "$1 is $(phase_of "$1"), not $2, after $3 s"
}
# migrate GUEST TARGET BANDWIDTH_MIB: asks for it and prints the job's name
migrate() {
    local name
    name=$(ferry migrate "$1" --to "$2" --bandwidth "$3" -o name) || fail "migrate $1 was refused"
    note "$name: $1 to $2 at $3 MiB/s"
    echo "${name#*/}"
}
wait_final() { wait_phase "$1" 'Succeeded|Failed' "${2:-60}"; } # NAME [SECONDS]
assert_equal() { # WHAT HAVE WANT (a pattern)
    [[ $2 =~ ^($3)$ ]] || fail "$1 is '$2', want '$3'"
}
assert_job() { # NAME FILTER WANT
    assert_equal "$1 $2" "$(job_field "$1" "$2")" "$3"
}

# assert_state NAME SOURCE TARGET [MODES [POLICY]]: every field of its migrationState, as served with the
# job and with its guest, which must say the same. What the policy sets is frozen there, and all the
# rest that can be set is said too. STATE_OF_ABORT: how an abort ended, when one was asked for.
address_of() { awk -v host="$1" '/^  - name:/ {at = $3} at == host && /^    migrationAddress:/ {print $2}' "$TEST_DIR/ferry.yaml"; } # HOST
# chooses_port JOB TARGET: "chosen" where Ferry chooses the port: post-copy to an address
chooses_port() {
    [ -z "$(address_of "$2")" ] || ! jq -e '.status.ferry.flags | index("post-copy")' <<<"$1" >/dev/null || echo chosen
}
policy_settings() { # [POLICY]
    [ -n "${1:-}" ] || { echo '{}' && return; }
    ferry get migrationpolicy "$1" -o json | jq '.spec | del(.selectors)'
}
assert_state() {
    local job guest mistakes
    job=$(api "$MIGRATIONS/$1")
    guest=$(api "$VMIS/$(jq -r .spec.vmiName <<<"$job")")
    mistakes=$(jq -nr --argjson job "$job" --argjson vmi "$guest" --arg source "$2" --arg target "$3" \
        --arg modes "${4:-PreCopy}" --arg policy "${5:-}" --argjson set "$(policy_settings "${5:-}")" \
        --arg address "$(address_of "$3")" --arg port "$(chooses_port "$job" "$3")" --arg abort "${STATE_OF_ABORT:-}" -f "$LAB_SCRIPTS/state.jq")
    [ -z "$mistakes" ] || fail "migrationState of $1: $mistakes
$(jq -c .status.migrationState <<<"$job")
$(jq -c .status.migrationState <<<"$guest")"
}

# assert_verdict NAME CAUSE PLANE [IRRECOVERABLE]: what the analyser says of its end, stored within 2 s of it.
has_verdict() { [ -n "$(job_field "$1" .status.ferry.verdict.cause)" ]; }
assert_verdict() {
    local uid late
    wait_until 3 has_verdict "$1" || fail "$1 has no verdict"
    uid=$(uid_of "$1")
    note "verdict: $(sql "SELECT cause, plane, rule, confidence_percent, judged_ms - at_ms FROM verdicts WHERE job_uid = '$uid'")"
    sql "SELECT standing, rule, side, origin, quote FROM verdict_points WHERE job_uid = '$uid' ORDER BY seq" >&2
    sql "SELECT key, side, origin, text FROM evidence WHERE job_uid = '$uid' ORDER BY seq" | cut -c 1-300 >&2
    assert_job "$1" .status.ferry.verdict.cause "$2"
    assert_job "$1" .status.ferry.verdict.plane "$3"
    assert_equal 'irrecoverable' "$(sql "SELECT irrecoverable FROM verdicts WHERE job_uid = '$uid'")" "${4:-0}"
    late=$(sql "SELECT judged_ms - at_ms FROM verdicts WHERE job_uid = '$uid'")
    [ "$late" -lt 2000 ] || fail "the verdict came $late ms after the end"
}

# --- guests, as the API shows them ---

guest_field() { api "$VMIS/$1" | jq -r "$2 // empty"; } # NAME FILTER
guest_node_is() { [ "$(guest_field "$1" .status.nodeName)" = "$2" ]; }
condition() { # GUEST TYPE: "status reason"
    api "$VMIS/$1" | jq -r --arg t "$2" '.status.conditions[] | select(.type == $t) | .status + " " + (.reason // "")'
}
has_condition() { [ "$(condition "$1" "$2")" = "$3" ]; }
wait_condition() { # GUEST TYPE "status reason"; "": it is not there
    wait_until 15 has_condition "$1" "$2" "$3" || fail "$1 $2 is '$(condition "$1" "$2")', want '$3'"
}

# --- the store, read as an operator would ---

# A living store is read in place; a dead one through a copy, so that looking repairs nothing.
query() { # FILE SQL
    local copy
    if ferry_alive; then
        sqlite3 -readonly -cmd '.timeout 2000' "$STATE/$1" "$2"
    else
        copy=$(mktemp -d -p "$TEST_DIR")
        cp "$STATE/$1"* "$copy"
        sqlite3 "$copy/$1" "$2"
    fi
}
sql() { query ferry.db "$1"; }
samples() { query samples.db "$1"; }
uid_of() { job_field "$1" .metadata.uid; }
observation() { # UID ROLE: what the outcome was decided from, "presence state"
    sql "SELECT presence, state FROM observations WHERE job_uid = '$1' AND role = '$2'
         AND moment IN ('outcome', 'after') ORDER BY id DESC LIMIT 1" | tr '|' ' '
}
assert_observation() { # UID ROLE WANT
    assert_equal "stored observation of the $2" "$(observation "$1" "$2")" "$3"
}
# assert_failed NAME SOURCE GUEST: Failed with the guest safe on the source and the error stored.
assert_failed() {
    local uid
    uid=$(uid_of "$1")
    assert_job "$1" .status.phase Failed
    assert_job "$1" .status.ferry.guestAt running-on-source
    assert_equal 'stored error' "$(sql "SELECT error_hv_code > 0 AND error_hv_domain >= 0 AND
        length(error_text) > 0 FROM jobs WHERE uid = '$uid'")" 1
    note "error: $(sql "SELECT error_hv_code, error_hv_domain, error_text FROM jobs WHERE uid = '$uid'")"
    assert_observation "$uid" source 'present running'
    assert_runs_on "$2" "$3"
    guest_check "$2" "$3"
}

# --- nodes ---

node_condition() { api "/api/v1/nodes/$1" | jq -r '.status.conditions[]? | select(.type == "Ready") | .status'; }
node_ready() { [ "$(node_condition "$1")" = True ]; }
node_not_ready() { [ "$(node_condition "$1")" != True ]; }
# nodes_since: since when each is ready; changes when a connection was lost, even if it came back.
nodes_since() {
    api /api/v1/nodes | jq -r '.items[] | .metadata.name + " " +
        (.status.conditions[] | select(.type == "Ready") | .status + " " + .lastTransitionTime)'
}
