#!/bin/bash
# evict: guests are asked to leave through the eviction API, by hand and by a real kubectl
# cases: api
# full: kubectl
. "$(dirname "$0")/testlib.sh"
first_hosts 3
PODS=/api/v1/namespaces/default/pods

pod_of() { api "$PODS" | jq -r --arg g "$1" '.items[] | select(.metadata.labels["vm.kubevirt.io/name"] == $g) | .metadata.name' | head -n 1; }
# evict GUEST: "code text" of the answer
evict() {
    local pod
    pod=$(pod_of "$1")
    curl -sS -m 5 -o "$TEST_DIR/answer" -w '%{http_code} ' --unix-socket "$SOCKET" "http://localhost$PODS/$pod/eviction" -H 'Content-Type: application/json' \
        -d "{\"apiVersion\": \"policy/v1\", \"kind\": \"Eviction\", \"metadata\": {\"name\": \"$pod\", \"namespace\": \"default\"}}"
    jq -r .message "$TEST_DIR/answer"
}
left_h1() { [[ $(guest_field "$1" .status.nodeName) =~ ^h[23]$ ]]; }
no_mark() { [ -z "$(guest_field "$1" .status.evacuationNodeName)" ]; }
settled() { # GUEST: it left h1, once, whole, and nobody wants it to leave any more
    local host
    wait_until 40 left_h1 "$1" || fail "$1 is still on h1"
    host=$(guest_field "$1" .status.nodeName)
    wait_final "$(newest_job "$1")"
    assert_job "$(newest_job "$1")" .status.phase Succeeded
    assert_job "$(newest_job "$1")" .status.ferry.origin evacuation
    assert_runs_on "$host" "$1"
    guest_check "$host" "$1"
    wait_until 5 no_mark "$1" || fail "$1 is still marked"
}
guests() { # two that move, one that may not, one whose host must not stop it
    local line='ws=4 rate=1 fill=12 hb=200'
    truncate -s 8M "$LAB/g-ev-disk.img"
    create_as h1 g-ev1 32 "$line"
    create_as h1 g-ev2 32 "$line"
    [ "$1" = movable ] || {
        create_as h1 g-ev-disk 32 "$line" "$(with_device "<disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='$LAB/g-ev-disk.img'/><target dev='vda' bus='virtio'/></disk>")"
        create_as h1 g-ev-none 32 "$line" "$(with_metadata '<ferry:evictionStrategy>None</ferry:evictionStrategy>')"
        await_guests h1 g-ev-disk g-ev-none
    }
    await_guests h1 g-ev1 g-ev2
    write_config
    sed -i 's/bandwidthPerMigration: .*/bandwidthPerMigration: 6Mi/' "$TEST_DIR/ferry.yaml"
    echo 'evictionStrategy: LiveMigrate' >>"$TEST_DIR/ferry.yaml"
    start_ferry
    wait_condition g-ev1 LiveMigratable 'True '
    wait_condition g-ev2 LiveMigratable 'True '
}

api_case() {
    guests all
    wait_condition g-ev-disk LiveMigratable 'False DisksNotLiveMigratable'
    assert_equal 'eviction of one that cannot move' "$(evict g-ev-disk)" \
        '429 .*VMI g-ev-disk is configured with an eviction strategy but is not live-migratable.*'
    assert_equal 'eviction of one that would be shut down' "$(evict g-ev-none)" '429 .*would be shut down by its eviction strategy.*'
    assert_equal 'eviction' "$(evict g-ev1)" '429 .*Eviction triggered evacuation of VMI "default/g-ev1".*'
    assert_equal 'its mark' "$(guest_field g-ev1 .status.evacuationNodeName)" h1
    assert_equal 'its condition' "$(condition g-ev1 EvictionRequested)" 'True EvictionRequested'
    assert_equal 'eviction again' "$(evict g-ev1)" '429 .*Evacuation in progress: .*'
    settled g-ev1

    # Called back while it moves.
    assert_equal 'eviction' "$(evict g-ev2)" '429 .*Eviction triggered evacuation.*'
    wait_until 20 pass_reached h1 g-ev2 1 || fail 'g-ev2 does not move'
    api "/apis/subresources.kubevirt.io/v1/namespaces/default/virtualmachineinstances/g-ev2/evacuate/cancel" -X PUT
    wait_final "$(newest_job g-ev2)" 20
    assert_job "$(newest_job g-ev2)" .status.ferry.outcome aborted
    wait_until 5 no_mark g-ev2 || fail 'g-ev2 is still marked'
    assert_runs_on h1 g-ev2
    guest_check h1 g-ev2
    for guest in g-ev-disk g-ev-none; do
        assert_equal "jobs of $guest" "$(newest_job $guest)" ''
        assert_runs_on h1 $guest
        guest_check h1 $guest
    done
}

kubectl_case() {
    local kubectl
    kubectl=$(command -v kubectl || true)
    [ -n "$kubectl" ] || { note 'no kubectl here' && exit 77; }
    note "$kubectl"
    k() { HOME=$TEST_DIR timeout 90 "$kubectl" --kubeconfig "$TEST_DIR/kubeconfig" --cache-dir "$TEST_DIR/kube" "$@"; }
    guests movable
    ferry kubeconfig >"$TEST_DIR/kubeconfig"
    assert_equal 'kubectl auth can-i create vmim' "$(k auth can-i create vmim)" yes
    assert_equal 'kubectl auth can-i create migrationpolicies' "$(k auth can-i create migrationpolicies 2>/dev/null || true)" 'no.*needs admin'
    k get nodes >"$TEST_DIR/nodes"
    grep -q '^h1 .*Ready' "$TEST_DIR/nodes" || fail "kubectl get nodes: $(cat "$TEST_DIR/nodes")"
    k get pods -o wide >"$TEST_DIR/pods"
    grep -q "^$(pod_of g-ev1) .*Running.* h1 " "$TEST_DIR/pods" || fail "kubectl get pods: $(cat "$TEST_DIR/pods")"
    k cordon h2
    [ "$(api /api/v1/nodes/h2 | jq .spec.unschedulable)" = true ] || fail 'kubectl cordon did not'
    k drain h1 --timeout 60s --force --ignore-daemonsets --delete-emptydir-data || fail "kubectl drain: $?"
    for guest in g-ev1 g-ev2; do
        settled $guest
        assert_runs_on h3 $guest
    done
    [ "$(api /api/v1/nodes/h1 | jq .spec.unschedulable)" = true ] || fail 'kubectl drain did not cordon'
    k uncordon h1
    k uncordon h2
    assert_equal 'cordoned hosts' "$(api /api/v1/nodes | jq '[.items[] | select(.spec.unschedulable)] | length')" 0
    k get vmim >"$TEST_DIR/vmim"
    [ "$(grep -c Succeeded "$TEST_DIR/vmim")" = 2 ] || fail "kubectl get vmim: $(cat "$TEST_DIR/vmim")"
}
"${1}_case"
