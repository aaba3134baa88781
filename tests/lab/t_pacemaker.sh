#!/bin/bash
# pacemaker: a real cluster decides, Ferry moves its guest; never two copies, never another answer than what is so
# full: moves ferry_down ferry_down_virsh ferry_killed ferry_away kill_target_libvirtd power power_fenced execd
# long: moves=300 power=200 power_fenced=200 ferry_killed=120 ferry_away=120 ferry_down=120 kill_target_libvirtd=120 execd=120
#
# Each case has a lab of its own: two nodes of the root debian13-pacemaker (make lab-roots ROOT=debian13-pacemaker).
. "$(dirname "$(readlink -f "$0")")/lib.sh"
CASE=${1:?which case}
root=debian13-pacemaker
if ! root_exists $root; then
    say "skipped: no root '$root' in $LAB_ROOTS (make lab-roots ROOT=$root)"
    exit 77
fi
if ! command -v xmllint >/dev/null; then
    say 'skipped: not installed: xmllint'
    exit 77
fi
LAB_TEST=${LAB_TEST:0:14}-p
trap '"$LAB_SCRIPTS/down" --name "$LAB_TEST" --quiet' EXIT
KEEPALIVE_INTERVAL=1 "$LAB_SCRIPTS/up" --hosts 2 --name "$LAB_TEST" --root $root || exit 1
. "$(dirname "$(readlink -f "$0")")/testlib.sh"
. "$LAB_SCRIPTS/pacemaker.sh"
UNDO+=('cp "$(pacemaker_log h1)" "$TEST_DIR/pacemaker-h1.log"; cp "$(pacemaker_log h2)" "$TEST_DIR/pacemaker-h2.log"; "$LAB_SCRIPTS/down" --name "$LAB_TEST" --quiet')
trap 'show; fail "command failed: $BASH_COMMAND"' ERR

SMALL='ws=8 rate=2 fill=16 hb=200'
SLOW='ws=4 rate=1 fill=64 hb=200' # at 4 MiB/s it moves for 16 s

# moved TO: by the cluster's word, by both hosts', by the guest's own
moved() {
    settled
    cluster_says "Started $1" || fail "not on $1: $(status)"
    assert_runs_on "$1" $GUEST
    guest_check "$1" $GUEST
    assert_one_life
}
untouched_on() { # HOST: the cluster is blocked, and the guest lives as before
    wait_until 30 cluster_says blocked || fail "not blocked: $(status)"
    sleep 3
    assert_runs_on "$1" $GUEST
    guest_check "$1" $GUEST
    assert_one_life
}
# After a block: the cluster looks where the guest is, and goes on from there.
refreshed() { # HOST
    cluster crm_resource --clear -r $GUEST >/dev/null 2>&1
    note 'crm_resource --refresh'
    cluster crm_resource --refresh -r $GUEST >/dev/null 2>&1
    wait_until 30 cluster_says "Started $1" || fail "after the refresh: $(status)"
    settled
    assert_runs_on "$1" $GUEST
    guest_check "$1" $GUEST
    assert_one_life
}

case $CASE in
moves)
    begin_cluster "$SMALL" 64Mi
    text=$(ferry migrate $GUEST --to h2 2>&1) && fail "Ferry took its guest from Pacemaker: $text"
    note "$text"
    [[ $text == *ManagedElsewhere* ]] || fail 'refused for another reason'
    for ((i = 1; i <= 10; i++)); do
        to=h$((i % 2 + 1))
        ask_move $to
        moved $to
        end_move
        job=$(newest_job $GUEST)
        assert_job "$job" .status.phase Succeeded
        assert_job "$job" .status.migrationState.targetNode $to
        echo "$job" >>"$TEST_DIR/names"
    done
    moved h1
    assert_equal 'migrations' "$(sort -u "$TEST_DIR/names" | wc -l)" 10
    assert_equal 'boots' "$(boots)" 1
    ;;
ferry_down)
    begin_cluster "$SMALL" 64Mi
    kill9_ferry
    ask_move h2
    untouched_on h1
    agent_answer >&2
    start_ferry
    refreshed h1
    ask_move h2
    moved h2
    ;;
ferry_down_virsh)
    begin_cluster "$SMALL" 64Mi ferry_down=virsh
    kill9_ferry
    ask_move h2
    moved h2
    said 'is migrated without it' >&2 || fail 'the agent did not say so'
    ;;
ferry_away) # killed in mid-move and not there when the agent must answer: libvirt finishes the move
    MOVE_TIMEOUT=20
    begin_cluster "$SLOW" 4Mi
    in_mid_move
    kill9_ferry
    wait_until 60 answered || fail 'the agent does not answer'
    agent_answer >&2
    said 'has no outcome yet' >/dev/null || fail 'the agent says something else'
    wait_until 60 not_here h1 $GUEST || fail "h1: $(guest_state h1 $GUEST)"
    untouched_on h2
    refreshed h2
    start_ferry
    wait_final "$job" 60
    assert_job "$job" .status.phase Succeeded
    ;;
ferry_killed)
    begin_cluster "$SLOW" 4Mi
    in_mid_move
    kill9_ferry
    sleep 2
    start_ferry
    wait_final "$job" 90
    note "$(phase_of "$job")"
    assert_job "$job" .status.phase Succeeded
    moved h2
    agent_answer >&2
    ;;
kill_target_libvirtd)
    begin_cluster "$SLOW" 4Mi
    in_mid_move
    break_host kill-libvirtd h2
    wait_until 90 answered || fail 'the agent does not answer'
    agent_answer >&2
    show
    heal h2
    wait_final "$job" 90
    untouched_on h1
    refreshed h1
    ;;
power | power_fenced)
    [ $CASE = power ] || FENCING=1
    begin_cluster "$SLOW" 4Mi
    in_mid_move
    began=$SECONDS
    power_off h2
    BROKEN+=(h2) # of which nothing is known
    wait_until 90 answered || fail 'the agent does not answer'
    note "the agent answered after $((SECONDS - began)) s: $(agent_answer)"
    BROKEN=()
    sleep 15 # all that the cluster wants to do now
    show
    [ -z "${FENCING:-}" ] || ls "$LAB"/fence/*.ok >&2 || fail 'h2 was not fenced'
    wait_final "$job" 60
    cluster_says blocked || fail "not blocked: $(status)"
    guest_check h1 $GUEST
    power_on h2
    wait_until 60 nodes_online || fail "h2 does not come back: $(status)"
    untouched_on h1
    refreshed h1
    ask_move h2
    moved h2
    ;;
execd)
    begin_cluster "$SLOW" 4Mi
    in_mid_move
    host_run h1 pkill -KILL -x pacemaker-execd
    wait_until 90 answered || fail 'the agent does not answer'
    agent_answer >&2
    wait_final "$job" 90
    moved h2
    ;;
*) fail "no case '$CASE'" ;;
esac
