#!/bin/bash
# abort_precopy: an abort in pre-copy leaves the guest running on the source
. "$(dirname "$0")/testlib.sh"

boot h1 g-abort 64 'ws=8 rate=1 hb=200'
start_ferry
job=$(migrate g-abort h2 2)
wait_phase "$job" Running 20
wait_until 20 pass_reached h1 g-abort 1 || fail 'no first pass'

ferry abort "$job"
wait_final "$job" 10
assert_job "$job" .status.phase Failed
assert_job "$job" .status.migrationState.abortStatus Succeeded
assert_job "$job" .status.ferry.outcome aborted
assert_job "$job" .status.ferry.guestAt running-on-source
assert_verdict "$job" user-cancelled none
STATE_OF_ABORT=Succeeded assert_state "$job" h1 h2
uid=$(uid_of "$job")
assert_observation "$uid" source 'present running'
assert_observation "$uid" target 'absent .*'
assert_runs_on h1 g-abort
guest_check h1 g-abort

note 'and the guest can still move'
job=$(migrate g-abort h2 64)
wait_final "$job" 30
assert_job "$job" .status.phase Succeeded
assert_state "$job" h1 h2
assert_runs_on h2 g-abort
guest_check h2 g-abort
