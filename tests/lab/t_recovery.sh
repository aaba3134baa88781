#!/bin/bash
# recovery: a post-copy that breaks is recovered, or flagged when half of the guest is gone
# cases: stream target_killed
# full: outage libvirtds source_killed dropped stream_again stream_2 stream_3 stream_4 stream_5 stream_6 stream_7 stream_8 stream_9 stream_10 outage_2 outage_3 outage_4 outage_5 outage_6 outage_7 outage_8 outage_9 outage_10
# long: stream=35 outage=60
#
# Broken by a dead stream or by an outage of 20 s it must come back ten times of ten.
. "$(dirname "$0")/testlib.sh"
. "$(dirname "$0")/stages.sh"

modes() { sql "SELECT group_concat(mode, ' ') FROM (SELECT mode FROM modes WHERE job_uid = '$(uid_of "$1")' ORDER BY at_ms, id)"; }
recovery_is() { [[ $(sql "SELECT recovery FROM jobs WHERE uid = '$(uid_of "$1")'") =~ ^($2)$ ]]; }

in_postcopy
began=$SECONDS
daemons() { for host in h1 h2; do host_pid "$host" libvirtd; done | tr '\n' ' '; }
daemons_before=$(daemons)
arrives() { # SECONDS
    wait_final "$job" "$1"
    note "after $((SECONDS - began)) s: $(intents)"
    sql "SELECT at_ms, reason, message FROM events WHERE uid = '$(uid_of "$job")' ORDER BY at_ms" >&2
    assert_job "$job" .status.phase Succeeded
    assert_equal 'modes' "$(modes "$job")" 'PreCopy PostCopy'
    assert_runs_on h2 g-f
    guest_check h2 g-f
    assert_verdict "$job" 'none|false-failure-report' none
}
flagged() { # SECONDS CAUSE
    wait_final "$job" "$1"
    note "after $((SECONDS - began)) s: $(job_field "$job" .status.migrationState.failureReason)"
    assert_job "$job" .status.phase Failed
    assert_job "$job" .status.ferry.outcome irrecoverable
    assert_job "$job" .status.ferry.guestAt paused-irrecoverable
    assert_verdict "$job" "$2" data 1
    assert_equal 'event' "$(sql "SELECT count(*) FROM events WHERE uid = '$(uid_of "$job")' AND reason = 'Irrecoverable' AND type = 'Warning'")" 1
}

case ${1:-} in
stream | stream_[0-9]*)
    break_host break-stream h1
    arrives 60
    assert_equal 'libvirtds' "$(daemons)" "$daemons_before" # no order ended one
    recovery_is "$job" recovered || fail "recovery: $(sql 'SELECT recovery FROM jobs')"
    ;;
outage | outage_*)
    break_host link-down h2
    sleep 20
    break_host link-up h2
    arrives 150
    ;;
dropped)
    break_host drop-port h2
    sleep 25
    heal h2
    arrives 150
    ;;
libvirtds)
    break_host kill-libvirtd h2
    sleep 2
    heal h2
    arrives 100
    ;;
target_killed)
    began_ms=$(date +%s%3N)
    break_host kill-qemu h2 g-f
    flagged 20 destination-vmm-crashed
    took=$(($(sql "SELECT max(at_ms) FROM transitions WHERE job_uid = '$(uid_of "$job")'") - began_ms)) # by Ferry's own time
    [ $took -le 6000 ] || fail "flagged only after $took ms"
    ;;
source_killed)
    break_host kill-qemu h1 g-f
    flagged 20 source-vmm-crashed
    ;;
stream_again) # broken twice
    break_host break-stream h1
    sleep 5
    break_host break-stream h1
    arrives 120
    ;;
esac
