#!/bin/bash
# policy: a guest's label chooses a policy; its limit is frozen at hand-off, shown, and kept to by the hosts
. "$(dirname "$0")/testlib.sh"
first_hosts 2
MIB=1048576

policy() { # NAME LABEL BANDWIDTH
    ferry apply -f - <<<"{apiVersion: migrations.kubevirt.io/v1alpha1, kind: MigrationPolicy, metadata: {name: $1},
        spec: {selectors: {virtualMachineInstanceSelector: {tier: $2}}, bandwidthPerMigration: $3}}"
}
frozen() { job_field "$1" '.status.migrationState | .migrationPolicyName + " " + (.migrationConfiguration.bandwidthPerMigration | tostring)'; }
# fastest UID: MiB/s between two samples at least a second apart: what the source says it sent, not what it was told
fastest() {
    samples "SELECT CAST(coalesce(max((b.data_processed - a.data_processed) * 1000.0 / (b.at_ms - a.at_ms)), 0) / $MIB AS INTEGER)
        FROM samples a JOIN samples b ON a.job_uid = b.job_uid AND b.at_ms - a.at_ms BETWEEN 1000 AND 3000 AND b.source = a.source WHERE a.job_uid = '$1'"
}

boot_as h1 g-gentle 48 'ws=8 rate=1 fill=32 hb=200' "$(with_metadata "<ferry:label key='tier' value='gentle'/>")"
start_ferry
wait_condition g-gentle LiveMigratable 'True '
policy gentle gentle 6Mi
policy other strong 1Mi
ferry check g-gentle -o json | jq -e '.policy.name == "gentle" and ([.policy.candidates[] | select(.matches) | .name] == ["gentle"])' >/dev/null ||
    fail "check says: $(ferry check g-gentle)"
job=$(ferry migrate g-gentle -o name)
job=${job#*/}
wait_phase "$job" Running 20
assert_equal 'what is frozen' "$(frozen "$job")" "gentle $((6 * MIB))|gentle 6Mi"
want=$(frozen "$job")

policy gentle gentle 512Mi # while it runs: for the next one
[ "$(phase_of "$job")" = Running ] || fail "it was over before the policy changed: $(phase_of "$job")"
wait_final "$job" 60
assert_job "$job" .status.phase Succeeded
assert_equal 'what was frozen' "$(frozen "$job")" "$want"
ferry describe vmim "$job" | grep -q 'gentle' || fail "describe does not name the policy: $(ferry describe vmim "$job")"
uid=$(uid_of "$job")
note "fastest second: $(fastest "$uid") MiB/s of $(samples "SELECT count(*) FROM samples WHERE job_uid = '$uid'") samples"
[ "$(fastest "$uid")" -ge 2 ] || fail 'nothing was measured'
[ "$(fastest "$uid")" -le 8 ] || fail "$(fastest "$uid") MiB/s under a limit of 6"
assert_runs_on h2 g-gentle
guest_check h2 g-gentle

# The changed policy is the next one's, once h2 has told the guest's labels.
labelled() { [ "$(guest_field g-gentle '.status.nodeName + " " + .metadata.labels.tier')" = 'h2 gentle' ]; }
wait_until 20 labelled || fail "g-gentle: $(guest_field g-gentle '.metadata')"
job=$(ferry migrate g-gentle -o name)
job=${job#*/}
wait_final "$job" 60
assert_job "$job" .status.phase Succeeded
assert_equal 'what is frozen now' "$(frozen "$job")" "gentle $((512 * MIB))|gentle 512Mi"
guest_check h1 g-gentle
