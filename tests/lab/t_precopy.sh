#!/bin/bash
# precopy: a running guest moves and arrives whole; every gauge, sample and page of it is right
. "$(dirname "$0")/testlib.sh"

boot h1 g-precopy 96 'ws=12 rate=6 hb=200'
start_ferry
job=$(migrate g-precopy h2 16)
uid=$(uid_of "$job")

# Ten times a second, until it is over: /metrics as somebody sees it who looks more often than due.
pages=$TEST_DIR/pages
mkdir -p "$pages"
page=0
while ! is_phase "$job" 'Succeeded|Failed'; do
    metrics >"$pages/$(printf %04d $page)"
    page=$((page + 1))
    [ $page -lt 600 ] || fail "$job does not end"
    sleep 0.1
done
metrics >"$TEST_DIR/after"

assert_job "$job" .status.phase Succeeded
assert_job "$job" .status.ferry.guestAt running-on-target
assert_runs_on h2 g-precopy
guest_check h2 g-precopy
assert_observation "$uid" source 'absent .*'
assert_observation "$uid" target 'present running'

note "$page pages"
remaining=$(grep -h '^ferry_migration_data_remaining_bytes{' "$pages"/* | awk '{print $NF}' | sort -u | wc -l)
[ "$remaining" -ge 3 ] || fail "remaining took only $remaining values in $page pages"
during=$(grep -l '^ferry_migration_data_remaining_bytes{' "$pages"/* | tail -n 1)
promtool check metrics <"$during" || fail "promtool refuses $during"
promtool check metrics <"$TEST_DIR/after" || fail "promtool refuses $TEST_DIR/after"
! grep '^ferry_migration_data_remaining_bytes{' "$TEST_DIR/after" || fail 'gauges outlive the migration'

stored=$(samples "SELECT count(*) FROM samples WHERE job_uid = '$uid'")
[ "$stored" -ge 5 ] || fail "only $stored samples stored"
assert_equal 'samples out of order' "$(samples "SELECT count(*) FROM samples a JOIN samples b
    ON a.job_uid = b.job_uid AND b.seq = a.seq + 1 WHERE b.mono_ms < a.mono_ms")" 0

# Two pages of one snapshot are equal byte for byte.
pairs=0
for _ in $(seq 40); do
    metrics >"$TEST_DIR/one"
    metrics >"$TEST_DIR/two"
    [ "$(grep '^ferry_snapshot_generation' "$TEST_DIR/one")" = "$(grep '^ferry_snapshot_generation' "$TEST_DIR/two")" ] || continue
    pairs=$((pairs + 1))
    cmp "$TEST_DIR/one" "$TEST_DIR/two" || fail 'two pages of one snapshot differ'
done
[ $pairs -ge 10 ] || fail "only $pairs pairs of scrapes met one snapshot"
