#!/bin/bash
# autostart: it is set on the target as it was on the source; an edit of the definition during the migration is reported
# cases: carried killed
# full: edited transient
# long: carried=25 killed=25
. "$(dirname "$0")/testlib.sh"
first_hosts 2

autostart_of() { host_virsh "$1" dominfo g-auto 2>/dev/null | awk '/^Autostart:/ {print $2}'; } # HOST
events_of() { sql "SELECT count(*) FROM events WHERE uid = '$(uid_of "$job")' AND reason = '$1'"; } # REASON

GUESTS+=(g-auto)
guest_xml g-auto 64 'ws=8 rate=2 hb=200' >"$LAB/g-auto.xml"
rm -f "$LAB"/h?/log/g-auto.serial
if [ "${1:-}" = transient ]; then
    host_virsh h1 create "$LAB/g-auto.xml"
else
    host_virsh h1 define "$LAB/g-auto.xml"
    host_virsh h1 autostart g-auto
    host_virsh h1 start g-auto
    assert_equal 'autostart on the source' "$(autostart_of h1)" enable
fi
await_guests h1 g-auto
start_ferry
wait_condition g-auto LiveMigratable 'True '
job=$(migrate g-auto h2 8)
wait_until 30 pass_reached h1 g-auto 1 || fail 'no pass began'
case ${1:-} in
carried | transient) ;;
killed) kill9_ferry && sleep 0.5 && start_ferry ;;
edited)
    uuid=$(host_virsh h1 domuuid g-auto)
    sed "s|<name>g-auto</name>|&<uuid>$uuid</uuid><title>edited on its way</title>|" "$LAB/g-auto.xml" >"$LAB/g-edit.xml"
    host_virsh h1 define "$LAB/g-edit.xml"
    ;;
esac
wait_final "$job" 90
assert_job "$job" .status.phase Succeeded
assert_runs_on h2 g-auto
note "$(sql "SELECT reason, message FROM events WHERE uid = '$(uid_of "$job")'")"
if [ "${1:-}" = transient ]; then
    assert_equal 'orders' "$(sql "SELECT count(*) FROM intents WHERE action = 'set-autostart'")" 0
else
    assert_equal 'autostart on the target' "$(autostart_of h2)" enable
    assert_equal 'orders' "$(sql "SELECT count(*) FROM intents WHERE action = 'set-autostart' AND node = 'h2' AND status = 'done'")" 1
    assert_equal 'events' "$(events_of AutostartSet) $(events_of AutostartNotSet)" '1 0'
fi
if [ "${1:-}" = edited ]; then
    host_virsh h2 dumpxml --inactive g-auto | grep -q 'edited on its way' && fail 'the edit arrived after all'
    assert_equal 'events about the edit' "$(events_of DefinitionEdited) $(events_of DefinitionEditNotCarried)" '1 1'
else
    assert_equal 'events about an edit' "$(events_of DefinitionEdited) $(events_of DefinitionEditNotCarried)" '0 0'
fi
guest_check h2 g-auto
