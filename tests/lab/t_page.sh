#!/bin/bash
# page: a real fault, a real Prometheus, a real Alertmanager: the right page comes, with guest, node and cause
# cases: too_small
# full: irrecoverable stalled drain ferry_down host_down panels
# long: too_small=35 stalled=80 irrecoverable=100
#
# Nothing between the fault and the webhook is ours but alerts/ as they are shipped; only addresses and
# the scrape interval (1 s) are set. The time from fault to page is told.
# panels: after moves that work, fail, wait, stall, pause, break and recover, and a drain that is blocked, every
# panel of every dashboard has data, those that are empty in health too. FERRY_RENDER: a program that is run then.
. "$(dirname "$0")/testlib.sh"
. "$(dirname "$0")/stages.sh"
. "$(dirname "$0")/panels.sh"
# shellcheck disable=SC2154 # job: stages.sh
for tool in prometheus prometheus-alertmanager; do command -v $tool >/dev/null || { note "not installed: $tool" && exit 77; }; done
ALERTS=$LAB_SCRIPTS/../../alerts
PROM=$(free_port) MANAGER=$(free_port) HOOK=$(free_port) PAGES=$TEST_DIR/pages
: >"$PAGES"

observe() { # starts all three; they end with the test
    gcc -O1 -D_GNU_SOURCE -o "$TEST_DIR/webhook" "$LAB_SCRIPTS/webhook.c"
    sed "s/127.0.0.1:9199/127.0.0.1:$HOOK/" "$ALERTS/alertmanager.yml" >"$TEST_DIR/alertmanager.yml"
    sed "s/127.0.0.1:9178/127.0.0.1:$PORT/; s/127.0.0.1:9093/127.0.0.1:$MANAGER/; s/: 15s/: 1s/" "$ALERTS/prometheus.yml" >"$TEST_DIR/prometheus.yml"
    cp "$ALERTS/ferry.rules.yml" "$TEST_DIR/"
    "$TEST_DIR/webhook" $HOOK "$PAGES" >"$TEST_DIR/webhook.log" 2>&1 </dev/null &
    prometheus-alertmanager --config.file "$TEST_DIR/alertmanager.yml" --storage.path "$TEST_DIR/am" --cluster.listen-address= \
        --web.listen-address 127.0.0.1:$MANAGER >"$TEST_DIR/alertmanager.log" 2>&1 </dev/null &
    prometheus --config.file "$TEST_DIR/prometheus.yml" --storage.tsdb.path "$TEST_DIR/tsdb" --enable-feature=exemplar-storage \
        --web.listen-address 127.0.0.1:$PROM >"$TEST_DIR/prometheus.log" 2>&1 </dev/null &
    wait_until 30 scraped || fail "Prometheus does not scrape: $(tail -n 3 "$TEST_DIR/prometheus.log")"
}
ask() { curl -sG "http://127.0.0.1:$PROM/api/v1/query" --data-urlencode "query=$1" | jq -r '.data.result[0].value[1] // empty'; } # PROMQL
scraped() { [ "$(ask 'up{job="ferry"}')" = 1 ]; }
# pages ALERT STATUS: the labels and annotations of each that came so, one JSON object in a line
pages() { sed 's/^[^ ]* [0-9]* //' "$PAGES" | jq -c --arg a "$1" --arg s "$2" '.alerts[] | select(.labels.alertname == $a and .status == $s) | .labels + .annotations'; }
paged() { [ -n "$(pages "$1" firing)" ]; }
resolved() { [ -n "$(pages "$1" resolved)" ]; }
all_paged() { sed 's/^[^ ]* [0-9]* //' "$PAGES" | jq -r '.alerts[] | select(.status == "firing") | .labels.alertname' | sort -u | tr '\n' ' '; }
# arrives ALERT SECONDS FIELD=WANT...: it comes in that time and says these
arrives() {
    local alert=$1 field page
    wait_until "$2" paged "$alert" || fail "$alert did not come in $2 s; came: $(all_paged)"
    note "$alert came $(elapsed) s after the fault"
    page=$(pages "$alert" firing | head -n 1)
    note "$page"
    for field in "${@:3}"; do
        assert_equal "$alert ${field%%=*}" "$(jq -r --arg k "${field%%=*}" '.[$k]' <<<"$page")" "${field#*=}"
    done
    [ "$(curl -so /dev/null -w '%{http_code}' "$(jq -r .runbook_url <<<"$page")")" = 200 ] || [ "$alert" = FerryDown ] || fail "no runbook at $(jq -r .runbook_url <<<"$page")"
}
incident_open() { [ "$(ask 'ferry_incident{kind="ordinary"}')" = 1 ]; }
only() { # ALERTS that may have come, by now
    local alert
    for alert in $(all_paged); do [[ " $* " == *" $alert "* ]] || fail "$alert came too"; done
}
# only_in_the_end ALERTS: nor does another come when the dust has settled. What fires is sent after group_wait at the latest.
GROUP_WAIT=$(sed -n 's/^  group_wait: *\([0-9]*\)s$/\1/p' "$ALERTS/alertmanager.yml")
only_in_the_end() {
    [ -n "$GROUP_WAIT" ] || fail 'alertmanager.yml has no group_wait'
    sleep $((GROUP_WAIT + 5))
    only "$@"
    note "came in all: $(all_paged)"
}

case ${1:-} in
irrecoverable)
    in_postcopy
    observe
    began
    break_host kill-qemu h2 g-f
    arrives FerryGuestIrrecoverable 40 namespace=default name=g-f 'node=h[12]' plane=data cause=destination-vmm-crashed migration="$job" severity=critical
    only FerryGuestIrrecoverable FerryPostCopyBroken
    sleep 20
    ! resolved FerryGuestIrrecoverable || fail 'the page went away by itself'
    [ "$(ask 'ferry_incident{kind="irrecoverable"}')" = 1 ] || fail 'the incident is gone'
    ferry ack "$job" >&2
    wait_until 60 resolved FerryGuestIrrecoverable || fail 'the page stays although it was acknowledged'
    only_in_the_end FerryGuestIrrecoverable FerryPostCopyBroken
    ;;
stalled)
    # Ferry ends a stalled pre-copy itself after 12 s; FerryStreamStalled is due only where that takes long.
    STALL=45 in_precopy
    observe
    began
    break_host drop-port h2
    arrives FerryMigrationFailed 120 name=g-f plane=data cause=progress-stall
    only_in_the_end FerryStreamStalled FerryMigrationNotConverging FerryMigrationFailed
    ;;
too_small)
    # A guest larger than this machine: its memory is never touched.
    create_as h1 g-big "$(awk '/^MemTotal:/ {print int($2 / 1024) + 4096}' /proc/meminfo)" 'ws=4 rate=1 fill=8 hb=200' \
        '/<qemu:commandline>/,/<\/qemu:commandline>/d' "s|<vcpu>|<memoryBacking><source type='memfd'/><access mode='shared'/></memoryBacking><vcpu>|"
    await_guests h1 g-big
    start_ferry
    wait_condition g-big LiveMigratable 'True '
    observe
    began
    ferry migrate g-big --to h2 >&2
    arrives FerryMigrationFailed 60 name=g-big plane=control cause=target-unschedulable-resources
    only_in_the_end FerryMigrationFailed
    ;;
drain)
    host_run h1 mkdir -p $IMAGES
    host_run h1 truncate -s 16M $IMAGES/stays.img
    UNDO+=("host_run h1 rm -f $IMAGES/stays.img")
    boot_as h1 g-stays 64 'ws=1 rate=1 hb=500' "$(with_device "<disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='$IMAGES/stays.img'/><target dev='vda' bus='virtio'/></disk>")"
    start_ferry
    wait_condition g-stays LiveMigratable 'False DisksNotLiveMigratable'
    observe
    began
    ferry drain h1 >&2
    arrives FerryDrainBlocked 120 node=h1 severity=warning 'summary=The drain of h1 is blocked: [A-Za-z]+ 1'
    only_in_the_end FerryDrainBlocked
    ;;
ferry_down)
    start_ferry
    observe
    began
    kill9_ferry
    arrives FerryDown 180 severity=critical
    only_in_the_end FerryDown
    ;;
host_down) # what follows from a host that does not answer is kept back until it answers
    in_precopy
    observe
    began
    break_host kill-libvirtd h2
    wait_final "$job" 60
    wait_until 15 incident_open || fail 'no incident was opened'
    sleep 15 # longer than alerts wait for others of their group
    ! paged FerryMigrationFailed || fail 'FerryMigrationFailed came although h2 does not answer'
    heal h2
    arrives FerryMigrationFailed 90 name=g-f source=h1 target=h2 severity=warning
    ;;
panels)
    STARTED=$(date +%s)
    guests_for_panels
    start_ferry
    wait_condition g-stays LiveMigratable 'False DisksNotLiveMigratable'
    too_short_to_see
    observe
    assert_told_of "$job"
    fill_moves
    fill_waits
    fill_stall
    fill_switch_over
    fill_recovery
    fill_drain
    [ -z "${FERRY_RENDER:-}" ] || PROMETHEUS=http://127.0.0.1:$PROM SPAN=$(($(date +%s) - STARTED + 5)) "$FERRY_RENDER"
    assert_panels
    exemplars ferry_migration_downtime_seconds_bucket >&2
    ;;
*) fail "no case '${1:-}'" ;;
esac
