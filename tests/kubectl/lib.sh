# lib.sh - an appliance over a simulated fleet for the tests of this folder; sourced. WORK is a directory that goes
# with the test, SOCKET the appliance's, PORT the https port, KUBECONFIG an admin's. FERRY names the program.
set -uo pipefail
HERE=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
cd "$HERE/../.." || exit 1
FERRY=$(readlink -m "${FERRY:-build/gcc/ferry}")
WORK=$(mktemp -d) appliance="" passed=0 failed=0 A=a B=b C=c LOG_SAYS='qemuLogDir'
SOCKET=$WORK/s
export KUBECONFIG=$WORK/kubeconfig HOME=$WORK/home
mkdir -p -m 750 "$WORK/state" "$HOME"
. "$HERE/play.sh"
trap 'stop_ferry; rm -rf "$WORK"' EXIT
trap 'exit 130' INT TERM

free_port() { # one that nobody listens on
    local port
    for port in $(shuf -i 20000-29999 -n 50); do
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port" && return; }
    done
    return 1
}
PORT=${PORT:-$(free_port)}
# start_ferry: the fleet of fleet.yaml, ended ones of an earlier start included. Its helper writes the kubeconfig once.
start_ferry() {
    "$FERRY" serve --simulate "$HERE/fleet.yaml" --state "$WORK/state" --listen "https://127.0.0.1:$PORT" --socket "$SOCKET" \
        >>"$WORK/log" 2>&1 &
    appliance=$!
    local i
    for i in $(seq 200); do
        curl -sf -m 1 -o /dev/null --unix-socket "$SOCKET" http://localhost/readyz && break
        kill -0 "$appliance" 2>/dev/null || { tail -n 5 "$WORK/log" >&2 && exit 1; }
        sleep 0.05
    done
    [ -s "$KUBECONFIG" ] || "$FERRY" kubeconfig --server "unix:$SOCKET" --role admin --url "https://127.0.0.1:$PORT" >"$KUBECONFIG" ||
        exit 1
}
stop_ferry() {
    [ -n "$appliance" ] || return 0
    kill "$appliance" 2>/dev/null
    wait "$appliance" 2>/dev/null
    appliance=""
}
note() { echo "  $*"; }
# stop_ferry_checked: the appliance must still be there.
stop_ferry_checked() {
    kill -0 "$appliance" 2>/dev/null || { bad 'the appliance ended:' && tail -n 5 "$WORK/log"; }
    ! grep -E '"level":"(ERROR|error)"|internal' "$WORK/log" | head -n 3 || true
    stop_ferry
}
