#!/bin/bash
# doctor: a way that was not tried is "not checked"; helpers try it from the source; dead and hanging hosts are named in time
. "$(dirname "$0")/testlib.sh"

doctor() { "$FERRY" doctor --config "$TEST_DIR/ferry.yaml" -o json "$@" >"$TEST_DIR/report"; }
result() { jq -r --arg h "$1" --arg c "${2:-reachable}" '.hosts[] | select(.host == $h and .check == $c) | .result' "$TEST_DIR/report"; }
pair() { jq -r --arg f "$1" --arg t "$2" '.pairs[] | select(.from == $f and .to == $t) | .result + ": " + .text' "$TEST_DIR/report"; } # FROM TO
set_key() { sed -i "/^  - name: $1\$/,/^  - name:/s|^    $2: .*|    $2: $3|" "$TEST_DIR/ferry.yaml"; }                              # HOST KEY VALUE

write_config
doctor || fail "doctor is not content: $(cat "$TEST_DIR/report")"
for host in "${LAB_HOSTS[@]}"; do assert_equal "$host" "$(result "$host")" ok; done
assert_equal 'no helper' "$(pair h1 h2)" 'not checked: .* no helper .*'
! doctor --strict || fail 'doctor --strict is content although no way was tried'

note 'helpers on h1 and h2 try it'
start_hostd h1
start_hostd h2
configure_hostd h1 h2
printf 'storage: {sharedPaths: [%s, %s]}\n' "$LAB" /nowhere >>"$TEST_DIR/ferry.yaml"
! doctor || fail 'a shared path that does not exist is fine'
assert_equal 'h1 to h2' "$(pair h1 h2)" 'ok: .* the source reaches daemon and migration ports'
assert_equal 'h3 to h2' "$(pair h3 h2)" 'not checked: .*'
assert_equal clock "$(result h1 clock)" ok
assert_equal 'clock of h3' "$(result h3 clock)" 'not checked'
assert_equal 'shared paths' "$(result h1 shared-paths)" failed
sed -i 's|, /nowhere||' "$TEST_DIR/ferry.yaml"

note 'a peerUri whose host does not resolve, and a port where nobody listens'
set_key h2 peerUri '"qemu+tcp://h2.nowhere.invalid/system"'
set_key h3 peerUri '"qemu+tcp://h3:1/system"'
! doctor || fail 'doctor is content with a peerUri that does not resolve'
assert_equal 'h1 to h2' "$(pair h1 h2)" "failed: the source cannot resolve the host of the target's peerUri"
assert_equal 'h1 to h3' "$(pair h1 h3)" "failed: the target's daemon refuses connections from the source"
assert_equal 'h1 to h4' "$(pair h1 h4)" 'ok: .*'
"$FERRY" doctor --config "$TEST_DIR/ferry.yaml" >&2 || true

note 'a dead and a hanging host'
write_config
break_host kill-libvirtd h3
break_host stop-libvirtd h4
began=$SECONDS
! doctor || fail 'doctor is content with dead hosts'
[ $((SECONDS - began)) -le 20 ] || fail "doctor took $((SECONDS - began)) s"
assert_equal h1 "$(result h1)" ok
assert_equal h3 "$(result h3)" failed
assert_equal h4 "$(result h4)" failed
assert_equal 'tls of h3' "$(result h3 tls)" 'not checked'
assert_equal 'h1 to h3' "$(pair h1 h3)" 'failed: the target is unreachable'
