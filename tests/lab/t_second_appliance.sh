#!/bin/bash
# second_appliance: a second appliance on the same state directory refuses, the first goes on
. "$(dirname "$0")/testlib.sh"

start_ferry
status=0
timeout 10 "$FERRY" serve --config "$TEST_DIR/ferry.yaml" --listen "127.0.0.1:$(free_port)" \
    >"$TEST_DIR/second.log" 2>&1 || status=$?
cat "$TEST_DIR/second.log"
case $status in
0 | 124) fail "the second appliance did not refuse (status $status)" ;;
esac
grep -q "$STATE" "$TEST_DIR/second.log" || fail 'it does not say which directory'
grep -qw "${FERRY_PROCESS%% *}" "$TEST_DIR/second.log" || fail 'it does not say who holds it'
ferry_ready || fail 'the first appliance is not well'
assert_equal 'integrity of the store' "$(sql 'PRAGMA quick_check')" ok
