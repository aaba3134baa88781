# hosts.sh - how a host is made; used by up.
# shellcheck shell=bash

# make_system_parts ROOT: what the package libvirt-daemon-system would bring, and libvirtd cannot
# do without. ROOT is a directory, / for this machine.
make_system_parts() {
    local root=${1%/}
    mkdir -p "$LAB_REGISTER"
    (
        flock 6 # labs that start at the same time would both add the user
        mkdir -p "$root"/{etc/pki,etc/libvirt,var/lib/libvirt,var/log/libvirt,var/cache/libvirt}
        touch "$root/etc/hosts"
        chroot "$root/" getent group libvirt-qemu >/dev/null || chroot "$root/" groupadd -r libvirt-qemu
        chroot "$root/" getent group kvm >/dev/null || chroot "$root/" groupadd -r kvm
        chroot "$root/" getent passwd libvirt-qemu >/dev/null || {
            say "adding the system user libvirt-qemu${root:+ to $root}, without which libvirtd does not start"
            chroot "$root/" useradd -r -g libvirt-qemu -M -d /var/lib/libvirt -s /usr/sbin/nologin libvirt-qemu
        }
    ) 6>"$LAB_REGISTER/system-parts.lock"
}

make_network() {
    local switch host i=0
    switch=$(netns switch)
    ip netns add "$switch"
    ip -n "$switch" link set lo up
    ip -n "$switch" link add br0 type bridge
    ip -n "$switch" addr add "$LAB_NET.254/24" dev br0
    ip -n "$switch" link set br0 up
    echo '127.0.0.1 localhost' >"$LAB/hosts"
    for host in "${LAB_HOSTS[@]}"; do
        i=$((i + 1))
        ip netns add "$(netns "$host")"
        ip -n "$(netns "$host")" link set lo up
        ip link add eth0 netns "$(netns "$host")" type veth peer name "$host" netns "$switch"
        ip -n "$switch" link set "$host" master br0 up
        ip -n "$(netns "$host")" addr add "$LAB_NET.$i/24" dev eth0
        ip -n "$(netns "$host")" link set eth0 up
        echo "$LAB_NET.$i $host" >>"$LAB/hosts"
    done
}

configure_host() { # HOST KEEPALIVE_INTERVAL KEEPALIVE_COUNT
    local dir=$LAB/$1 tls=0 daemon
    if command -v certtool >/dev/null; then tls=1; fi
    mkdir -p "$dir"/{run/libvirt,run/lock,etc/qemu,varlib/images,cache,log,pki}
    # libvirt takes two hosts for one when UUID or host name are the same.
    cat >"$dir/etc/libvirtd.conf" <<CONF
host_uuid = "$(cat /proc/sys/kernel/random/uuid)"
listen_tcp = 1
listen_tls = $tls
listen_addr = "0.0.0.0"
auth_tcp = "none"
auth_tls = "none"
auth_unix_ro = "none"
auth_unix_rw = "none"
unix_sock_rw_perms = "0700"
keepalive_interval = $2
keepalive_count = $3
log_outputs = "3:file:/var/log/libvirt/libvirtd.log"
CONF
    for daemon in virtqemud virtproxyd virtnetworkd virtstoraged; do
        sed "s|libvirtd.log|$daemon.log|" "$dir/etc/libvirtd.conf" >"$dir/etc/$daemon.conf"
    done
    cat >"$dir/etc/qemu.conf" <<CONF
user = "root"
group = "root"
dynamic_ownership = 0
remember_owner = 0
security_driver = "none"
stdio_handler = "file"
namespaces = [ ]
cgroup_controllers = [ ]
keepalive_interval = $2
keepalive_count = $3
migration_host = "$1"
migration_port_min = ${LAB_PORTS%-*}
migration_port_max = ${LAB_PORTS#*-}
default_tls_x509_cert_dir = "/etc/pki/qemu"
migrate_tls_x509_verify = 1
CONF
}

# The namespaces live as long as one process in them, the holder; so a libvirtd can be killed and
# started again in the same host. Each host has directories of its own where libvirt keeps things;
# all else of the file system is common. Without cgroups: two hosts would put guests of one name
# in the same cgroup, and stopping one guest would stop the other.
#
# With a root the holder lives in it, and with it whoever enters the holder's root. The root is
# read-only to the hosts, which share it. Of this machine a host of a root sees devices, processes,
# the temporary directories and those of the labs. Its own directories are mounted twice, in the
# root and where a host without one has them: there this machine's programs find them (host_tool).
#
# Where the root has Pacemaker the host is a node of a cluster. It has a pid namespace of its own,
# because the agent of a guest looks for its QEMU among all processes when libvirtd is away, and who
# kills its first process, the holder, switches the power off. What the node writes is kept over the
# root, as on a disk.
start_host() { # HOST
    local root node="" spaces=(-m -u)
    root=$(host_root "$1")
    if [ -n "$root" ] && [ -x "$(root_dir "$root")/usr/sbin/pacemakerd" ]; then
        node=1 spaces+=(-p -f)
        mkdir -p "$LAB/$1"/{upper,work,files,run/libvirt,run/lock,run/resource-agents}
        touch "$LAB/$1/node"
    fi
    rm -f "$LAB/$1/holder.pid"
    # shellcheck disable=SC2016 # expanded inside
    setsid ip netns exec "$(netns "$1")" unshare "${spaces[@]}" --propagation private \
        bash -euc '
            host=$1 lab=$2 root=$3 node=$4 dir=$2/$1
            read -r me _ </proc/self/stat
            mount_own() { # ROOT
                mount --bind "$dir/run" "$1/run"
                mount --bind "$dir/etc" "$1/etc/libvirt"
                mount --bind "$dir/pki" "$1/etc/pki"
                mount --bind "$dir/varlib" "$1/var/lib/libvirt"
                mount --bind "$dir/cache" "$1/var/cache/libvirt"
                mount --bind "$dir/log" "$1/var/log/libvirt"
                mount --bind "$lab/hosts" "$1/etc/hosts"
            }
            hostname "$host"
            umount -R /sys/fs/cgroup 2>/dev/null || true
            if [ -n "$node" ]; then
                mount -t overlay overlay -o "lowerdir=$root,upperdir=$dir/upper,workdir=$dir/work" "$dir/files"
                root=$dir/files
                mount -t proc proc "$root/proc"
                mount --rbind /sys "$root/sys"
                mount --rbind /dev "$root/dev"
                mount -t tmpfs tmpfs "$root/dev/shm"
            elif [ -n "$root" ]; then
                mount --bind "$root" "$root"
                for shared in /dev /proc /sys; do mount --rbind $shared "$root$shared"; done
            fi
            if [ -n "$root" ]; then
                for shared in /tmp /var/tmp "${lab%/*}"; do
                    mkdir -p "$root$shared"
                    mount --bind "$shared" "$root$shared"
                done
                mount_own "$root"
                [ -n "$node" ] || mount -o remount,bind,ro "$root"
            fi
            mount_own ""
            # The pid is written when the root is entered: not before can others follow.
            exec chroot "${root:-/}" sh -euc "
                echo \$2 >\$1/holder.tmp
                mv \$1/holder.tmp \$1/holder.pid
                [ -z \"\$3\" ] || exec \$3/bin/reaper \$1/holder.inside sleep infinity
                exec sleep infinity
            " holder "$dir" "$me" "${node:+$lab}"
        ' holder "$1" "$LAB" "${root:+$(root_dir "$root")}" "$node" >"$LAB/$1/holder.out" 2>&1 </dev/null 9>&- &
    disown
    wait_until 10 test -s "$LAB/$1/holder.pid" ||
        die "$1: namespaces could not be made: $(cat "$LAB/$1/holder.out")"
    libvirtd_start "$1"
}

# choose_machine: in a lab of several roots "pc" is another machine on each host, and a guest of one
# could not move to the other. There guests get the newest i440fx that every host's QEMU knows.
choose_machine() {
    local host
    declare -A hosts_by_root=()
    for host in "${LAB_HOSTS[@]}"; do hosts_by_root[:$(host_root "$host")]=$host; done
    [ ${#hosts_by_root[@]} -gt 1 ] || return 0
    for host in "${hosts_by_root[@]}"; do host_run "$host" qemu-system-x86_64 -machine help; done |
        awk '/^pc-i440fx-[0-9]/ {print $1}' | sort -V | uniq -c |
        awk -v all=${#hosts_by_root[@]} '$1 == all {name = $2} END {print name}' >"$LAB/machine"
    grep -q . "$LAB/machine" || die 'no machine type that every host knows'
}

ferry_config() { # KEEPALIVE_INTERVAL KEEPALIVE_COUNT
    local host
    echo "# Written by tests/lab/up for lab '$LAB_NAME'."
    echo 'hosts:'
    for host in "${LAB_HOSTS[@]}"; do
        cat <<YAML
  - name: $host
    uri: "$(host_uri "$host")"
    peerUri: "qemu+tcp://$host/system"
    keepalive: {intervalSeconds: $1, count: $2}
    qemuLogDir: $LAB/$host/log/qemu
YAML
    done
    cat <<YAML
state: $LAB/ferry
listen: 127.0.0.1:$(free_port)
socket: $LAB/ferry.sock
log: {level: info, format: json}
migrations:
  bandwidthPerMigration: 64Mi
YAML
}
