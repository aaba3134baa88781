# state.jq - what is wrong with the migrationState of an ended migration, line by line; assert_state
# in testlib.sh gives the job, its guest, and what must be said of it.
def flat: [paths(type != "object" and type != "array") as $p | {key: ($p | map(tostring) | join(".")), value: getpath($p)}] | from_entries;
def bytes: if type == "string" and test("^[0-9]+[KMG]i$")
    then (.[:-2] | tonumber) * ({Ki: 1024, Mi: 1048576, Gi: 1073741824}[.[-2:]]) else . end;
def is($name; $want): if .[$name] == $want then empty else "\($name) is \(.[$name]), want \($want)" end;
def like($name; $pattern): if (.[$name] // "") | test("^(\($pattern))$") then empty
    else "\($name) is \(.[$name]), want \($pattern)" end;
def stamp: "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z";
def launcher: "virt-launcher-\($job.spec.vmiName)-[a-z0-9]{5}";
def failed: $job.status.phase == "Failed";
def true_or_absent($yes): if $yes then true else null end;
def or_absent: if . == "" then null else . end;

def keys_wanted: ["migrationUid", "startTimestamp", "endTimestamp", "sourceNode", "sourcePod", "targetNode",
    "targetPod", "targetNodeDomainDetected", "targetNodeDomainReadyTimestamp", "migrationConfiguration", "mode", "completed"]
    + (if $address == "" then [] else ["targetNodeAddress"] end)
    + (if $port == "" then [] else ["targetDirectMigrationNodePorts"] end)
    + (if $policy == "" then [] else ["migrationPolicyName"] end)
    + (if failed then ["failed", "failureReason"] else [] end)
    + (if $abort == "" then [] else ["abortRequested", "abortStatus"] end);

def state_mistakes:
    is("migrationUid"; $job.metadata.uid),
    is("sourceNode"; $source), like("sourcePod"; launcher),
    is("targetNode"; $target), like("targetPod"; launcher), is("targetNodeAddress"; $address | or_absent),
    (if .sourcePod == .targetPod then "both launchers are \(.sourcePod)" else empty end),
    (if ($port == "") == (.targetDirectMigrationNodePorts == null) then empty
     else "the port is \(.targetDirectMigrationNodePorts), want \($port)" end),
    like("startTimestamp"; stamp), like("endTimestamp"; stamp),
    (if .startTimestamp <= .endTimestamp and .startTimestamp >= $job.metadata.creationTimestamp then empty
     else "created \($job.metadata.creationTimestamp), began \(.startTimestamp), ended \(.endTimestamp)" end),
    (if failed or .targetNodeDomainDetected then empty else "the guest was not seen at the target" end),
    (if has("targetNodeDomainReadyTimestamp") then like("targetNodeDomainReadyTimestamp"; stamp) else empty end),
    is("completed"; true), is("failed"; true_or_absent(failed)),
    (if failed then like("failureReason"; ".+") else is("failureReason"; null) end),
    is("abortRequested"; true_or_absent($abort != "")), is("abortStatus"; $abort | or_absent),
    is("mode"; $modes | split(" ") | last), is("migrationPolicyName"; $policy | or_absent),
    ((keys - keys_wanted)[] | "\(.) should not be there"),
    ((.migrationConfiguration | flat) as $frozen | $set | flat | to_entries[]
        | select(($frozen[.key] | bytes) != (.value | bytes))
        | "\(.key) is frozen as \($frozen[.key]), the policy says \(.value)"),
    (.migrationConfiguration | flat | keys as $have
        | ("bandwidthPerMigration", "completionTimeoutPerGiB", "maxDowntimeMs", "allowPostCopy", "allowAutoConverge",
           "progressTimeout", "parallelConnections", "monitor", "experimental.stallDetector.stallMargin")
        | select(. as $key | $have | index($key) == null) | "\(.) is not frozen");

def history_mistakes: # of .status.ferry
    (.modeHistory // []) as $h
    | (if ($h | map(.mode) | join(" ")) == $modes then empty else "history is \($h), want \($modes)" end),
      ($h[] | select((.at // "" | test("^\(stamp)$") | not) or .cause == null) | "history: \(.)"),
      (if $h == ($h | sort_by(.at)) then empty else "history is not in order: \($h)" end);

[({job: $job, guest: $vmi} | to_entries[] | .key as $of
    | .value.status | (.migrationState | state_mistakes), (.ferry | history_mistakes) | "\($of): \(.)"),
 (if $job.status.migrationState == $vmi.status.migrationState then empty else "job and guest differ" end),
 (if $vmi.status.nodeName == (if failed then $source else $target end) then empty
  else "the guest is on \($vmi.status.nodeName)" end)]
| join("; ")
