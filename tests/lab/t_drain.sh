#!/bin/bash
# drain: a host with eight guests, two of which cannot leave: cancelled half way by uncordon, then drained
# cases: uncordoned
# full: killed
# long: 60
#
# killed: half way it is Ferry that goes, by kill -9, and comes back.
. "$(dirname "$0")/testlib.sh"
first_hosts 3
MOVABLE=(g-d1 g-d2 g-d3 g-d4 g-d5 g-d6)
DRAINS=/apis/ferry.internal/v1/drains

drain_field() { api "$DRAINS/$1" | jq -r "$2 // empty"; } # NAME FILTER
drain_is() { [[ $(drain_field "$1" .status.state) =~ ^($2)$ ]]; }
drain_moved() { [ "$(drain_field "$1" .status.moved)" -ge "$2" ]; }
start_drain() { # prints its name
    local name
    name=$(ferry drain h1 -o name) || fail 'the drain was refused'
    echo "${name#*/}"
}
unfinished() { api "$MIGRATIONS" | jq -r '[.items[] | select(.status.phase != "Succeeded" and .status.phase != "Failed")] | length'; }
none_unfinished() { [ "$(unfinished)" = 0 ]; }
schedulable() { [ "$(api /api/v1/nodes/h1 | jq -r '.spec.unschedulable // false')" = "$1" ]; } # false: it takes guests
# host_of GUEST: the one host it runs on, by what the hosts say
host_of() {
    local host found=()
    for host in "${LAB_HOSTS[@]}"; do ! runs_here "$host" "$1" || found+=("$host"); done
    [ ${#found[@]} = 1 ] || fail "$1 runs on '${found[*]}'"
    echo "${found[0]}"
}
# assert_whole: every guest runs once, where the API says, with its memory; nobody is asked to leave
assert_whole() {
    local guest host
    for guest in "${MOVABLE[@]}" g-disk g-stays; do
        host=$(host_of "$guest")
        wait_until 15 guest_node_is "$guest" "$host" || fail "$guest runs on $host; the API says $(guest_field "$guest" .status.nodeName)"
        assert_runs_on "$host" "$guest"
        guest_check "$host" "$guest"
    done
}
assert_listed() { ! grep guests_not_listed "$FERRY_LOG" || fail 'a guest that left spoiled the list of its host'; }
assert_unmarked() {
    local guest
    for guest in "$@"; do
        assert_equal "the mark of $guest" "$(guest_field "$guest" .status.evacuationNodeName)" ''
        assert_equal "EvictionRequested of $guest" "$(condition "$guest" EvictionRequested)" ''
    done
}
on_h1() { local guest n=0 && for guest in "${MOVABLE[@]}"; do [ "$(host_of "$guest")" != h1 ] || n=$((n + 1)); done && echo $n; }

line='ws=2 rate=1 fill=12 hb=200'
for guest in "${MOVABLE[@]}"; do create_as h1 "$guest" 24 "$line"; done
truncate -s 8M "$LAB/g-disk.img"
create_as h1 g-disk 24 "$line" "$(with_device "<disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='$LAB/g-disk.img'/><target dev='vda' bus='virtio'/></disk>")"
create_as h1 g-stays 24 "$line" "$(with_metadata '<ferry:evictionStrategy>None</ferry:evictionStrategy>')"
await_guests h1 "${MOVABLE[@]}" g-disk g-stays
write_config 5
sed -i 's/bandwidthPerMigration: .*/bandwidthPerMigration: 6Mi/; s/\(parallel.*PerNode:\) .*/\1 2/' "$TEST_DIR/ferry.yaml"
echo 'evictionStrategy: LiveMigrate' >>"$TEST_DIR/ferry.yaml"
start_ferry
for guest in "${MOVABLE[@]}"; do wait_condition "$guest" LiveMigratable 'True '; done
wait_condition g-disk LiveMigratable 'False DisksNotLiveMigratable'

# What it would do, without doing it.
if ferry drain h1 --dry-run >"$TEST_DIR/plan"; then fail 'a plan with blocked guests is no success'; fi
for text in 'g-disk: NotLiveMigratable' 'g-stays: StrategyNone'; do
    grep -q "$text" "$TEST_DIR/plan" || fail "the plan does not say '$text': $(cat "$TEST_DIR/plan")"
done
assert_equal 'jobs after a plan' "$(api "$MIGRATIONS" | jq '.items | length')" 0
schedulable false || fail 'a plan cordoned the host'

# Half way.
drain=$(start_drain)
wait_until 40 drain_moved "$drain" 2 || fail "nothing moved: $(drain_field "$drain" .status)"
schedulable true || fail 'a drain did not cordon its host'
note "half way: $(drain_field "$drain" '.status | "\(.moved) moved, \(.moving) moving, \(.waiting) waiting, \(.blocked) blocked"')"
[ "$(unfinished)" -gt 0 ] || fail 'nothing was left to do'
if [ "$1" = killed ]; then
    kill9_ferry
    start_ferry
    wait_until 60 drain_is "$drain" Blocked || fail "the drain is $(drain_field "$drain" .status.state)"
    assert_equal 'guests it moved' "$(drain_field "$drain" .status.moved)" 6
    assert_equal 'jobs that succeeded' "$(api "$MIGRATIONS" | jq '[.items[] | select(.status.phase == "Succeeded")] | length')" 6
    assert_equal 'migrate calls' "$(sql "SELECT count(*) FROM intents WHERE action = 'migrate'")" 6 # none doubled, none for g-disk
    assert_equal 'memory that is still reserved' "$(api /api/v1/nodes | jq '[.items[].status.ferry.reserved.memoryKiB] | add')" 0
    assert_equal 'movable guests left' "$(on_h1)" 0
    assert_whole
    assert_listed
    exit 0
fi
ferry uncordon h1
wait_until 10 drain_is "$drain" Cancelled || fail "the drain is $(drain_field "$drain" .status.state)"
wait_until 30 none_unfinished || fail 'jobs of a cancelled drain go on'
schedulable false || fail 'the host is still cordoned'
assert_unmarked "${MOVABLE[@]}" g-disk g-stays
assert_whole
[ "$(on_h1)" -ge 1 ] || fail 'all had moved already'
note "after uncordon: $(on_h1) of the six are still on h1"
kept=$(on_h1)
sleep 1
assert_equal 'guests on h1 a second later' "$(on_h1)" "$kept"
none_unfinished || fail 'jobs of a cancelled drain come back'

# Again, to its end: six have moved, two are named with what would help.
if ferry drain h1 --wait --timeout 90s >"$TEST_DIR/end" 2>&1; then fail 'a drain that is blocked is no success'; fi
drain=$(api "$DRAINS" | jq -r '.items | sort_by(.metadata.creationTimestamp) | last | .metadata.name')
assert_equal 'the drain' "$(drain_field "$drain" .status.state)" Blocked
assert_equal 'guests it moved' "$(drain_field "$drain" .status.moved)" "$kept"
assert_equal 'whom it names' "$(drain_field "$drain" '[.status.guests[] | select(.state == "Blocked") | .name + " " + .reason] | sort | join(", ")')" \
    'g-disk NotLiveMigratable, g-stays StrategyNone'
for text in 'g-disk: NotLiveMigratable: .*disk vda' 'storage.sharedPaths' \
    'g-stays: StrategyNone' 'set evictionStrategy LiveMigrate, or drain with --shutdown'; do
    grep -q "$text" "$TEST_DIR/end" || fail "the drain does not say '$text': $(cat "$TEST_DIR/end")"
done
assert_equal 'movable guests left' "$(on_h1)" 0
for guest in g-disk g-stays; do assert_equal "the host of $guest" "$(host_of "$guest")" h1; done
schedulable true || fail 'the host of a drain takes guests'
assert_whole
assert_unmarked "${MOVABLE[@]}"

# What would unblock one of them does, by itself.
ferry apply -f - <<<'{apiVersion: kubevirt.io/v1, kind: VirtualMachineInstance, metadata: {name: g-stays, namespace: default}, spec: {evictionStrategy: LiveMigrate}}'
left() { [ "$(guest_field "$1" .status.nodeName)" != h1 ]; }
wait_until 30 left g-stays || fail "g-stays did not move: $(drain_field "$drain" .status)"
ferry uncordon h1
wait_until 10 drain_is "$drain" Cancelled || fail "the drain is $(drain_field "$drain" .status.state)"
wait_until 10 none_unfinished || fail 'jobs are left'
assert_unmarked "${MOVABLE[@]}" g-disk g-stays
guest_check "$(host_of g-stays)" g-stays
assert_listed
