# pacemaker.sh - a cluster on the hosts h1 and h2 of a lab whose root has Pacemaker, with the guest g-p as its resource;
# sourced after testlib.sh.
# shellcheck shell=bash
#
# Everything that is asked of the cluster is asked on h1, which no test switches off.
GUEST=g-p
OCF=/usr/lib/ocf/resource.d/ferry
MOVE_TIMEOUT=${MOVE_TIMEOUT:-90} # of the operation migrate_to

cluster() { host_run h1 timeout 30 "$@"; } # COMMAND...
pacemaker_log() { echo "$LAB/$1/upper/var/log/pacemaker/pacemaker.log"; } # HOST
said() { grep -hE -- "$1" "$(pacemaker_log h1)" "$(pacemaker_log h2)"; } # PATTERN: in the logs of both nodes

# --- the nodes ---

# Ferry of this machine, with the libraries it is linked to: the root has others.
give_ferry() { # HOST
    local library dir=$LAB/$1/program
    host_run "$1" mkdir -p /usr/local/ferry $OCF
    mkdir -p "$dir"
    cp "$FERRY" "$dir/ferry"
    for library in $(ldd "$FERRY" | grep -o '/[^ ]*'); do cp -L "$library" "$dir/"; done
    host_run "$1" cp -r "$dir/." /usr/local/ferry/
    rm -rf "$dir"
    host_run "$1" sh -c 'cat >/usr/local/bin/ferry && chmod 755 /usr/local/bin/ferry' <<'SH'
#!/bin/sh
exec /usr/local/ferry/ld-linux-x86-64.so.2 --library-path /usr/local/ferry /usr/local/ferry/ferry "$@"
SH
    host_run "$1" sh -c "cat >$OCF/VirtualDomain && chmod 755 $OCF/VirtualDomain" \
        <"$LAB_SCRIPTS/../../packaging/pacemaker/VirtualDomain"
}
corosync_conf() {
    cat <<'CONF'
totem {
    version: 2
    cluster_name: lab
    transport: knet
    crypto_cipher: none
    crypto_hash: none
    token: 3000
}
system {
    sched_rr: no
    move_to_root_cgroup: no
}
resources {
    watchdog_device: off
}
logging {
    to_stderr: yes
    to_syslog: no
}
quorum {
    provider: corosync_votequorum
    two_node: 1
    wait_for_all: 0
}
nodelist {
CONF
    local host
    for host in "${LAB_HOSTS[@]}"; do
        printf '    node {\n        name: %s\n        nodeid: %s\n        ring0_addr: %s\n    }\n' "$host" "${host#h}" "$LAB_NET.${host#h}"
    done
    echo '}'
}
nvpairs() { # ID NAME=VALUE...
    local pair
    for pair in "${@:2}"; do echo "<nvpair id=\"$1-${pair%%=*}\" name=\"${pair%%=*}\" value=\"${pair#*=}\"/>"; done
}
# cib [NAME=VALUE]...: what the cluster is told of the guest; the arguments are parameters of its agent. FENCING: it can
# switch nodes off. ON_FAIL: what follows a failed migrate_to.
cib() {
    cat <<XML
<cib admin_epoch="0" epoch="1" num_updates="0" validate-with="pacemaker-3.0"><configuration>
<crm_config><cluster_property_set id="options">
$(nvpairs options dc-deadtime=5s "stonith-enabled=$([ -n "${FENCING:-}" ] && echo true || echo false)")
</cluster_property_set></crm_config>
<nodes/>
<resources>
<primitive id="$GUEST" class="ocf" provider="ferry" type="VirtualDomain">
<instance_attributes id="params">
$(nvpairs params "config=$LAB/$GUEST.xml" hypervisor=qemu:///system migration_transport=tcp force_stop=true \
        autoset_utilization_cpu=false autoset_utilization_host_memory=false autoset_utilization_hv_memory=false \
        "ferry_server=unix:$SOCKET" "$@")
</instance_attributes>
<meta_attributes id="meta">$(nvpairs meta allow-migrate=true)</meta_attributes>
<operations>
<op id="start" name="start" interval="0" timeout="60s"/>
<op id="stop" name="stop" interval="0" timeout="60s"/>
<op id="monitor" name="monitor" interval="10s" timeout="30s"/>
<op id="to" name="migrate_to" interval="0" timeout="${MOVE_TIMEOUT}s" on-fail="${ON_FAIL:-block}"/>
<op id="from" name="migrate_from" interval="0" timeout="60s"/>
</operations>
</primitive>
$([ -z "${FENCING:-}" ] || echo "<primitive id=\"fence\" class=\"stonith\" type=\"fence_lab\"><instance_attributes id=\"fence-p\">
$(nvpairs fence-p pcmk_host_list="${LAB_HOSTS[*]}" pcmk_host_check=static-list)</instance_attributes></primitive>")
</resources>
<constraints><rsc_location id="first" rsc="$GUEST" node="h1" score="10"/></constraints>
<rsc_defaults><meta_attributes id="defaults">$(nvpairs defaults resource-stickiness=100)</meta_attributes></rsc_defaults>
</configuration><status/></cib>
XML
}
start_cluster_on() { # HOST
    daemon_start "$1" corosync corosync -f
    wait_until 20 host_run "$1" sh -c 'corosync-cfgtool -s >/dev/null 2>&1' || fail "$1: no corosync: $(tail -n 3 "$LAB/$1/corosync.out")"
    daemon_start "$1" pacemakerd pacemakerd
}

# --- power ---

# First the link: otherwise the others get the end of every connection, which is a crash, not a loss of power.
power_off() { # HOST
    note "$1 loses power"
    ip -n "$(netns switch)" link set "$1" down
    kill -9 "$(host_pid "$1" holder)"
}
power_on() { # HOST
    rm -rf "$LAB/$1"/run/* "$LAB/$1/holder.pid"
    ip -n "$(netns switch)" link set "$1" up
    (. "$LAB_SCRIPTS/hosts.sh" && start_host "$1")
    libvirtd_wait "$1"
    start_cluster_on "$1"
}
# The agent of fencing asks in a file, and outside somebody does it.
give_fencing() { # HOST
    host_run "$1" sh -c 'cat >/usr/sbin/fence_lab && chmod 755 /usr/sbin/fence_lab' <<SH
#!/bin/sh
S=$LAB/fence
$(cat <<'BODY'
action=reboot port=
for word in "$@"; do [ "$word" != metadata ] || action=metadata; done
[ $action = metadata ] || while read -r line; do
    case $line in action=*) action=${line#*=} ;; port=* | nodename=* | plug=*) port=${line#*=} ;; esac
done
case $action in
metadata) cat <<'XML'
<resource-agent name="fence_lab" shortdesc="lab"><longdesc>lab</longdesc><parameters><parameter name="port" unique="0" required="0"><getopt mixed="-n"/><content type="string"/><shortdesc>p</shortdesc></parameter></parameters>
<actions><action name="on"/><action name="off"/><action name="reboot"/><action name="status"/><action name="monitor"/><action name="metadata"/></actions></resource-agent>
XML
    ;;
monitor | status) [ -d $S ] ;;
on) exit 0 ;;
off | reboot)
    id=$port.$$.$(date +%s)
    echo $port >$S/$id.req
    for i in $(seq 100); do [ -f $S/$id.ok ] && exit 0; sleep 0.2; done
    exit 1
    ;;
esac
BODY
)
SH
}
fence_when_asked() {
    local request host
    while sleep 0.2; do
        for request in "$LAB"/fence/*.req; do
            [ -f "$request" ] || continue
            host=$(cat "$request")
            note "the cluster fences $host"
            ! host_pid "$host" holder >/dev/null || power_off "$host"
            mv "$request" "${request%.req}.ok"
        done
    done
}

# --- a test ---

# Two of one guest that run at the same time, by what both hosts say one after the other, there and back.
watch_for_two() {
    while sleep 0.3; do
        if runs_here h1 $GUEST && runs_here h2 $GUEST && runs_here h1 $GUEST && runs_here h2 $GUEST; then
            note "TWO RUNNING COPIES"
            touch "$TEST_DIR/two"
        fi
    done
}
guest_words() { for host in h1 h2; do cat "$(guest_log $host $GUEST)" 2>/dev/null || true; done; }
boots() { guest_words | grep -ac '^BOOT'; }
# By the guest's own word: each of its moments was lived once. Not after a cold start, which begins at 0 again.
assert_one_life() {
    local twice
    [ ! -e "$TEST_DIR/two" ] || fail 'two copies ran'
    twice=$(guest_words | grep -aoE '^HB t=[0-9]+ ' | sort | uniq -d)
    [ -z "$twice" ] || fail "written twice: $twice"
}
# begin_cluster "guest's work" BANDWIDTH [NAME=VALUE]...: Ferry outside, which reaches the hosts over the network; the guest
# is started by the cluster, on h1.
begin_cluster() {
    local host
    write_config
    for host in "${LAB_HOSTS[@]}"; do
        sed -i "/^  - name: $host\$/,/^  - name:/s|^    uri: .*|    uri: \"qemu+tcp://$LAB_NET.${host#h}/system\"|" "$TEST_DIR/ferry.yaml"
    done
    sed -i "s|bandwidthPerMigration: .*|bandwidthPerMigration: $2|" "$TEST_DIR/ferry.yaml"
    INSIDE=(nsenter "--net=/run/netns/$(netns switch)")
    guest_xml $GUEST 128 "$1" | sed "$(with_metadata '<ferry:managedBy>pacemaker</ferry:managedBy>')" |
        xmllint --format - >"$LAB/$GUEST.xml" # the agents want <name> on a line of its own
    mkdir -p "$LAB/fence"
    for host in "${LAB_HOSTS[@]}"; do
        rm -f "$(guest_log "$host" $GUEST)"
        give_ferry "$host"
        give_fencing "$host"
        corosync_conf | host_run "$host" sh -c 'cat >/etc/corosync/corosync.conf'
        cib "${@:3}" | host_run "$host" sh -c 'install -d -o hacluster -g haclient -m 750 /var/lib/pacemaker/cib
            cat >/var/lib/pacemaker/cib/cib.xml && chown hacluster:haclient /var/lib/pacemaker/cib/cib.xml'
    done
    for host in "${LAB_HOSTS[@]}"; do start_cluster_on "$host"; done
    start_ferry
    wait_until 90 cluster_says "Started h1" || fail "the cluster does not start $GUEST: $(status)"
    wait_until 30 guest_ready h1 $GUEST || fail 'the guest does not boot'
    wait_until 30 nodes_online || fail "not both nodes are online: $(status)"
    wait_until 20 guest_node_is $GUEST h1 || fail 'Ferry does not know the guest'
    watch_for_two &
    [ -z "${FENCING:-}" ] || fence_when_asked &
}
status() { cluster crm_mon -1 -r 2>&1; }
cluster_says() { status | grep "$GUEST" | grep -q -- "$1"; } # "Started h2", "blocked"
nodes_online() { status | grep -q 'Online: \[ h1 h2 \]'; }
is_settled() { cluster crm_resource --wait -T 10s >/dev/null 2>&1; }
settled() { wait_until "${1:-150}" is_settled || fail "the cluster does not settle: $(status)"; } # [SECONDS]
ask_move() { # TARGET
    note "the cluster moves $GUEST to $1"
    cluster crm_resource --move -r $GUEST -N "$1" >/dev/null 2>&1
}
# Only when the move has ended: a constraint that changes meanwhile makes Pacemaker start the guest anew.
end_move() { cluster crm_resource --clear -r $GUEST >/dev/null 2>&1 && settled; }
moving() { # the copy moves memory, in Ferry's job
    job=$(newest_job $GUEST) && [ -n "$job" ] && pass_reached h1 $GUEST 1
}
in_mid_move() { # asked for, and its first pass runs
    ask_move h2
    wait_until 40 moving || fail "nothing moves: $(status)"
    note "$job is in mid-move"
    sleep 2
}
agent_answer() { # what migrate_to answered last
    said 'Result of migrate_to operation' | tail -n 1
}
answered() { said 'Result of migrate_to operation' >/dev/null; }
show() {
    note "cluster:"
    status | grep -vE '^ *$|^Cluster Summary|Stack|Last updated|Last change' >&2
    note "h1: $(guest_state h1 $GUEST), h2: $(guest_state h2 $GUEST), booted $(boots) time(s)"
    ferry get vmim -o wide >&2 || true
}
