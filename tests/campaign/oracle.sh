# oracle.sh - what must hold at the end of every scenario, whatever was done in it; sourced after
# testlib.sh and stages.sh. It asks the hosts and the guest itself, and then compares Ferry's words with them.
# shellcheck shell=bash disable=SC2154
BOUND=40 # orders about one job, all kinds together: a repeated order backs off

# --- two running copies: watched from the first moment to the last ---

# The guest writes a heartbeat every 0.2 s while it runs. Two logs that both grow in two looks in a row are two
# running copies; around a switch-over both can grow in one look.
watch_copies() {
    local host old new both=0 grew
    declare -A old=()
    while sleep 0.5; do
        grew=()
        for host in "${LAB_HOSTS[@]}"; do
            new=$(heartbeats "$host" g-f)
            [ "${new:-0}" -le "${old[$host]:-0}" ] || grew+=("$host")
            old[$host]=$new
        done
        if [ ${#grew[@]} -gt 1 ]; then both=$((both + 1)); else both=0; fi
        [ $both -lt 2 ] || echo "$(date +%T.%3N) ${grew[*]}" >>"$TEST_DIR/two-copies"
    done
}
watch_copies 2>/dev/null &

# --- Ferry's absence ---

ferry_pid() { echo "${FERRY_PROCESS%% *}"; }
ferry_frozen() { # SECONDS
    note "ferry is stopped for $1 s"
    kill -STOP "$(ferry_pid)"
    sleep "$1"
    kill -CONT "$(ferry_pid)"
}
gone_for() { kill9_ferry && sleep "$1"; } # SECONDS
back() { start_ferry; }

evicts() { write_config && echo 'evictionStrategy: LiveMigrate' >>"$TEST_DIR/ferry.yaml"; } # a drain moves guests

# --- the end ---

place() { # where the guest runs, by the hosts' own word; "nowhere", or several
    local host at=()
    for host in "${LAB_HOSTS[@]}"; do ! runs_here "$host" g-f || at+=("$host"); done
    echo "${at[*]:-nowhere}"
}
copies() { # every host that has it in any active state: "h1=paused (user)"
    local host state
    for host in "${LAB_HOSTS[@]}"; do
        state=$(guest_state "$host" g-f)
        [[ $state =~ ^(absent|shut\ off) ]] || echo "$host=$state"
    done | paste -sd ' '
}
api_says() { guest_node_is g-f "$1"; }
no_two_copies() { [ ! -s "$TEST_DIR/two-copies" ] || fail "two copies ran: $(cat "$TEST_DIR/two-copies")"; }
alive() { # every daemon that the scenario healed runs
    local host
    for host in "${LAB_HOSTS[@]}"; do host_pid "$host" libvirtd >/dev/null || fail "libvirtd of $host is gone"; done
}
incidents() { metrics | sed -n 's/^ferry_incident{\(.*\)} 1.*/\1/p' | grep 'guest="g-f"' || true; }
paged() { incidents | grep -q "kind=\"$1\""; }
not_paged() { # KIND|KIND
    ! incidents | grep -E "kind=\"($1)\"" >&2 || fail "paged: $(incidents)"
}
orders_bounded() {
    local most
    most=$(sql "SELECT coalesce(max(n), 0) FROM (SELECT count(*) AS n FROM intents GROUP BY job_uid)")
    [ "$most" -le $BOUND ] || fail "$most orders about one job: $(sql 'SELECT action, count(*) FROM intents GROUP BY action')"
}
# says_the_truth: the job's words against the hosts'. FROM and TO are the job's own.
says_the_truth() {
    local at=$1 says reason
    says=$(job_field "$job" .status.ferry.guestAt)
    reason=$(job_field "$job" .status.migrationState.failureReason)
    note "job: $(phase_of "$job"), $says, '$reason'; runs on: $at; $(copies)"
    case $says in
    running-on-source) [[ $at == "${FROM:-h1}" || $(copies) == "${FROM:-h1}=paused (user)" ]] || fail "it says running-on-source; the guest runs on $at" ;;
    running-on-target) [[ $at == "${TO:-h2}" ]] || fail "it says running-on-target; the guest runs on $at" ;;
    lost) [ "$at" = nowhere ] || fail "it says lost; the guest runs on $at" ;;
    esac
    if [ "$(phase_of "$job")" = Succeeded ] && [ "$at" = "${FROM:-h1}" ]; then fail 'Succeeded, and the guest is on the source'; fi
}
# settles FATE SECONDS [CAUSES]: the job is final, the guest where it must be, its memory whole, and the verdict one of
# CAUSES (a pattern; "!X": anything but X). FATE: source, target, either, paused-source, nowhere.
settles() {
    local fate=$1 causes=${3:-} at cause
    wait_final "$job" "$2"
    note "final after $(elapsed) s: $(job_field "$job" .status.ferry.outcome), $(intents)"
    for host in "${BROKEN[@]}"; do heal "$host"; done
    alive
    at=$(place)
    says_the_truth "$at"
    case $fate in
    source) assert_runs_on "${FROM:-h1}" g-f ;;
    target) assert_runs_on "${TO:-h2}" g-f ;;
    either) [[ $at == h1 || $at == h2 ]] || fail "the guest runs on: $at" ;;
    paused-source) assert_equal 'copies' "$(copies)" 'h1=paused \(user\)' && resumed h1 && at=h1 ;;
    nowhere) [ -z "$(copies)" ] || fail "the guest is on $(copies)" ;;
    *) fail "no fate '$fate'" ;;
    esac
    if [ "$fate" != nowhere ]; then
        guest_check "$at" g-f
        [ "$fate" = paused-source ] || wait_until 10 api_says "$at" || fail "the API says $(guest_field g-f .status.nodeName)"
        not_paged 'lost|split|irrecoverable'
    fi
    orders_bounded
    no_two_copies
    [ -n "$causes" ] || return 0
    wait_until 3 has_verdict "$job" || fail "$job has no verdict"
    cause=$(job_field "$job" .status.ferry.verdict.cause)
    note "verdict: $cause"
    case $causes in
    !*) [[ ! $cause =~ ^(${causes#!})$ ]] || fail "the verdict is $cause" ;;
    *) assert_equal verdict "$cause" "$causes" ;;
    esac
}
resumed() { note "$1 resumes it" && host_virsh "$1" resume g-f >&2; } # HOST: the operator, not Ferry
trap 'note "events:"; events >&2; fail "command failed: $BASH_COMMAND"' ERR
