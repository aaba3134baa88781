#!/bin/bash
# port_taken: where other programs listen on the ports that Ferry chooses, libvirt chooses one
. "$(dirname "$0")/testlib.sh"
. "$(dirname "$0")/stages.sh"

# The first two of the upper half; whatever listens will do.
first=$((${LAB_PORTS%-*} + (${LAB_PORTS#*-} - ${LAB_PORTS%-*} + 1) / 2))
for port in $first $((first + 1)); do start_hostd h2 "$LAB_NET.2:$port"; done
sleep 0.5
ADDRESSES=1 begin 'ws=8 rate=2 hb=200' 'allowPostCopy: true'
wait_final "$job" 60
events >&2
calls=$(sql "SELECT group_concat(epoch || ' ' || argument || ' ' || err) FROM intents
    WHERE job_uid = '$(uid_of "$job")' AND action = 'migrate' ORDER BY epoch")
sql "SELECT hv_code, hv_domain, text FROM errors WHERE job_uid = '$(uid_of "$job")'" >&2
assert_job "$job" .status.phase Succeeded
# Where libvirt's own resume kills its daemon, the port is needed more: a second one is tried.
if [[ $(libvirt_version h2) == 11.[23].* ]]; then
    assert_equal 'calls' "$calls" "1 port $first hypervisor,2 port $((first + 1)) hypervisor,3  none"
else
    assert_equal 'calls' "$calls" "1 port $first hypervisor,2  none"
fi
assert_runs_on h2 g-f
guest_check h2 g-f
