#!/bin/bash
# observe_many: migrations of every mode by virsh, many at once by a script, and Ferry's own between them
# full: modes script interleave
# long: modes=200 script=120 interleave=200
#
# modes, script: Ferry has the read-only sockets and no other; each migration is one record with the right pair, outcome and modes,
# and the downtime that libvirt keeps, to 20 ms. interleave (MINUTES=2; 20 for the whole of it): nothing of a foreign one is
# touched, and no accepted job is lost.
. "$(dirname "$0")/testlib.sh"
first_hosts 2
. "$(dirname "$0")/foreign.sh"

records() { sql "SELECT count(*) FROM jobs WHERE triggered_by = 'observed'"; }
has_records() { [ "$(records)" = "$1" ]; }
all_final() { [ "$(sql "SELECT count(*) FROM jobs WHERE phase NOT IN ('Succeeded', 'Failed')")" = 0 ]; }
has_numbers() { [ -n "$(sql "SELECT final_from FROM jobs WHERE name = '$job'")" ]; }
newest() { sql "SELECT name FROM jobs WHERE triggered_by = 'observed' ORDER BY created_ms DESC, rowid DESC LIMIT 1"; }
modes_of() { sql "SELECT group_concat(mode, ' ') FROM (SELECT mode FROM modes WHERE job_uid = (SELECT uid FROM jobs WHERE name = '$1') ORDER BY at_ms)"; }
abs() { echo $(($1 < 0 ? -$1 : $1)); }

N=0 AT=h1 TO=h2
# moves MODES [virsh option]...: from AT to TO and checked; then they change places
moves() {
    local want=$1 theirs ours
    shift
    virsh_migrate g-o $AT $TO "$@"
    if [ "$want" = 'PreCopy PostCopy' ]; then
        wait_until 20 pass_reached $AT g-o 1 || fail "no migration: $(cat "$TEST_DIR/virsh.log")"
        host_virsh $AT migrate-postcopy g-o
    fi
    virsh_ended
    [ ! -s "$TEST_DIR/virsh.log" ] || fail "virsh $*: $(cat "$TEST_DIR/virsh.log")"
    N=$((N + 1))
    wait_until 15 has_records $N || fail "$(records) records after $N migrations ($*)"
    job=$(newest)
    wait_final "$job" 30
    assert_job "$job" .status.ferry.outcome succeeded
    assert_job "$job" .status.migrationState.sourceNode $AT
    assert_job "$job" .status.migrationState.targetNode $TO
    assert_equal "modes of $*" "$(modes_of "$job")" "$want"
    wait_until 5 has_numbers || fail "$*: no final statistics"
    theirs=$(host_virsh $TO domjobinfo --completed g-o | awk '/^Total downtime:/ {print $3}')
    ours=$(sql "SELECT final_downtime_ms FROM jobs WHERE name = '$job'")
    note "$*: $want, downtime: libvirt $theirs ms, Ferry $ours ms, in all $(sql "SELECT final_total_ms FROM jobs WHERE name = '$job'") ms"
    [ -z "$theirs" ] || [ "$(abs $((theirs - ours)))" -le 20 ] || fail "$*: downtime $ours ms, libvirt says $theirs ms"
    read -r AT TO <<<"$TO $AT"
}
no_orders() { assert_equal 'orders about foreign migrations' "$(sql "SELECT count(*) FROM intents WHERE job_uid IN (SELECT uid FROM jobs WHERE triggered_by = 'observed')")" 0; }

trips() { # GUEST ROUNDS: there and back; what virsh did is in trips.GUEST
    local guest=$1 from=h1 to=h2 i
    for ((i = 0; i < $2; i++)); do
        virsh -q -c "$(host_uri $from)" migrate --live --p2p "$guest" "qemu+tcp://$to/system" >>"$TEST_DIR/trips.log" 2>&1 || return 1
        echo "$from $to" >>"$TEST_DIR/trips.$guest"
        read -r from to <<<"$to $from"
        sleep 0.$((RANDOM % 9))
    done
}

case ${1:-} in
modes)
    observe_config
    boot h1 g-o 64 'ws=8 rate=2 hb=200'
    start_ferry
    wait_until 15 guest_node_is g-o h1 || fail 'g-o is not known'
    moves PreCopy
    moves PreCopy --bandwidth 16
    moves PreCopy --auto-converge --auto-converge-initial 30
    moves PreCopy --parallel --parallel-connections 2
    moves PreCopy --compressed --comp-methods xbzrle
    moves PreCopy --tunnelled
    moves PreCopy --tls
    moves 'PreCopy PostCopy' --postcopy --bandwidth 12
    moves 'PreCopy PostCopy' --postcopy --bandwidth 12 --postcopy-bandwidth 16
    moves PreCopy --postcopy
    moves PreCopy --persistent --undefinesource
    moves PreCopy --persistent --undefinesource --bandwidth 32
    assert_runs_on $AT g-o
    POSTCOPY=1 guest_check $AT g-o
    no_orders
    ;;
script)
    observe_config
    for i in 1 2 3 4; do boot h1 "g-s$i" 32 'ws=2 rate=1 hb=500'; done
    start_ferry
    for i in 1 2 3 4; do wait_until 15 guest_node_is "g-s$i" h1 || fail "g-s$i is not known"; done
    for i in 1 2 3 4; do trips "g-s$i" 6 & done
    wait $(jobs -p | grep -v "^${FERRY_PROCESS%% *}\$") || fail "virsh failed: $(cat "$TEST_DIR/trips.log")"
    wait_until 20 has_records 24 || fail "$(records) records of 24 migrations"
    wait_until 30 all_final || fail 'some are not final'
    for i in 1 2 3 4; do
        assert_equal "g-s$i" "$(sql "SELECT source_node || ' ' || target_node FROM jobs WHERE guest_name = 'g-s$i' ORDER BY created_ms, rowid" | paste -sd ,)" \
            "$(paste -sd , "$TEST_DIR/trips.g-s$i")"
    done
    assert_equal outcomes "$(sql "SELECT DISTINCT outcome FROM jobs")" succeeded
    note "shortest: $(sql 'SELECT min(final_total_ms) FROM jobs WHERE final_total_ms > 0') ms, below a second: $(sql 'SELECT count(*) FROM jobs WHERE final_total_ms BETWEEN 1 AND 999')"
    no_orders
    ;;
interleave)
    for i in 1 2 3 4; do boot h$((i % 2 + 1)) "g-i$i" 32 'ws=2 rate=2 hb=500'; done
    write_config
    start_ferry
    until_s=$((SECONDS + ${MINUTES:-2} * 60)) accepted=()
    others() { # a manager that knows nothing of Ferry
        local guest from
        while [ $SECONDS -lt $until_s ]; do
            guest=g-i$((RANDOM % 4 + 1)) from=h$((RANDOM % 2 + 1))
            timeout 60 virsh -q -c "$(host_uri $from)" migrate --live --p2p --bandwidth $((RANDOM % 30 + 4)) "$guest" "qemu+tcp://$([ $from = h1 ] && echo h2 || echo h1)/system" \
                >"$TEST_DIR/other" 2>&1 && echo "ok $guest $from" >>"$TEST_DIR/others" || echo "$guest $from: $(head -n 1 "$TEST_DIR/other")" >>"$TEST_DIR/others.refused"
            sleep 0.$((RANDOM % 9))
        done
    }
    trap - ERR
    others &
    OTHERS=$!
    while [ $SECONDS -lt $until_s ]; do
        guest=g-i$((RANDOM % 4 + 1))
        name=$(ferry migrate "$guest" -o name 2>/dev/null) && accepted+=("${name#*/}")
        sleep 0.$((RANDOM % 9))
    done
    wait $OTHERS
    trap 'fail "command failed: $BASH_COMMAND"' ERR
    wait_until 120 all_final || fail "not final: $(sql "SELECT name, phase, pending FROM jobs WHERE phase NOT IN ('Succeeded', 'Failed')")"
    note "Ferry's own: ${#accepted[@]} accepted, $(sql "SELECT outcome || ' ' || count(*) FROM jobs WHERE triggered_by <> 'observed' GROUP BY outcome" | paste -sd ,)"
    note "foreign: $(wc -l <"$TEST_DIR/others") by virsh, recorded: $(sql "SELECT outcome || ' ' || count(*) FROM jobs WHERE triggered_by = 'observed' GROUP BY outcome" | paste -sd ,)"
    note "refused by libvirt: $(sed 's/^[^:]*: //' "$TEST_DIR/others.refused" 2>/dev/null | sed 's/g-i[0-9]/G/; s/[0-9]\+/N/g' | sort | uniq -c | sort -rn | head -5 | paste -sd ';')"
    for name in "${accepted[@]}"; do [ "$(sql "SELECT count(*) FROM jobs WHERE name = '$name'")" = 1 ] || fail "the accepted job $name is lost"; done
    ! grep -iE 'aborted|canceled|cancelled' "$TEST_DIR/others.refused" || fail 'a foreign migration was aborted'
    no_orders
    for i in 1 2 3 4; do
        at=h1
        runs_here h1 "g-i$i" || at=h2
        assert_runs_on $at "g-i$i"
        guest_check $at "g-i$i"
    done
    ;;
esac
