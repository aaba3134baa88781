# lib.sh - words that every lab script uses; source it, then call lab_use NAME.
# shellcheck shell=bash disable=SC2034 # used by those who source it
#
# A lab is N libvirt hosts on this machine: each a network, mount and host name namespace with a
# libvirtd of its own, joined by a bridge in a namespace of its own. Nothing is added to the
# machine's own network, so labs cannot disturb each other or anything else. Everything a lab has
# is found by its name: namespaces ferry-NAME-h1, ferry-NAME-h2, ... and ferry-NAME-switch, state
# in $FERRY_LAB_DIR/NAME. A process belongs to a host if it is in that host's network namespace;
# only such processes are ever signalled, whatever a pid file says.
#
# A host runs this machine's own libvirtd and QEMU, or those of a root: another Debian release in
# a directory (tests/lab/roots), so that a lab can be of a newer release, or of several.

LAB_SCRIPTS=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
LAB_ROOT=${FERRY_LAB_DIR:-/var/tmp/ferry-lab}
LAB_ROOTS=${FERRY_LAB_ROOTS:-/var/tmp/ferry-roots}
LAB_REGISTER=/run/ferry-lab # which directory a lab's name belongs to, and the locks
LAB_NET=10.98.0             # hN is .N, the switch .254; the same in each lab, they never meet
LAB_PORTS=49152-49215       # QEMU's migration ports

say() { printf '%s\n' "$*"; }
die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

need_root() {
    [ "$(id -u)" = 0 ] || die "needs root: the lab makes namespaces and runs libvirtd (try: sudo $0)"
}
need_tools() {
    local tool missing=
    for tool in ip nsenter unshare flock gcc ld libvirtd virsh qemu-system-x86_64; do
        command -v "$tool" >/dev/null || missing+=" $tool"
    done
    [ -z "$missing" ] || die "not installed:$missing (try: make deps)"
}

# lab_use NAME: the lab that every function below works on. Reads how many hosts it has.
lab_use() {
    [[ $1 =~ ^[a-z0-9][a-z0-9-]{0,15}$ ]] || die "lab name '$1': want a-z, 0-9 and '-', at most 16"
    LAB_NAME=$1
    LAB=$LAB_ROOT/$1
    LAB_HOSTS=()
    if [ -f "$LAB/hosts.list" ]; then mapfile -t LAB_HOSTS <"$LAB/hosts.list"; fi
}
need_lab() {
    [ -e "$LAB/up" ] || die "lab '$LAB_NAME' is not up (try: tests/lab/up --name $LAB_NAME)"
}
# One script at a time changes a lab; ends with the script.
lab_lock() {
    mkdir -p "$LAB_REGISTER"
    exec 9>"$LAB_REGISTER/$LAB_NAME.lock"
    flock -w 60 9 || die "lab '$LAB_NAME' is being changed by another process"
}

# wait_until SECONDS COMMAND...: tries it 20 times a second; false when the time is over.
wait_until() {
    local deadline=$((SECONDS + $1 + 1))
    shift
    until "$@"; do
        [ $SECONDS -lt $deadline ] || return 1
        sleep 0.05
    done
}

netns() { echo "ferry-$LAB_NAME-$1"; }
host_uri() { # HOST
    echo "qemu:///system?socket=$LAB/$1/run/libvirt/$(is_modular "$1" && echo virtqemud-sock || echo libvirt-sock)"
}
host_virsh() { # HOST ARGUMENTS...
    local host=$1
    shift
    timeout 30 virsh -q -c "$(host_uri "$host")" "$@"
}
host_run() { # HOST COMMAND...: inside its namespaces and its root, as if logged in there
    local host=$1
    shift
    # shellcheck disable=SC2046 # an option or none
    nsenter -t "$(host_pid "$host" holder)" -n -m -u $(own_pids "$host" && echo -p) -r -w "$@"
}
# host_tool HOST COMMAND...: a program of this machine inside the host. It sees the host's network
# and libvirt's directories, and needs nothing of the host's root: nft, ss, ferry.
host_tool() {
    local host=$1
    shift
    nsenter -t "$(host_pid "$host" holder)" -n -m -u "$@"
}

# The versions that a host runs: "11.3.0".
libvirt_version() { host_virsh "$1" version --daemon | sed -n 's/^Running against daemon: //p'; }
qemu_version() { host_virsh "$1" version | sed -n 's/^Running hypervisor: QEMU //p'; }
version_from() { [ "$(printf '%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]; } # FIRST VERSION: not older than it

# Roots. host_root HOST: the name of its root, empty when it is this machine's own.
host_root() { cat "$LAB/$1/root" 2>/dev/null || true; }
root_dir() { echo "$LAB_ROOTS/$1"; }                       # NAME
root_exists() { [ -x "$(root_dir "$1")/usr/sbin/libvirtd" ] || [ -x "$(root_dir "$1")/usr/sbin/virtqemud" ]; } # NAME
# is_modular HOST: its root has virtqemud and the other daemons of one driver each instead of libvirtd
is_modular() { local root && root=$(host_root "$1") && [ -n "$root" ] && [ ! -e "$(root_dir "$root")/usr/sbin/libvirtd" ]; }
need_lab_root() { # NAME
    [[ $1 =~ ^[a-z0-9][a-z0-9-]*$ ]] || die "root name '$1': want a-z, 0-9 and '-'"
    root_exists "$1" || die "no root '$1' in $LAB_ROOTS (try: make lab-roots ROOT=$1)"
}

# in_host HOST PID: is it one of this host's processes, now?
in_host() {
    local theirs ours
    theirs=$(stat -Lc %d:%i "/proc/$2/ns/net" 2>/dev/null) || return 1
    ours=$(stat -Lc %d:%i "/run/netns/$(netns "$1")" 2>/dev/null) || return 1
    [ "$theirs" = "$ours" ]
}
host_pid() { # HOST holder|libvirtd: prints its pid; false when it is not running
    local pid
    pid=$(cat "$LAB/$1/$2.pid" 2>/dev/null) && [ -n "$pid" ] || return 1
    [ "$2" = holder ] || pid=$(pid_outside "$1" "$pid") || return 1
    in_host "$1" "$pid" && echo "$pid"
}
guest_pid() { # HOST GUEST
    local pid
    pid=$(cat "$LAB/$1/run/libvirt/qemu/$2.pid" 2>/dev/null) && pid=$(pid_outside "$1" "$pid") && in_host "$1" "$pid" && echo "$pid"
}
# own_pids HOST: it has a pid namespace of its own, as a node of a cluster needs (hosts.sh), and what is
# started there writes down pids of that. pid_outside HOST PID: the same process here.
own_pids() { [ -e "$LAB/$1/node" ]; }
pid_outside() {
    own_pids "$1" || { echo "$2" && return; }
    local pid
    for pid in $(ip netns pids "$(netns "$1")"); do
        if awk -v pid="$2" '/^NSpid:/ && NF == 3 && $3 == pid {found = 1} END {exit !found}' "/proc/$pid/status" 2>/dev/null; then
            echo "$pid" && return
        fi
    done
    return 1
}

# daemon_start HOST NAME COMMAND...: NAME.pid is its pid, NAME.out what it prints
daemon_start() {
    local host=$1 name=$2
    rm -f "$LAB/$host/$name.pid"
    # A session of its own: an interrupt typed at a terminal is not for the hosts.
    # shellcheck disable=SC2046 # an option or none
    setsid nsenter -t "$(host_pid "$host" holder)" -n -m -u $(own_pids "$host" && echo -p) -r -w \
        env -i PATH="$PATH" LANG=C HOME=/root \
        "$LAB/bin/reaper" "$LAB/$host/$name.pid" "${@:3}" \
        >>"$LAB/$host/$name.out" 2>&1 </dev/null 9>&- &
    disown
    wait_until 10 test -s "$LAB/$host/$name.pid" || die "$host: $name did not start, see $LAB/$host/$name.out"
}
# libvirtd_start HOST: the daemon that runs the guests, libvirtd or virtqemud. Where that is virtqemud, the
# others are started too, unless they run: other hosts come in through virtproxyd.
libvirtd_start() {
    local daemon
    if ! is_modular "$1"; then
        daemon_start "$1" libvirtd libvirtd --listen
        return
    fi
    for daemon in virtnetworkd virtstoraged virtproxyd; do
        host_pid "$1" $daemon >/dev/null || daemon_start "$1" $daemon $daemon
    done
    daemon_start "$1" libvirtd virtqemud
}
libvirtd_answers() { timeout 5 virsh -q -c "$(host_uri "$1")" version >/dev/null 2>&1; }
libvirtd_wait() { # HOST
    wait_until 60 libvirtd_answers "$1" || die "$1: libvirtd does not answer, see $LAB/$1/libvirtd.out"
}
libvirtd_gone() { ! host_pid "$1" libvirtd >/dev/null; }
libvirtd_stop() { # HOST
    local pid
    pid=$(host_pid "$1" libvirtd) || return 0
    kill -CONT "$pid"
    kill -TERM "$pid"
    wait_until 10 libvirtd_gone "$1" || kill -KILL "$pid"
}

# guest_xml NAME MEMORY_MIB "guest command line": a transient guest under QEMU's own CPU emulation.
#
# Its RAM is 8 KiB more than asked, given past libvirt, which rounds to MiB. QEMU before 9.0
# without KVM loses writes during pre-copy when RAM is a multiple of 256 KiB: the fast path of the
# dirty bitmap's sync does not refresh the translated code's TLB. Such a guest arrives with stale
# memory and no error anywhere, and every check of the guest's memory would be worthless.
#
# In a lab of several roots the machine type is one that each QEMU knows (choose_machine).
guest_xml() {
    local name=$1 mib=$2 line=$3 machine
    machine=$(cat "$LAB/machine" 2>/dev/null || echo pc)
    cat <<XML
<domain type='qemu' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>
  <name>$name</name>
  <memory unit='MiB'>$mib</memory>
  <vcpu>1</vcpu>
  <os>
    <type arch='x86_64' machine='$machine'>hvm</type>
    <kernel>$LAB/guest.elf</kernel>
    <cmdline>$line</cmdline>
  </os>
  <features><acpi/></features>
  <on_crash>destroy</on_crash>
  <devices>
    <controller type='usb' model='none'/>
    <memballoon model='none'/>
    <serial type='file'><source path='/var/log/libvirt/$name.serial' append='on'/></serial>
  </devices>
  <qemu:commandline>
    <qemu:arg value='-object'/>
    <qemu:arg value='memory-backend-ram,id=ferry.ram,size=$((mib * 1048576 + 8192))'/>
    <qemu:arg value='-machine'/><qemu:arg value='memory-backend=ferry.ram'/>
    <qemu:arg value='-m'/><qemu:arg value='$((mib * 1024 + 8))k'/>
  </qemu:commandline>
</domain>
XML
}
guest_log() { echo "$LAB/$1/log/$2.serial"; } # HOST GUEST
guest_ready() { grep -qs '^HB ' "$(guest_log "$1" "$2")"; }
guest_create() { # HOST NAME MEMORY_MIB "guest command line": does not wait for it
    local host text
    for host in "${LAB_HOSTS[@]}"; do rm -f "$(guest_log "$host" "$2")"; done
    guest_xml "$2" "$3" "$4" >"$LAB/$2.xml"
    # On a terminal virsh has words about polkit even when all is well.
    text=$(host_virsh "$1" create "$LAB/$2.xml" 2>&1) || { say "$text" >&2 && return 1; }
}
guest_boot() { # the same, and waits for its first heartbeat
    guest_create "$@" && wait_until 30 guest_ready "$1" "$2"
}
guest_state() { # HOST GUEST: "running (booted)"; "absent" only if the host says so
    local text
    if text=$(LC_ALL=C host_virsh "$1" domstate --reason "$2" 2>&1); then
        head -1 <<<"$text"
    elif [[ $text == *"failed to get domain"* || $text == *"Domain not found"* ]]; then
        echo absent
    else
        echo "unreachable: $(head -1 <<<"$text")"
    fi
}
guest_destroy() { # GUEST: on every host
    local host
    for host in "${LAB_HOSTS[@]}"; do
        host_virsh "$host" destroy "$1" >/dev/null 2>&1
        host_virsh "$host" undefine "$1" >/dev/null 2>&1
    done
    return 0
}

# A TCP port nobody listens on; LAB_SLICE (0 to 9) keeps tests that run at once apart, and a test's list of
# those it was given keeps two of its own programs apart.
free_port() {
    local port first=$((20000 + ${LAB_SLICE:-0} * 1000)) given=${TEST_DIR:+$TEST_DIR/ports}
    for port in $(shuf -i $first-$((first + 999)) -n 50); do
        ! grep -qsx "$port" "${given:-/dev/null}" || continue
        ss -Hltn "sport = :$port" | grep -q . || { echo "$port" | tee -a "${given:-/dev/null}" && return; }
    done
    die "no free port"
}

# A process outside the hosts is known by pid and start time, so that a reused pid is never taken
# for it. process_id PID prints both, process_alive "PID START" checks.
process_id() {
    local stat fields
    stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
    read -ra fields <<<"${stat##*) }" # from the third field on; the second may hold anything
    echo "$1 ${fields[19]}"
}
process_alive() { [ -n "${1:-}" ] && [ "$(process_id "${1%% *}")" = "$1" ]; }

# stop_process FILE: ends the process that FILE names, if it is still that one.
stop_process() {
    local id
    id=$(cat "$1" 2>/dev/null) && process_alive "$id" || return 0
    kill -TERM "${id%% *}"
    wait_until 5 process_over "$id" || kill -KILL "${id%% *}"
    rm -f "$1"
}
process_over() { ! process_alive "$1"; }
# Where a demo without a lab keeps its appliance.
SIMULATED=${TMPDIR:-/var/tmp}/ferry-demo-$(id -u)
