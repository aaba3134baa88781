#!/bin/bash
# postcopy_target: no post-copy is ordered at a target whose libvirtd hangs, and no guest is lost
# cases: early
# full: late run_3 run_4 run_5 run_6 run_7 run_8 run_9 run_10
#
# The daemon stops a few seconds before the switch would be due and goes on after 8 s. Ordered in
# between, post-copy works, libvirt's keepalive (here 5 s) gives the target up, and the daemon that
# wakes up destroys the guest, which runs there by then. When the switch was not due in time, on a
# busy machine, the same is tried again with a later stop.
. "$(dirname "$0")/testlib.sh"
. "$(dirname "$0")/stages.sh"

case ${1:-early} in # seconds from the first pass; the switch is due after about 11
early) wait_s=8 ;;
late) wait_s=10 ;;
*) wait_s=$((7 + ${1#run_} % 4)) ;;
esac

refused() { [ "$(sql "SELECT count(*) FROM events WHERE uid = '$(uid_of "$job")' AND reason = 'PostCopyRefused'")" -ge 1 ]; }
orders() { sql "SELECT count(*) FROM intents WHERE job_uid = '$(uid_of "$job")' AND action = 'start-postcopy'"; }
not_ordered() { [ "$(orders)" = 0 ] || fail "post-copy was ordered at a daemon that does not answer: $(intents)"; }

# False: the switch was not due while the daemon was stopped.
stop_before_switch() {
    local stopped
    wait_until 30 pass_reached h1 g-f 1 || fail 'no pass began'
    sleep "$wait_s.$((RANDOM % 10))"
    [ "$(orders)" = 0 ] || return 1
    break_host stop-libvirtd h2
    stopped=$SECONDS
    if [ "$(orders)" != 0 ]; then # given while the daemon was being stopped: it still answered
        heal h2
        return 1
    fi
    while [ $((SECONDS - stopped)) -lt 8 ]; do
        not_ordered
        sleep 0.2
    done
    heal h2
    refused
}

begin_postcopy
for attempt in 1 2 3 4; do
    ! stop_before_switch || break
    [ $attempt != 4 ] || fail 'the switch to post-copy was never due while the daemon was stopped'
    note 'the switch was not due; once more'
    if [ "$(orders)" = 0 ]; then wait_s=$((wait_s + 1)); else wait_s=$((wait_s - 2)); fi
    wait_final "$job" 120
    if runs_here h2 g-f; then # it had been ordered before; back to where it was
        job=$(ferry migrate g-f --to h1 -o name) && job=${job#*/}
        wait_final "$job" 120
    fi
    job=$(ferry migrate g-f --to h2 -o name) && job=${job#*/}
done
wait_final "$job" 120
events >&2
note "outcome: $(job_field "$job" .status.phase), $(job_field "$job" .status.ferry.guestAt); $(intents)"
if [ "$(job_field "$job" .status.phase)" = Succeeded ]; then at=h2; else at=h1; fi
assert_runs_on "$at" g-f
guest_check "$at" g-f
