# panels.sh - for t_page.sh: a life of a small fleet in which every panel of every dashboard has something
# to show, those that are empty in health included, and the question whether it does.
# shellcheck shell=bash disable=SC2034,SC2154
DASHBOARDS=$LAB_SCRIPTS/../../dashboards

seen() { [ -n "$(ask "$1")" ]; } # PROMQL
await_seen() { wait_until "$1" seen "$2" || fail "Prometheus does not see $2"; } # SECONDS PROMQL

guests_for_panels() {
    local guest
    host_run h1 mkdir -p $IMAGES
    host_run h1 truncate -s 16M $IMAGES/stays.img
    UNDO+=("host_run h1 rm -f $IMAGES/stays.img")
    for guest in g-p1 g-p2; do boot h1 $guest 64 'ws=8 rate=4 hb=500'; done
    boot_as h1 g-f 64 'ws=24 rate=40 hb=200' "$(with_metadata "<ferry:label key='tier' value='f'/>")"
    boot_as h1 g-stays 64 'ws=1 rate=1 hb=500' "$(with_metadata '<ferry:evictionStrategy>LiveMigrate</ferry:evictionStrategy>')" \
        "$(with_device "<disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='$IMAGES/stays.img'/><target dev='vda' bus='virtio'/></disk>")"
}
too_short_to_see() { # a move that is over before anybody scrapes; sets job
    local back
    job=$(migrate g-p1 h2 64)
    wait_final "$job" 60
    assert_job "$job" .status.phase Succeeded
    back=$(migrate g-p1 h1 64)
    wait_final "$back" 60
}
exemplars() { # of a histogram: names of migrations
    curl -sG "http://127.0.0.1:$PROM/api/v1/query_exemplars" --data-urlencode "query=$1" --data-urlencode "start=$STARTED" \
        --data-urlencode "end=$(date +%s)" | jq -r '.data[].exemplars[].labels.migration' | sort -u
}
# assert_told_of MIGRATION: counters and histograms have it, its own series were never seen, and where a number
# has an exemplar its post-mortem can be opened.
assert_told_of() {
    local metric name
    [ "$(ask 'sum(ferry_migrations_total{outcome="succeeded"})')" = 2 ] || fail 'short moves were not counted'
    for metric in ferry_migration_downtime_seconds ferry_migration_duration_seconds ferry_migration_sent_memory_ratio ferry_forecast_duration_ratio; do
        [ "$(ask "sum(${metric}_count)")" = 2 ] || fail "$metric has $(ask "sum(${metric}_count)") of 2 short moves"
        for name in $(exemplars ${metric}_bucket); do
            [ "$(curl -so /dev/null -w '%{http_code}' "$SERVER/postmortem/default/$name")" = 200 ] || fail "no post-mortem of exemplar $name"
        done
    done
    [ -n "$(exemplars ferry_migration_downtime_seconds_bucket)" ] || fail 'no exemplar names a short move'
    [ -z "$(ask "ferry_migration_phase{migration=\"$1\"}")" ] || fail 'a move that is over has series'
}
fill_moves() { # one that works, one whose target dies, one that is stopped
    job=$(migrate g-p1 h2 8)
    wait_final "$job" 90
    assert_job "$job" .status.phase Succeeded
    job=$(migrate g-p2 h2 6)
    wait_until 30 pass_reached h1 g-p2 1 || fail 'no pass began'
    began
    break_host kill-qemu h2 g-p2
    wait_final "$job" 60
    arrives FerryMigrationFailed 60 name=g-p2 plane=data
    job=$(migrate g-p2 h2 4)
    wait_until 30 pass_reached h1 g-p2 1 || fail 'no pass began'
    sleep 2
    ferry abort "$job" >&2
    wait_final "$job" 60
}
fill_waits() { # one that finds no host
    ferry cordon h2 >&2
    job=$(migrate g-p2 h2 6)
    await_seen 30 'sum(ferry_jobs_waiting) > 0'
    sleep 3
    ferry abort "$job" >&2
    wait_final "$job" 30
    ferry uncordon h2 >&2
}
fill_stall() { # a stalled stream, and an abort that takes long
    job=$(migrate g-p2 h2 4)
    wait_until 30 pass_reached h1 g-p2 1 || fail 'no pass began'
    break_host drop-port h2
    await_seen 30 ferry_migration_stalled_since_timestamp_seconds
    sleep 3
    heal h2
    break_host stop-libvirtd h1
    ferry abort "$job" >&2
    await_seen 20 'ferry_migration_abort_status == 1'
    sleep 2
    heal h1
    wait_final "$job" 60
}
fill_switch_over() { # a downtime of seconds
    break_host limit h1 40mbit
    STALL=3 policy 'allowWorkloadDisruption: true, allowPostCopy: false'
    job=$(ferry migrate g-f --to h2 -o name) && job=${job#*/}
    await_seen 90 ferry_migration_guest_stopped_since_timestamp_seconds
    wait_final "$job" 120
    heal h1
    assert_job "$job" .status.phase Succeeded
}
fill_recovery() { # a post-copy that breaks and is recovered
    STALL=3 policy 'bandwidthPerMigration: 12Mi, bandwidthPostCopy: 2Mi, allowPostCopy: true'
    job=$(ferry migrate g-f --to h1 -o name) && job=${job#*/}
    wait_until 90 mode_is PostCopy || fail 'no post-copy'
    await_seen 20 'ferry_migration_postcopy_requests'
    break_host break-stream h2
    await_seen 30 'ferry_migration_recovery_state == 1'
    wait_final "$job" 120
    assert_job "$job" .status.phase Succeeded
}
fill_drain() { # one that g-stays blocks
    ferry drain h1 --deadline 5m >&2
    await_seen 60 'ferry_drain_blocked_guests > 0'
    sleep 20 # counters that grew are scraped on both sides of it
}

# filled TEXT: a query as Grafana sends it with all its variables at "All"
filled() { sed 's/\$__rate_interval/1m/g; s/\$__range/'"$1"'s/g; s/=~"\$[a-z]*"/=~".*"/g' <<<"$2"; }
# series PROMQL: how many it has since the beginning; -1: Prometheus refuses it
series() {
    curl -sG "http://127.0.0.1:$PROM/api/v1/query_range" --data-urlencode "query=$1" --data-urlencode "start=$STARTED" \
        --data-urlencode "end=$(date +%s)" --data-urlencode step=2 |
        jq 'if .status == "success" then [.data.result[] | select(any(.values[]; .[1] != "NaN"))] | length else -1 end'
}
assert_panels() { # every query of every panel and annotation has data, every variable has values
    local file title expr n asked=0 empty=0 span=$(($(date +%s) - STARTED)) metric label
    for file in "$DASHBOARDS"/*.json; do
        while IFS=$'\t' read -r title expr; do
            n=$(series "$(filled $span "$expr")")
            asked=$((asked + 1))
            [ "$n" -ge 0 ] || fail "$(basename "$file") '$title': Prometheus refuses $expr"
            [ "$n" -gt 0 ] || { note "empty: $(basename "$file") '$title': $expr" && empty=$((empty + 1)); }
        done < <(jq -r '(.panels[] | select(.type != "row") | .title as $t | .targets[] | [$t, .expr]),
            (.annotations.list[] | select(.expr) | ["annotation " + .name, .expr]) | @tsv' "$file" | sed 's/\\\\/\\/g')
        while IFS=$'\t' read -r expr label; do
            metric=$(filled $span "$expr")
            n=$(curl -sG "http://127.0.0.1:$PROM/api/v1/label/$label/values" --data-urlencode "match[]=$metric" | jq '.data | length')
            asked=$((asked + 1))
            [ "$n" -gt 0 ] || { note "no values: $(basename "$file") variable $label of $metric" && empty=$((empty + 1)); }
        done < <(jq -r '.templating.list[] | select(.type == "query") | .query.query |
            capture("label_values\\((?<metric>.*), (?<label>[a-z_]+)\\)") | [.metric, .label] | @tsv' "$file" | sed 's/\\\\/\\/g')
    done
    note "$asked queries, $empty of them empty"
    [ $empty = 0 ] || fail "$empty queries of dashboards have no data"
}
