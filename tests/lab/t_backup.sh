#!/bin/bash
# backup: made in mid-migration, restored after the state directory was lost; what it holds is confirmed by the hosts
# cases: running
# full: queued ended
# long: running=40 ended=40
. "$(dirname "$0")/testlib.sh"
. "$(dirname "$0")/stages.sh"

FILE=$TEST_DIR/ferry.backup
back_up() { "$FERRY" backup "$FILE" --state "$STATE" >&2; }
# lose_and_restore: the state directory is deleted, the backup takes its place
lose_and_restore() {
    kill_ferry KILL
    rm -rf "$STATE"
    "$FERRY" restore "$FILE" --state "$STATE" >&2
}
orders() { sql "SELECT count(*) FROM intents WHERE action = 'migrate'"; }

case ${1:-} in
running) # confirmed by its mark, followed to its end, not begun again
    in_precopy
    back_up
    uid=$(uid_of "$job")
    lose_and_restore
    assert_equal 'unconfirmed' "$(sql "SELECT unconfirmed FROM jobs WHERE uid = '$uid'")" 1
    start_ferry
    wait_final "$job" 90
    events >&2
    assert_job "$job" .status.phase Succeeded
    assert_job "$job" .status.ferry.adopted true
    assert_equal 'confirmed' "$(sql "SELECT count(*) FROM events WHERE uid = '$uid' AND reason = 'Confirmed'")" 1
    assert_equal 'migrate orders' "$(orders)" 1
    assert_runs_on h2 g-f
    guest_check h2 g-f
    ;;
ended) # it ended after the backup, and the guest was moved back: nothing is repeated
    in_precopy
    back_up
    wait_final "$job" 60
    first=$job
    job=$(migrate g-f h1 64)
    wait_final "$job" 60
    assert_job "$job" .status.phase Succeeded
    lose_and_restore
    start_ferry
    wait_phase "$first" 'Succeeded|Failed' 60
    job=$first
    events >&2
    assert_equal 'migrate orders' "$(orders)" 1 # the one that the backup holds
    assert_runs_on h1 g-f
    guest_check h1 g-f
    ;;
queued) # accepted and not begun at the backup: it is not begun by the restored appliance
    boot_as h1 g-f 64 'ws=8 rate=2 hb=200' "$(with_metadata "<ferry:label key='tier' value='f'/>")"
    start_ferry
    wait_condition g-f LiveMigratable 'True '
    ferry cordon h2
    job=$(migrate g-f h2 64)
    wait_phase "$job" Pending 5
    back_up
    ferry uncordon h2
    wait_final "$job" 60
    lose_and_restore
    start_ferry
    wait_final "$job" 60
    events >&2
    # Its mark may still be there when Ferry is lost: then the restored appliance knows the guest, and that it arrived.
    if is_phase "$job" Failed; then
        [[ $(job_field "$job" .status.migrationState.failureReason) == *backup* ]] || fail 'another reason'
    fi
    assert_equal 'migrate orders' "$(orders)" 0
    assert_runs_on h2 g-f
    ;;
esac
