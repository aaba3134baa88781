#!/bin/bash
# poweroff: a guest that powers itself off on the target in mid post-copy ended by its own wish: nobody is paged for it
# full: -
# long: 120
. "$(dirname "$0")/testlib.sh"
. "$(dirname "$0")/stages.sh"
trap 'note "events:"; events >&2; fail "command failed: $BASH_COMMAND"' ERR

# The guest's own time says when: on a busy machine it is not ours. Post-copy lasts until it has touched all it writes,
# twelve seconds of its time; it ends in the middle of that. An operator begins it, in the first pass, which takes 48 s
# of ours: later the guest may write so little that the migration converges.
POSTCOPY_AT=12 POWEROFF_AT=18
guest_time_is() { awk -F '[= ]' -v want="$1" '/^HB t=/ {t = $3} END {exit !(t >= want * 1000)}' "$(guest_log h1 g-f)"; } # SECONDS

WORK="ws=48 rate=4 fill=48 hb=200 poweroff=$POWEROFF_AT" SPEED=1Mi begin_postcopy 512Ki
wait_until 60 guest_time_is $POSTCOPY_AT || fail "the guest does not run: $(tail -n 2 "$(guest_log h1 g-f)")"
wait_until 20 pass_reached h1 g-f 1 || fail "no pass began: $(phase_of "$job")"
host_virsh h1 migrate-postcopy g-f
wait_until 20 mode_is PostCopy || fail "no post-copy: $(phase_of "$job")"
note "h1: $(guest_state h1 g-f), h2: $(guest_state h2 g-f)"
wait_until 100 not_here h2 g-f || fail "it does not power off: $(tail -n 2 "$(guest_log h2 g-f)")"
[[ $(guest_state h1 g-f) == paused* ]] || fail "all of it had arrived before it powered off: $(phase_of "$job")"
note "h1: $(guest_state h1 g-f), h2: $(guest_state h2 g-f)"
wait_final "$job" 60
note "reason: $(job_field "$job" .status.migrationState.failureReason)"
events >&2
assert_job "$job" .status.phase Failed
assert_job "$job" .status.ferry.guestAt stopped-on-target
assert_verdict "$job" guest-stopped-during-migration none
sleep 70 # nor later: what is left on the source is no stranded guest
! metrics | grep '^ferry_incident{' || fail 'somebody is paged'
