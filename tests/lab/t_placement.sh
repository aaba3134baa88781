#!/bin/bash
# placement: each host says why it cannot take a guest, before anything is asked of it; what it waits for lets it go
# cases: hosts launchers
# long: hosts=30
. "$(dirname "$0")/testlib.sh"
first_hosts 3

# --- what is asserted ---

# rejections NAME: "h1 source-node, h2 cordoned" of a job, in the order of the hosts
rejections() { job_field "$1" '[.status.ferry.rejections[]? | .node + " " + .reason] | sort | join(", ")'; }
has_rejections() { [ "$(rejections "$1")" = "$2" ]; }
wait_rejections() { wait_until 10 has_rejections "$1" "$2" || fail "$1: rejected by '$(rejections "$1")', want '$2'"; }
# checked GUEST [OPTION]...: the same of `ferry check`, which asks for nothing
checked() {
    { ferry check "$@" -o json || true; } |
        jq -r '[.nodes[] | .name + " " + (if .fits then "fits" else .reason end)] | sort | join(", ")'
}
assert_checked() { # GUEST WANT [OPTION]...
    is_checked() { [ "$(checked "$1" "${@:3}")" = "$2" ]; }
    wait_until 10 is_checked "$@" || fail "check of $1 says '$(checked "$1" "${@:3}")', want '$2'"
}
# Nobody asked a host to move it: nothing about it in the record of intents, no host started a
# guest of that name for it, its own host has had no job of it.
assert_not_asked() { # GUEST JOB
    assert_equal "intents of $2" "$(sql "SELECT count(*) FROM intents WHERE job_uid = '$(uid_of "$2")'")" 0
    ! grep -h "'$1'" "$TEST_DIR"/*.events || fail "$1 came to another host"
    assert_equal "h1's jobs of $1" "$(host_virsh h1 domjobinfo "$1" --completed 2>/dev/null | awk '/^Operation:/ {print $2}')" ''
    assert_job "$2" .status.ferry.handedOff ''
    assert_runs_on h1 "$1"
}
# assert_impossible GUEST JOB REJECTIONS CAUSE: failed at once, without a call
assert_impossible() {
    wait_phase "$2" Failed 10
    assert_equal "$2's rejections" "$(rejections "$2")" "$3"
    assert_not_asked "$1" "$2"
    assert_verdict "$2" "$4" control
    note "$2: $(job_field "$2" .status.migrationState.failureReason)"
}
assert_waits() { # GUEST JOB REASON
    waits_for() { [ "$(job_field "$1" .status.ferry.pending.reason)" = "$2" ]; }
    wait_until 10 waits_for "$2" "$3" || fail "$2 waits for '$(job_field "$2" .status.ferry.pending.reason)', not $3"
    assert_job "$2" .status.phase 'Pending|Scheduling'
    [ -n "$(job_field "$2" .status.ferry.pending.deadline)" ] || fail "$2 waits without a deadline"
    assert_not_asked "$1" "$2"
}
assert_arrives() { # GUEST JOB HOST
    wait_final "$2"
    assert_job "$2" .status.phase Succeeded
    assert_job "$2" .status.migrationState.targetNode "$3"
    assert_runs_on "$3" "$1"
    guest_check "$3" "$1"
}
ask() { # GUEST [OPTION]...: prints the job's name
    local name
    name=$(ferry migrate "$@" -o name) || fail "migrate $* was refused"
    echo "${name#*/}"
}

# --- cases ---

hosts() {
    local line='ws=4 rate=1 fill=8 hb=200' big job
    big=$(awk '/^MemTotal:/ {print int($2 / 1024) + 4096}' /proc/meminfo)
    make_network h1 blue
    make_network h3 blue
    stage_capabilities h2 "/name='pc-i440fx-6.2'/d"
    stage_capabilities h3 "/<hostCPU type='tcg'/,/<\/hostCPU>/s/\(name='aes' type='boolean' value=\)'true'/\1'false'/"
    create_as h1 g-net 32 "$line" "$(with_interface blue 52:54:00:0b:00:01)"
    create_as h1 g-machine 32 "$line" "s/machine='[^']*'/machine='pc-i440fx-6.2'/"
    create_as h1 g-cpu 32 "$line" "s|<vcpu>|<cpu mode='custom' match='exact'><model fallback='forbid'>qemu64</model><feature policy='require' name='aes'/></cpu><vcpu>|"
    # Its memory is never touched, and is not this machine's to give.
    create_as h1 g-big "$big" "$line" '/<qemu:commandline>/,/<\/qemu:commandline>/d' \
        "s|<vcpu>|<memoryBacking><source type='memfd'/><access mode='shared'/></memoryBacking><vcpu>|"
    create_as h1 g-plain 32 "$line"
    guest_xml g-plain 32 "$line" | sed "$(with_metadata '<ferry:namespace>other</ferry:namespace>')" >"$TEST_DIR/namesake.xml"
    host_virsh h2 define "$TEST_DIR/namesake.xml"
    await_guests h1 g-net g-machine g-cpu g-big g-plain
    for host in h2 h3; do
        virsh -q -c "$(host_uri "$host")" event --all --loop >"$TEST_DIR/$host.events" 2>&1 &
    done
    start_ferry
    for guest in g-net g-machine g-cpu g-big g-plain; do wait_condition $guest LiveMigratable 'True '; done

    # A network that one host lacks: not there, by itself to the third.
    assert_checked g-net 'h1 source-node, h2 network-missing, h3 fits'
    job=$(ask g-net --to h2)
    wait_rejections "$job" 'h1 source-node, h2 network-missing, h3 not-the-named-node'
    assert_waits g-net "$job" unschedulable-now
    ferry abort "$job" --wait
    assert_not_asked g-net "$job"
    job=$(ask g-net)
    assert_arrives g-net "$job" h3

    # A machine type that one host's QEMU does not offer; libvirt says so itself when asked.
    assert_checked g-machine 'h1 source-node, h2 machine-type, h3 fits'
    job=$(ask g-machine --to h2)
    assert_impossible g-machine "$job" 'h1 source-node, h2 machine-type, h3 not-the-named-node' machine-type-unsupported
    job=$(ask g-machine)
    assert_arrives g-machine "$job" h3

    # A CPU that one host cannot provide: asked of that host's libvirt, by comparing.
    job=$(ask g-cpu --to h3)
    assert_impossible g-cpu "$job" 'h1 source-node, h2 not-the-named-node, h3 cpu' cpu-incompatible
    assert_checked g-cpu 'h1 source-node, h2 fits, h3 cpu'
    ferry cordon h2
    job=$(ask g-cpu)
    wait_rejections "$job" 'h1 source-node, h2 cordoned, h3 cpu'
    assert_waits g-cpu "$job" unschedulable-now
    ferry uncordon h2 # and it goes, at once
    assert_arrives g-cpu "$job" h2

    # Bigger than any host: no host ever, so it does not wait.
    assert_checked g-big 'h1 source-node, h2 memory-ever, h3 memory-ever'
    job=$(ask g-big)
    assert_impossible g-big "$job" 'h1 source-node, h2 memory-ever, h3 memory-ever' target-unschedulable-resources

    # A name that is taken, and a taint.
    ferry apply -f - <<<'{apiVersion: v1, kind: Node, metadata: {name: h3}, spec: {taints: [{key: repair, value: fan, effect: NoSchedule}]}}'
    assert_checked g-plain 'h1 source-node, h2 name-taken, h3 taint'
    job=$(ask g-plain)
    wait_rejections "$job" 'h1 source-node, h2 name-taken, h3 taint'
    assert_waits g-plain "$job" unschedulable-now
    ferry apply -f - <<<'{apiVersion: v1, kind: Node, metadata: {name: h3}, spec: {taints: []}}'
    assert_arrives g-plain "$job" h3
}

# pods GUEST: "h1 Running, h2 Running", its launchers as the API lists them
pods() {
    api /api/v1/namespaces/default/pods | jq -r --arg g "$1" '[.items[] | select(.metadata.labels["vm.kubevirt.io/name"] == $g) |
        .spec.nodeName + " " + .status.phase] | sort | join(", ")'
}
active_pods() { guest_field "$1" '.status.activePods | [.[]] | sort | join(" ")'; }
has_pods() { [ "$(pods "$1")" = "$2" ] && [ "$(active_pods "$1")" = "$3" ]; }
wait_pods() { # GUEST PODS "nodes of its active pods"
    wait_until 10 has_pods "$@" || fail "$1: pods '$(pods "$1")', active on '$(active_pods "$1")'; want '$2' and '$3'"
}
reserved() { api "/api/v1/nodes/$1" | jq -r '.status.ferry.reserved.memoryKiB // 0'; }
quota() { # LAUNCHERS
    ferry apply -f - <<<"{apiVersion: v1, kind: ResourceQuota, metadata: {name: small, namespace: default}, spec: {hard: {launchers: $1}}}"
}

launchers() {
    local job
    boot h1 g-launch 48 'ws=8 rate=1 fill=24 hb=200'
    touch "$TEST_DIR/none.events"
    start_ferry
    wait_condition g-launch LiveMigratable 'True '
    quota 1
    wait_pods g-launch 'h1 Running' h1
    job=$(ask g-launch --to h2 --bandwidth 4)
    assert_waits g-launch "$job" quota
    assert_equal 'its condition' "$(job_field "$job" '.status.conditions[] | .type + " " + .status')" 'migrationRejectedByResourceQuota True'
    wait_pods g-launch 'h1 Running' h1
    assert_equal "h2's reserved memory" "$(reserved h2)" 0

    quota 2 # and it goes, at once
    wait_until 5 is_phase "$job" 'Scheduling|Scheduled|PreparingTarget|TargetReady|Running' || fail "$job still waits: $(phase_of "$job")"
    wait_phase "$job" Running 15
    wait_pods g-launch 'h1 Running, h2 Running' 'h1 h2'
    [ "$(reserved h2)" -ge $((48 * 1024)) ] || fail "h2 reserved $(reserved h2) KiB only"
    assert_arrives g-launch "$job" h2
    wait_pods g-launch 'h2 Running' h2
    assert_equal "h2's reserved memory" "$(reserved h2)" 0
    assert_equal "h1's reserved memory" "$(reserved h1)" 0
}
"$1"
