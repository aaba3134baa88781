#!/bin/bash
# doctor: healthy hosts pass; one dead and one hanging are named, and nobody waits for long
. "$(dirname "$0")/testlib.sh"

doctor() { "$FERRY" doctor --config "$TEST_DIR/ferry.yaml" -o json; }
result() { jq -r --arg h "$1" '.hosts[] | select(.host == $h and .check == "reachable") | .result' "$TEST_DIR/report"; }

write_config
doctor >"$TEST_DIR/report" || fail "doctor is not content: $(cat "$TEST_DIR/report")"
for host in "${LAB_HOSTS[@]}"; do assert_equal "$host" "$(result "$host")" ok; done

break_host kill-libvirtd h3
break_host stop-libvirtd h4
began=$SECONDS
! doctor >"$TEST_DIR/report" || fail 'doctor is content with dead hosts'
[ $((SECONDS - began)) -le 20 ] || fail "doctor took $((SECONDS - began)) s"
assert_equal h1 "$(result h1)" ok
assert_equal h3 "$(result h3)" failed
assert_equal h4 "$(result h4)" failed
