# play.sh - plays stories: a story is a command, the status it ends with and what it prints. Sourced; the caller sets
# WORK (a directory), SOCKET (the appliance's), KUBECONFIG, kubectl (the program) and version (of it). Works under set -e.
# shellcheck shell=bash disable=SC2034,SC2154
ALL_VERSIONS='1.20 1.32 1.33 1.36'
passed=0 failed=0
bad() { failed=$((failed + 1)) && echo "FAILED $*"; }
ask() { # PATH [curl arguments]: an answer of the appliance, by its socket
    curl -sS -m 10 --unix-socket "$SOCKET" "http://localhost$1" "${@:2}"
}
# k ARGUMENT...: the kubectl at hand
k() { timeout 60 "$kubectl" --cache-dir "$WORK/cache.$version" "$@"; }
# holds NAME STATUS OUT ERR COMMAND...: OUT and ERR are extended expressions over the whole text, in which "\n" is the end
# of a line; OUT "" takes any, ERR "" none.
holds() {
    local name=$1 status=$2 out=$3 err=$4 got=0
    shift 4
    [[ "$version $name" =~ ${pattern:-.} ]] || return 0
    "$@" >"$WORK/out" 2>"$WORK/err" || got=$?
    if [ "$got" = "$status" ] && [[ $(cat "$WORK/out" && echo .) =~ ${out//\\n/$'\n'} ]] &&
        { [ -n "$err" ] || [ ! -s "$WORK/err" ]; } && [[ $(cat "$WORK/err") =~ $err ]]; then
        passed=$((passed + 1))
        return
    fi
    bad "$version $name: status $got (want $status)"
    sed 's/^/    out: /' "$WORK/out" | head -n 12
    sed 's/^/    err: /' "$WORK/err" | head -n 12
}
at_least() { [ "$(printf '%s\n%s\n' "$1" "$version" | sort -V | head -n 1)" = "$1" ]; } # VERSION
said_version() { "$1" version --client 2>&1 | grep -oE 'v1\.[0-9]+' | head -n 1 | tr -d v; } # PROGRAM
