#!/bin/bash
# port_refused: the target refuses the migration port; the guest stays, the error is kept
. "$(dirname "$0")/testlib.sh"

boot h1 g-refused 64 'ws=8 rate=1 hb=200'
break_host refuse-port h2
start_ferry
job=$(migrate g-refused h2 4)
wait_final "$job" 20
assert_failed "$job" h1 g-refused
assert_verdict "$job" data-connect-failed data
uid=$(uid_of "$job")
assert_observation "$uid" target 'absent .*'
assert_equal 'error' "$(sql "SELECT error_hv_code, error_hv_domain, error_text FROM jobs WHERE uid = '$uid'")" \
    '38\|7\|.*:49[0-9]*.*refused.*'
heal h2
job=$(migrate g-refused h2 64)
wait_final "$job" 30
assert_job "$job" .status.phase Succeeded
guest_check h2 g-refused
