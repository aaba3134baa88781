# machines.sh - machines of a clean Debian, each with systemd as pid 1 in namespaces of its own. Root.
# Sourced by run and deploy.
#
# A root is made once by mmdebstrap in $FERRY_LAB_ROOTS and used through an overlay, so that every run begins with
# a clean one. A machine has an interface for each bridge of the switch, a network namespace without a way out.
# shellcheck shell=bash
tree=$(dirname "$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")")
roots=${FERRY_LAB_ROOTS:-/var/tmp/ferry-roots}
[ "$(id -u)" = 0 ] || { echo 'root is needed' >&2 && exit 2; }

note() { printf '%s %s\n' "$(date +%T)" "$*" >&2; }
fail() { note "FAIL: $*" && exit 1; }
suite_of() { case $1 in debian12) echo bookworm ;; debian13) echo trixie ;; esac; }
# What the packages depend on is installed once, in the root; with another list it is made again.
packages_of() { # RELEASE
    local new=''
    [ "$1" = debian12 ] || new=t64
    echo "systemd,systemd-sysv,dbus,polkitd,curl,procps,libvirt-clients,libvirt0,libmicrohttpd12$new,libyaml-0-2,libhyperscan5" \
        "libcurl3$new-gnutls,libjson-c5,libpq5,libsqlite3-0,libxml2" | tr ' ' ,
}
make_root() { # RELEASE
    local dir=$roots/package-$1
    [ ! -d "$dir" ] || [ "$(cat "$dir.packages" 2>/dev/null)" != "$(packages_of "$1")" ] || return 0
    note "making $dir"
    mkdir -p "$roots"
    rm -rf --one-file-system "$dir"
    rm -rf --one-file-system "$dir.parts"
    mmdebstrap --mode=root --variant=apt --aptopt='APT::Install-Recommends "false"' \
        --include="$(packages_of "$1")" \
        "$(suite_of "$1")" "$dir.parts" >"$dir.log" 2>&1 || fail "mmdebstrap: $(tail -n 3 "$dir.log")"
    packages_of "$1" >"$dir.packages"
    mv -T "$dir.parts" "$dir"
}

declare -A holders=() # machine: the process that its namespaces live with
work='' switch=''
machines_begin() {
    work=$(mktemp -d "$roots/.machines.XXXXXX")
    switch=${work##*.}
    : >"$work/bridges"
    ip netns add "$switch"
}
# The bridges: NET is the first three numbers of the addresses.
machines_network() { # BRIDGE NET
    ip -n "$switch" link add "$1" type bridge
    ip -n "$switch" link set "$1" up
    echo "$1 $2" >>"$work/bridges"
}
machines_end() {
    local status=$? machine
    trap - ERR
    for machine in "${!holders[@]}"; do machine_stop "$machine"; done
    for machine in "${work:-/nowhere}"/*/root; do umount -R "$machine" 2>/dev/null || true; done
    [ -z "$switch" ] || ip netns del "$switch" 2>/dev/null || true
    [ -z "$work" ] || rm -rf --one-file-system "$work"
    find /sys/fs/cgroup -maxdepth 1 -name "ferry-machine-$$-*" -exec rm -f {}/cgroup.procs \; -exec find {} -depth -type d -exec rmdir {} \; \; 2>/dev/null || true
    exit $status
}
trap machines_end EXIT
trap 'fail "command failed: $BASH_COMMAND"' ERR

machine_stop() { # MACHINE
    [ -z "${holders[$1]-}" ] || kill -KILL "${holders[$1]}" 2>/dev/null || true
    [ -z "${holders[$1]-}" ] || wait "${holders[$1]}" 2>/dev/null || true
    unset "holders[$1]"
    umount -R "$work/$1/root" 2>/dev/null || true
    rm -rf --one-file-system "${work:?}/$1"
}
# machine_make MACHINE ROOT: its files, not started.
machine_make() {
    local dir=$work/$1
    mkdir -p "$dir"/{upper,work,root}
    mount -t overlay overlay -o "lowerdir=$roots/$2,upperdir=$dir/upper,workdir=$dir/work" "$dir/root"
    echo "$1" >"$dir/root/etc/hostname"
    echo force-unsafe-io >"$dir/root/etc/dpkg/dpkg.cfg.d/unsafe-io" # nothing here has to survive a power cut
    tr -d - </proc/sys/kernel/random/uuid >"$dir/root/etc/machine-id"
    local unit # the terminals are this machine's own; a user's systemd delays every ssh
    for unit in systemd-udevd.service getty@.service serial-getty@.service console-getty.service user@.service; do
        ln -sf /dev/null "$dir/root/etc/systemd/system/$unit"
    done
}
# machine_boot MACHINE [NUMBER]: its addresses end in NUMBER.
machine_boot() {
    local dir=$work/$1 group=/sys/fs/cgroup/ferry-machine-$$-$1 bridge net i
    cat >"$dir/start" <<START
set -e
mount -t proc proc $dir/root/proc
# Devices of its own: with this machine's /dev/kvm, which its udev does not open to QEMU, libvirt examines QEMU at every question.
mount -t tmpfs -o mode=755 tmpfs $dir/root/dev
cd $dir/root/dev
mkdir pts shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620,gid=5 devpts pts
mount -t tmpfs -o mode=1777 tmpfs shm
for device in null:3 zero:5 full:7 random:8 urandom:9; do mknod -m 666 \${device%:*} c 1 \${device#*:}; done
mknod -m 666 tty c 5 0
ln -s pts/ptmx ptmx
ln -s /proc/self/fd fd
ln -s /proc/self/fd/0 stdin
ln -s /proc/self/fd/1 stdout
ln -s /proc/self/fd/2 stderr
mount -t sysfs -o ro sysfs $dir/root/sys
mount -t cgroup2 cgroup2 $dir/root/sys/fs/cgroup
mount -t tmpfs tmpfs $dir/root/run
mount -t tmpfs tmpfs $dir/root/tmp
hostname $1
ip link set lo up
until [ -e $dir/wired ]; do sleep 0.1; done
cd $dir/root
pivot_root . .   # not chroot: who enters the mount namespace, as libvirt does, finds the machine's root
umount -l .
cd /
exec env -i container=lab PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --log-target=console --show-status=no
START
    mkdir -p "$group" 2>/dev/null || true
    sh -c "echo \$\$ >$group/cgroup.procs 2>/dev/null; exec unshare --pid --mount --cgroup --uts --ipc --net --fork --kill-child sh $dir/start" \
        >"$dir/console" 2>&1 </dev/null &
    holders[$1]=$!
    for i in $(seq 50); do
        [ -z "$(leader "$1")" ] || break
        sleep 0.1
    done
    i=0
    while read -r bridge net; do
        ip -n "$switch" link add "$1-$i" type veth peer name "eth$i" netns "$(leader "$1")"
        ip -n "$switch" link set "$1-$i" master "$bridge" up
        nsenter -t "$(leader "$1")" -n ip addr add "$net.$2/24" dev "eth$i"
        nsenter -t "$(leader "$1")" -n ip link set "eth$i" up
        i=$((i + 1))
    done <"$work/bridges"
    touch "$dir/wired"
    for i in $(seq 60); do
        sleep 1
        case $(on "$1" systemctl is-system-running 2>/dev/null || true) in running | degraded) return 0 ;; esac
    done
    tail -n 20 "$dir/console" >&2
    on "$1" systemctl is-system-running >&2 || true
    on "$1" systemctl list-jobs --no-pager >&2 || true
    on "$1" systemctl --failed --no-pager >&2 || true
    fail "systemd does not run on $1"
}
leader() { pgrep -P "${holders[$1]}" -f . | head -n 1; } # MACHINE: its pid 1
on() { # MACHINE COMMAND...
    nsenter -t "$(leader "$1")" -m -p -u -i -n -C -r -w env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 "${@:2}"
}
wait_for() { # SECONDS COMMAND...
    local until=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $until ] || return 1
        sleep 0.5
    done
}
