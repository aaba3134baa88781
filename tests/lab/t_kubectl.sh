#!/bin/bash
# kubectl: what people type with unmodified kubectl, on real hosts: watches of a move, drain, every verb
# cases: moves
# full: v1.20 v1.32 v1.33 v1.36 blocked terminal
# long: v1.20=120 v1.32=120 v1.33=120 v1.36=120 moves=40 terminal=40
#
# moves: the kubectl that is installed sees each phase of a move, waits for it, and empties a host. v*: the stories of
# tests/kubectl, with that kubectl (tests/kubectl/get fetches it). blocked: a drain does not end while a guest is left.
# terminal: ferry get -w, ferry events and ferry top during a move.
. "$(dirname "$0")/testlib.sh"
first_hosts 3
STORIES=$LAB_SCRIPTS/../kubectl
A=h1 B=h2 C=h3 LOG_SAYS='Domain id=[0-9]+ is tainted' WORK=$TEST_DIR/kubectl
mkdir -p "$WORK/home"
export KUBECONFIG=$WORK/kubeconfig
. "$STORIES/play.sh"
. "$STORIES/stories"

label() { with_metadata "<ferry:label key='app' value='$1'/>${2:-}"; }
fleet() { # that of tests/kubectl/fleet.yaml, with real guests
    local line='ws=4 rate=1 fill=12 hb=200'
    truncate -s 8M "$LAB/gpu.img"
    create_as h1 web 32 "$line" "$(label web)"
    create_as h1 db 32 "$line" "$(label db '<ferry:evictionStrategy>LiveMigrate</ferry:evictionStrategy>')"
    create_as h2 big 48 "$line"
    create_as h2 gpu 32 "$line" "$(with_device "<disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='$LAB/gpu.img'/><target dev='vda' bus='virtio'/></disk>")"
    await_guests h1 web db
    await_guests h2 big gpu
    write_config
    sed -i 's/bandwidthPerMigration: .*/bandwidthPerMigration: 12Mi/' "$TEST_DIR/ferry.yaml"
    echo 'evictionStrategy: LiveMigrate' >>"$TEST_DIR/ferry.yaml"
    start_ferry
    wait_condition web LiveMigratable 'True '
    wait_condition db LiveMigratable 'True '
    wait_condition gpu LiveMigratable 'False DisksNotLiveMigratable'
    ferry apply -f - <<<'{apiVersion: migrations.kubevirt.io/v1alpha1, kind: MigrationPolicy, metadata: {name: gentle},
        spec: {allowAutoConverge: true, selectors: {virtualMachineInstanceSelector: {app: db}}}}'
    # Under another HOME kubectl starts with an empty cache, as on the first day.
    ferry kubeconfig --role admin >"$KUBECONFIG"
    export HOME=$WORK/home
}
use_kubectl() { # VERSION, or "": the one that is installed
    if [ -n "$1" ]; then
        "$STORIES/get" "${KUBECTLS:-$LAB_SCRIPTS/../../build/kubectl}" "$1" || { note "kubectl $1 cannot be had" && exit 77; }
        kubectl=$(readlink -f "${KUBECTLS:-$LAB_SCRIPTS/../../build/kubectl}/$1/kubectl")
    else
        kubectl=$(command -v kubectl) || { note 'no kubectl here' && exit 77; }
    fi
    version=$(said_version "$kubectl")
    note "kubectl $version"
}
# assert_told WATCHED JOB: kubectl's watch printed each phase of the job's history, in order
assert_told() {
    local told wanted
    told=$(awk -v name="$2" '$1 == name && $2 != last {print last = $2}' "$1" | paste -sd ' ')
    wanted=$(api "$MIGRATIONS/$2" | jq -r '[.status.phaseTransitionTimestamps[].phase] | join(" ")')
    note "kubectl saw $2: $told"
    [ "$told" = "$wanted" ] || fail "the watch of $2 told '$told', its history has '$wanted': $(cat "$1")"
}
mux() { tmux -L "ferry-$LAB_NAME-$$" -f /dev/null "$@"; }
screen_has() { mux capture-pane -p | grep -qE -- "$1"; }
screen_lacks() { ! screen_has "$1"; }
await_screen() { wait_until "$1" screen_has "$2" || fail "ferry top does not show '$2': $(mux capture-pane -p)"; } # SECONDS EXPRESSION
top_has_ended() { ! mux has-session 2>/dev/null; }
has_no_guest() { [ -z "$(host_virsh "$1" list --all --name | tr -d '\n')" ]; } # HOST
all_passed() { [ "$failed" = 0 ] || fail "$failed of $((passed + failed)) stories: see above"; note "$passed stories"; }
await_end_of_all() { wait_until 40 becomes 0 unfinished || fail "$(unfinished) migrations have not ended"; }

case ${1:-moves} in
moves)
    fleet
    use_kubectl ''
    k get vmim -w --request-timeout=60s >"$WORK/watched" 2>&1 &
    watch=$!
    k get vmi web -o yaml -w >"$WORK/web" 2>&1 &
    watch_web=$!
    wait_until 10 test -s "$WORK/web" || fail 'no watch of web'
    printf '%s\n' '{apiVersion: kubevirt.io/v1, kind: VirtualMachineInstanceMigration, metadata: {name: m1}, spec: {vmiName: web, addedNodeSelector: {kubernetes.io/hostname: h3}}}' |
        k create -f - >&2
    # What kubectl 1.20 cannot: conditions only.
    holds 'wait prints its result only' 0 '^virtualmachineinstance.kubevirt.io/web condition met\n.$' '' k wait vmi web --for=condition=Ready --timeout=30s
    wait_final m1 60
    assert_job m1 .status.phase Succeeded
    wait_until 5 grep -q '^m1 .*Succeeded' "$WORK/watched" || fail "the watch did not tell the end: $(cat "$WORK/watched")"
    kill $watch $watch_web
    assert_told "$WORK/watched" m1
    assert_runs_on h3 web
    guest_check h3 web
    k drain h1 --timeout=60s --force >"$WORK/drained" 2>&1 || fail "kubectl drain: $(cat "$WORK/drained")"
    has_no_guest h1 || fail "kubectl drain ended with 0 and h1 has $(host_virsh h1 list --all --name)"
    db_at=$(guest_field db .status.nodeName)
    assert_runs_on "$db_at" db
    guest_check "$db_at" db
    k uncordon h1 >&2
    all_passed
    ;;
v*)
    fleet
    use_kubectl "${1#v}"
    stories >&2
    for guest in web db; do # the last story emptied h1
        host=$(guest_field $guest .status.nodeName)
        [ "$host" != h1 ] || fail "$guest is still on h1"
        assert_runs_on "$host" $guest
        guest_check "$host" $guest
    done
    has_no_guest h1 || fail "h1 has $(host_virsh h1 list --all --name)"
    assert_runs_on h2 gpu
    guest_check h2 gpu
    all_passed
    ;;
blocked)
    fleet
    use_kubectl ''
    status=0
    k drain h2 --timeout=15s --force >"$WORK/drained" 2>&1 || status=$?
    note "drain: $status $(tail -n 2 "$WORK/drained")"
    [ $status != 0 ] || fail 'kubectl drain ended with 0 while gpu is on h2'
    assert_runs_on h2 gpu
    guest_check h2 gpu
    host=$(guest_field big .status.nodeName)
    [ "$host" != h2 ] || fail "big did not leave: $(cat "$WORK/drained")"
    assert_runs_on "$host" big
    guest_check "$host" big
    ;;
terminal)
    command -v tmux >/dev/null || { note 'no tmux here' && exit 77; }
    fleet
    ferry get vmim -w >"$WORK/watched" 2>&1 &
    watch=$!
    ferry events -w >"$WORK/events" 2>&1 &
    events=$!
    mux new-session -d -x 80 -y 24 "FERRY_SERVER=unix:$SOCKET $FERRY top"
    UNDO+=('mux kill-server 2>/dev/null || true')
    await_screen 20 '^connected'
    job=$(migrate web h3 2)
    await_screen 20 '^web +h1>h3 +PreCopy'
    await_screen 20 '[0-9.]+ [KM]iB'
    ferry top --once >"$WORK/once"
    grep -q '^web .*h1>h3' "$WORK/once" || fail "ferry top --once: $(cat "$WORK/once")"
    ferry migrate gpu >/dev/null 2>&1 || true # it cannot
    wait_final "$job" 60
    assert_job "$job" .status.phase Succeeded
    wait_until 10 screen_lacks '^web +h1>h3' || fail "ferry top still shows it: $(mux capture-pane -p)"
    mux send-keys q
    wait_until 10 top_has_ended || fail 'q does not end ferry top'
    wait_until 5 grep -q "^$job .*Succeeded" "$WORK/watched" || fail "ferry get -w: $(cat "$WORK/watched")"
    assert_told "$WORK/watched" "$job"
    wait_until 5 grep -q "$job" "$WORK/events" || fail "ferry events -w: $(cat "$WORK/events")"
    kill $watch $events
    ferry events web >"$WORK/events"
    grep -q Migrated "$WORK/events" || fail "ferry events web: $(cat "$WORK/events")"
    guest_check h3 web
    ;;
*) fail "no case '${1:-}'" ;;
esac
