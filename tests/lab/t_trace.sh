#!/bin/bash
# trace: guests that write faster than their links carry, left alone and recorded; both watchers decide over the same record
# full: record
#
# What is left in TEST_DIR/*.def, one look in a second and every pass, has the form of tests/unit/trace_*.def:
# those were made by this test, and tests/unit/test_monitor_traces.c replays them without a lab.
. "$(dirname "$0")/testlib.sh"

declare -A JOBS
begin() { # GUEST TARGET BANDWIDTH_MIB
    wait_condition "$1" LiveMigratable 'True '
    JOBS[$1]=$(migrate "$1" "$2" "$3")
}
# thin JOB: LOOK(elapsed ms, first of a pass, pass, bytes moved, bytes left, pages dirtied per second)
thin() {
    samples "WITH seen AS (SELECT l.elapsed_ms AS at, s.source = 'iteration' AS pass, s.* FROM monitor_inputs l JOIN samples s
                ON s.job_uid = l.job_uid AND s.seq = l.sample_seq WHERE l.job_uid = '$(uid_of "$1")' AND l.kind = 'look' AND l.aborting = 0),
             kept AS (SELECT *, lag(at / 1000, 1, -1) OVER (ORDER BY at) AS before FROM seen)
        SELECT printf('LOOK(%d, %d, %d, %d, %d, %d)', at, pass, memory_iteration, data_processed, data_remaining, memory_dirty_rate)
        FROM kept WHERE pass OR at / 1000 > before ORDER BY at"
}
# decided JOB MONITOR POLICY_FILE: "ms action decision" of the one that ends pre-copy
decided() {
    ferry replay "$1" --state "$STATE" --monitor "$2" --policy "$3" -o json |
        jq -r 'if .end == "acted" then .decisions | last | "\(.elapsedMs) \(.action) \(.decision)" else "0 nothing \(.conclusion)" end'
}
compare() { # GUEST "policy" ACTION
    local monitor answer at=()
    echo "{apiVersion: migrations.kubevirt.io/v1alpha1, kind: MigrationPolicy, metadata: {name: asked}, spec: {selectors: {},
        completionTimeoutPerGiB: 150, experimental: {stallDetector: {stallProgressTimeout: 40}}, $2}}" >"$TEST_DIR/asked.yaml"
    for monitor in legacy stall; do
        answer=$(decided "${JOBS[$1]}" $monitor "$TEST_DIR/asked.yaml")
        note "$1, $2: $monitor after $answer"
        assert_equal "what $monitor would have done" "$(cut -d ' ' -f 2 <<<"$answer")" "$3"
        at+=("${answer%% *}")
    done
    [ "${at[1]}" -lt "${at[0]}" ] || fail "stall is not sooner: ${at[*]} ms"
}

case ${1:-} in
record)
    tier=$(with_metadata "<ferry:label key='tier' value='trace'/>")
    create_as h1 g-fast 64 'ws=24 rate=40 hb=1000' "$tier"
    create_as h1 g-even 64 'ws=40 rate=14 hb=1000' "$tier"
    create_as h1 g-wide 128 'ws=96 rate=60 hb=1000' "$tier"
    await_guests h1 g-fast g-even g-wide
    start_ferry
    # Nothing interferes until a watcher with everything as it comes would have given up.
    ferry apply -f - <<<"{apiVersion: migrations.kubevirt.io/v1alpha1, kind: MigrationPolicy, metadata: {name: trace},
        spec: {selectors: {virtualMachineInstanceSelector: {tier: trace}}, completionTimeoutPerGiB: 156,
               experimental: {stallDetector: {stallProgressTimeout: 1000}}}}"
    begin g-fast h2 12
    begin g-even h3 12
    begin g-wide h4 24
    for guest in "${!JOBS[@]}"; do
        wait_final "${JOBS[$guest]}" 190
        assert_job "${JOBS[$guest]}" .status.ferry.outcome aborted
        thin "${JOBS[$guest]}" >"$TEST_DIR/$guest.def"
        note "$guest: $(wc -l <"$TEST_DIR/$guest.def") looks; $(job_field "${JOBS[$guest]}" .status.migrationState.failureReason)"
        compare "$guest" 'allowPostCopy: true' post-copy
        compare "$guest" 'allowPostCopy: false' abort
        guest_check h1 "$guest"
    done
    ;;
*) fail "no case '${1:-}'" ;;
esac
