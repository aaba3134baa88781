#!/bin/bash
# orphans: a guest is marked during its migration; an appliance with an empty store finds it, leaves it alone and adopts it
# cases: adopt_postcopy
# full: mark adopt_precopy two_appliances arrived
# long: adopt_postcopy=60 two_appliances=30
. "$(dirname "$0")/testlib.sh"
. "$(dirname "$0")/stages.sh"

MARK=urn:ferry:migration:1
LABELS=urn:ferry:domain:1
mark_on() { host_virsh "$1" metadata g-f --uri $MARK 2>/dev/null; } # HOST: its element
marked() { [[ $(mark_on "$1") == *"job="* ]]; }
not_marked() { ! marked "$1"; }
labelled() { [[ $(host_virsh "$1" metadata g-f --uri $LABELS) == *tier* ]] || fail "g-f lost its labels on $1"; }
orphaned() { [[ $(condition g-f ferry.internal/Orphaned) == True* ]]; }
pages() { [ "$(metrics | awk '$1 == "ferry_orphaned_guests" {print $2}')" = "$1" ]; }
# lose_store: the appliance and all that it knew are gone
lose_store() {
    kill_ferry KILL
    mv "$STATE" "$TEST_DIR/lost"
}
is_broken() { [[ $(guest_state h1 g-f) == paused*post-copy* ]]; }
adopted_job() {
    job=$(newest_job g-f)
    [ -n "$job" ] || fail 'no migration was made'
}
refused() { # what must not work with an orphan
    local text
    ! text=$(ferry migrate g-f --to h1 -o name 2>&1) || fail "an orphan was migrated: $text"
    [[ $text == *'carries the mark'* ]] || fail "refused for another reason: $text"
}
arrives() { # HOST SECONDS
    wait_final "$job" "$2"
    events >&2
    assert_job "$job" .status.phase Succeeded
    assert_job "$job" .status.ferry.adopted true
    assert_runs_on "$1" g-f
    guest_check "$1" g-f
    wait_until 20 not_marked "$1" || fail "the mark stays on $1: $(mark_on "$1")"
    labelled "$1"
    wait_until 10 pages 0 || fail 'still paged'
}

case ${1:-} in
mark) # on both hosts during the migration, with the labels; gone at the end, of an aborted one too
    in_precopy
    marked h1 || fail "no mark on h1"
    note "$(mark_on h1)"
    [[ $(mark_on h1) == *"job='$(uid_of "$job")'"* ]] || [[ $(mark_on h1) == *"job=\"$(uid_of "$job")\""* ]] || fail 'another job'
    marked h2 || fail 'the mark did not travel'
    labelled h1
    ferry abort "$job" --wait >/dev/null
    wait_final "$job" 30
    wait_until 20 not_marked h1 || fail "the mark stays after an abort: $(mark_on h1)"
    labelled h1
    job=$(migrate g-f h2 64)
    wait_final "$job" 60
    assert_job "$job" .status.phase Succeeded
    wait_until 20 not_marked h2 || fail "the mark stays on h2: $(mark_on h2)"
    labelled h2
    [ -z "$(sql "SELECT reason FROM events WHERE reason IN ('NotMarked', 'MarkNotCleared')")" ] || fail 'marks: see events'
    ;;
adopt_precopy)
    in_precopy
    lose_store
    start_ferry
    wait_until 20 orphaned || fail 'not found'
    pages 1 || wait_until 5 pages 1 || fail 'not paged'
    refused
    ferry adopt g-f --from h1 --to h2
    adopted_job
    arrives h2 90
    ;;
adopt_postcopy) # the stream breaks while nobody is there
    in_postcopy
    lose_store
    break_host break-stream h1
    wait_until 30 is_broken || note "source: $(guest_state h1 g-f)"
    start_ferry
    wait_until 20 orphaned || fail 'not found'
    refused
    note "$(guest_state h1 g-f), $(guest_state h2 g-f)"
    ferry adopt g-f --from h1 --to h2
    adopted_job
    arrives h2 120
    ;;
arrived) # it ended while nobody was there
    in_precopy
    lose_store
    wait_until 60 not_here h1 g-f || fail 'it did not end'
    start_ferry
    wait_until 20 orphaned || fail 'not found'
    ferry adopt g-f --from h1 --to h2
    adopted_job
    arrives h2 30
    ;;
two_appliances) # on the same hosts, with stores of their own
    in_precopy
    first_server=$SERVER first_socket=$SOCKET first_state=$STATE first_process=$FERRY_PROCESS
    STATE=$TEST_DIR/state2 PORT=$(free_port) SERVER=http://127.0.0.1:$PORT SOCKET=$TEST_DIR/second.sock
    sed -i "s|^state:.*|state: $STATE|; s|^listen:.*|listen: 127.0.0.1:$PORT|; s|^socket:.*|socket: $SOCKET|" "$TEST_DIR/ferry.yaml"
    start_ferry
    wait_until 20 orphaned || fail 'the second one does not notice'
    refused
    [ -z "$(newest_job g-f)" ] || fail 'the second one made a job of it'
    SERVER=$first_server SOCKET=$first_socket
    wait_final "$job" 90
    assert_job "$job" .status.phase Succeeded
    wait_until 20 not_marked h2 || fail 'the mark stays'
    SERVER=http://127.0.0.1:$PORT SOCKET=$TEST_DIR/second.sock
    wait_until 20 pages 0 || fail 'the second one still shows it'
    assert_equal 'orders of the second' "$(sql 'SELECT count(*) FROM intents')" 0
    kill_ferry KILL
    SERVER=$first_server SOCKET=$first_socket STATE=$first_state FERRY_PROCESS=$first_process
    ;;
esac
