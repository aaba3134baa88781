#!/bin/bash
# reload: hosts come and go while a migration runs; a host with a job stays; a bad file changes nothing
# cases: hosts
. "$(dirname "$0")/testlib.sh"
GUEST=g-reload

nodes() { api /api/v1/nodes | jq -r '[.items[].metadata.name] | join(" ")'; }
nodes_are() { [ "$(nodes)" = "$1" ]; }

case ${1:-hosts} in
hosts)
    all=("${LAB_HOSTS[@]}")
    first_hosts 2
    boot h1 $GUEST 64 'ws=2 rate=1 fill=40 hb=200'
    start_ferry
    pid=${FERRY_PROCESS%% *}
    job=$(migrate $GUEST h2 4)
    wait_until 20 pass_reached h1 $GUEST 1 || fail 'nothing moves'

    # A third host joins through hosts.d, as a tool writes it, while memory moves.
    mkdir -p "$TEST_DIR/hosts.d"
    uri_of() { awk -v key="$1:" '/^  - name:/ {at = $3} at == "h3" && $1 == key {print $2}' "$LAB/ferry.yaml" | tr -d '"'; }
    printf '[{"targets": ["h3"], "labels": {"__uri__": "%s", "__peer_uri__": "%s", "rack": "7"}}]\n' \
        "$(uri_of uri)" "$(uri_of peerUri)" >"$TEST_DIR/hosts.d/rack.json"
    ferry reload | tee "$TEST_DIR/said" >&2
    grep -qx 'host h3: added' "$TEST_DIR/said" || fail 'the answer does not name h3'
    is_phase "$job" 'Running|TargetReady|PreparingTarget' || fail "the migration is no longer under way: $(phase_of "$job")"
    wait_until 20 node_ready h3 || fail "h3 is not ready: $(api /api/v1/nodes/h3)"
    assert_equal 'label of h3' "$(api /api/v1/nodes/h3 | jq -r .metadata.labels.rack)" 7
    ferry inventory | jq -e 'map(.labels.node) == ["h1", "h2", "h3"]' >/dev/null || fail 'inventory'

    # A host with a running job stays, and the refusal names the job; nothing else of the file is taken.
    cp "$TEST_DIR/ferry.yaml" "$TEST_DIR/whole.yaml"
    awk '/^  - name:/ {skip = $3 == "h2"} /^[a-z]/ {skip = 0} !skip' "$TEST_DIR/whole.yaml" |
        sed 's/level: info/level: debug/' >"$TEST_DIR/ferry.yaml"
    if ferry reload 2>"$TEST_DIR/said"; then fail 'h2 was removed with a job'; fi
    cat "$TEST_DIR/said" >&2
    grep -q "h2.*$job" "$TEST_DIR/said" || fail 'the refusal does not name host and job'
    nodes_are 'h1 h2 h3' || fail "nodes: $(nodes)"

    # A bad file changes nothing and says line and nearest key; so does SIGHUP, in the log.
    sed 's/parallelMigrationsPerCluster/parallelMigrationPerCluster/' "$TEST_DIR/whole.yaml" >"$TEST_DIR/ferry.yaml"
    if ferry reload 2>"$TEST_DIR/said"; then fail 'a bad file was taken'; fi
    grep -q 'ferry.yaml:[0-9]*: unknown key "parallelMigrationPerCluster"; did you mean "parallelMigrationsPerCluster"?' "$TEST_DIR/said" ||
        fail "$(cat "$TEST_DIR/said")"
    kill -HUP "$pid"
    wait_until 10 grep -q '"config_refused".*did you mean' "$FERRY_LOG" || fail 'SIGHUP said nothing'

    cp "$TEST_DIR/whole.yaml" "$TEST_DIR/ferry.yaml"
    wait_final "$job" 120
    assert_job "$job" .status.phase Succeeded
    assert_runs_on h2 $GUEST

    # To the new host, then the emptied ones may go.
    job=$(migrate $GUEST h3 64)
    wait_final "$job"
    assert_job "$job" .status.phase Succeeded
    awk '/^  - name:/ {skip = $3 == "h2"} /^[a-z]/ {skip = 0} !skip' "$TEST_DIR/whole.yaml" >"$TEST_DIR/ferry.yaml"
    ferry reload | grep -qx 'host h2: removed' || fail 'h2 was not removed'
    nodes_are 'h1 h3' || fail "nodes: $(nodes)"
    job=$(migrate $GUEST h1 64)
    wait_final "$job"
    assert_job "$job" .status.phase Succeeded
    assert_runs_on h1 $GUEST
    guest_check h1 $GUEST
    ferry_alive || fail 'ferry ended'
    assert_equal 'process' "${FERRY_PROCESS%% *}" "$pid"
    LAB_HOSTS=("${all[@]}")
    ;;
*) exit 2 ;;
esac
