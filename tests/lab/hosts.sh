# hosts.sh - how a host is made; used by up.
# shellcheck shell=bash

# What the package libvirt-daemon-system would bring, and libvirtd cannot do without.
make_system_parts() {
    mkdir -p /etc/pki /etc/libvirt /var/lib/libvirt /var/log/libvirt /var/cache/libvirt
    getent group libvirt-qemu >/dev/null || groupadd -r libvirt-qemu
    getent group kvm >/dev/null || groupadd -r kvm
    getent passwd libvirt-qemu >/dev/null || {
        say "adding the system user libvirt-qemu, without which libvirtd does not start"
        useradd -r -g libvirt-qemu -M -d /var/lib/libvirt -s /usr/sbin/nologin libvirt-qemu
    }
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
    local dir=$LAB/$1 tls=0
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
start_host() { # HOST
    rm -f "$LAB/$1/holder.pid"
    # shellcheck disable=SC2016 # expanded inside
    setsid ip netns exec "$(netns "$1")" unshare -m -u --propagation private \
        bash -euc '
            host=$1 lab=$2 dir=$2/$1
            hostname "$host"
            umount -R /sys/fs/cgroup 2>/dev/null || true
            mount --bind "$dir/run" /run
            mount --bind "$dir/etc" /etc/libvirt
            mount --bind "$dir/pki" /etc/pki
            mount --bind "$dir/varlib" /var/lib/libvirt
            mount --bind "$dir/cache" /var/cache/libvirt
            mount --bind "$dir/log" /var/log/libvirt
            mount --bind "$lab/hosts" /etc/hosts
            echo $$ >"$dir/holder.tmp"
            mv "$dir/holder.tmp" "$dir/holder.pid"
            exec sleep infinity
        ' holder "$1" "$LAB" >"$LAB/$1/holder.out" 2>&1 </dev/null 9>&- &
    disown
    wait_until 10 test -s "$LAB/$1/holder.pid" ||
        die "$1: namespaces could not be made: $(cat "$LAB/$1/holder.out")"
    libvirtd_start "$1"
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
log: {level: info, format: json}
migrations:
  bandwidthPerMigration: 64Mi
YAML
}
