#!/bin/bash
# poweroff: a guest that powers itself off on the target in mid post-copy ended by its own wish: nobody is paged for it
# full: -
# long: 150
. "$(dirname "$0")/testlib.sh"
. "$(dirname "$0")/stages.sh"
trap 'note "events:"; events >&2; fail "command failed: $BASH_COMMAND"' ERR

# in_postcopy_until SECONDS: the guest ends after so many seconds of its own time. False: not in post-copy. Post-copy
# begins at about 36 s and lasts until the guest has touched all it writes, about 10 s of its own time, 50 s of ours.
in_postcopy_until() {
    WORK="ws=48 rate=4 fill=48 hb=200 poweroff=$1" SPEED=3Mi begin_postcopy 512Ki
    wait_until 60 mode_is PostCopy || return 1
    note "h1: $(guest_state h1 g-f), h2: $(guest_state h2 g-f)"
    wait_until 100 not_here h2 g-f || fail "it does not power off: $(tail -n 2 "$(guest_log h2 g-f)")"
    [[ $(guest_state h1 g-f) == paused* ]] # else all of it had arrived
}
reached=''
for seconds in 42 38 46; do # on a busy machine its time is not ours
    in_postcopy_until "$seconds" && reached=1 && break
    note "after $seconds s it was not in post-copy: $(phase_of "$job")"
    wait_final "$job" 60
    stop_ferry
    rm -r "$STATE"
done
[ -n "$reached" ] || fail 'it never powered off in post-copy'
note "h1: $(guest_state h1 g-f), h2: $(guest_state h2 g-f)"
wait_final "$job" 60
note "reason: $(job_field "$job" .status.migrationState.failureReason)"
events >&2
assert_job "$job" .status.phase Failed
assert_job "$job" .status.ferry.guestAt stopped-on-target
assert_verdict "$job" guest-stopped-during-migration none
sleep 70 # nor later: what is left on the source is no stranded guest
! metrics | grep '^ferry_incident{' || fail 'somebody is paged'
