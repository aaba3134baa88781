#!/bin/bash
# blind: statistics are missing in a healthy post-copy: Ferry measures otherwise, breaks nothing, and asks an operator when nothing can be measured
# full: measured unmeasured
# long: measured=90 unmeasured=130
. "$(dirname "$0")/testlib.sh"
. "$(dirname "$0")/stages.sh"
trap 'note "events:"; events >&2; fail "command failed: $BASH_COMMAND"' ERR

asks_operator() { metrics | grep '^ferry_migration_recovery_state{.*state="unknown".* 1$' >&2; } # what FerryPostCopyNotRecovered fires on
was_asked() { grep -s custom-monitor "$LAB/h1/log/qemu/g-f.log" >&2; } # libvirt's note in QEMU's log
no_order_broke_it() {
    [[ $(intents) != *pause-stream* && $(intents) != *recover* && $(intents) != *kill-stream* ]] || fail "orders: $(intents)"
}

WORK='ws=48 rate=10 hb=200' SPEED=6Mi begin_postcopy 512Ki
wait_until 60 mode_is PostCopy || fail 'no post-copy'
sleep 2
# QEMU on the source answers nobody, libvirtd knows the guest's state, and the stream is whole.
"$LAB_SCRIPTS/fault" --name "$LAB_NAME" stop-qemu h1 g-f
UNDO+=("\"$LAB_SCRIPTS/fault\" --name \"$LAB_NAME\" cont-qemu h1 g-f 2>/dev/null || true")
case ${1:-} in
measured) # for half a minute: QEMU is asked, nothing is ended, nobody is called
    sleep 35
    ! asks_operator || fail 'an operator is asked after 35 s'
    ;;
unmeasured)
    wait_until 90 asks_operator || fail "nobody is asked: $(job_field "$job" .status.ferry.pending.message)"
    note "pending: $(job_field "$job" .status.ferry.pending.message)"
    waits_for 'nothing is ordered' || fail 'it does not say so'
    ;;
esac
is_phase "$job" Running || fail "the post-copy is over: $(phase_of "$job")"
no_order_broke_it
"$LAB_SCRIPTS/fault" --name "$LAB_NAME" cont-qemu h1 g-f
wait_until 20 was_asked || fail 'QEMU was not asked'
wait_final "$job" 150
note "orders: $(intents)"
events >&2
no_order_broke_it
assert_job "$job" .status.phase Succeeded
assert_runs_on h2 g-f
guest_check h2 g-f
! asks_operator || fail 'still an operator is asked'
