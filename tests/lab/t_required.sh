#!/bin/bash
# required: a defined guest whose interface moves to another network is migrated, by itself and once
. "$(dirname "$0")/testlib.sh"
first_hosts 3
mac=52:54:00:0b:00:02

live_network() { host_virsh "$1" dumpxml g-defined | sed -n "s/.*<source network='\([a-z]*\)'.*/\1/p"; } # HOST
jobs_of() { api "$MIGRATIONS" | jq -r --arg g "$1" '[.items[] | select(.spec.vmiName == $g)] | length'; }
has_job() { [ "$(jobs_of "$1")" -ge 1 ]; }

for host in h1 h2; do make_network $host blue; done
for host in h1 h3; do make_network $host green; done
GUESTS+=(g-defined)
guest_xml g-defined 32 'ws=4 rate=1 fill=8 hb=200' | sed "$(with_interface blue $mac)" >"$LAB/g-defined.xml"
rm -f "$LAB"/h?/log/g-defined.serial
host_virsh h1 define "$LAB/g-defined.xml"
host_virsh h1 start g-defined
await_guests h1 g-defined
start_ferry
wait_condition g-defined LiveMigratable 'True '
assert_equal 'MigrationRequired' "$(condition g-defined MigrationRequired)" ''

uuid=$(host_virsh h1 domuuid g-defined)
sed -i "s|<name>g-defined</name>|&<uuid>$uuid</uuid>|; s/network='blue'/network='green'/" "$LAB/g-defined.xml"
host_virsh h1 define "$LAB/g-defined.xml"
wait_until 20 has_job g-defined || fail "no job; MigrationRequired is '$(condition g-defined MigrationRequired)'"
job=$(newest_job g-defined)
note "MigrationRequired: $(api "$VMIS/g-defined" | jq -c '.status.conditions[] | select(.type == "MigrationRequired")')"
wait_final "$job"
assert_job "$job" .status.phase Succeeded
assert_job "$job" .status.ferry.origin live-update
host=h3 # the only one with that network; the old one is not asked for there
assert_job "$job" .status.migrationState.targetNode $host
assert_runs_on "$host" g-defined
guest_check "$host" g-defined

# It came true, and that was the end of it.
assert_equal 'its live network' "$(live_network "$host")" green
wait_condition g-defined MigrationRequired ''
sleep 3
assert_equal 'jobs' "$(jobs_of g-defined)" 1
