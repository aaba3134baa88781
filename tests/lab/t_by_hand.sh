#!/bin/bash
# by_hand: the commands of the runbook FerryDown, while no appliance runs; the next one finds what was done
# full: downtime abort resume postcopy
# long: downtime=40 postcopy=60
. "$(dirname "$0")/testlib.sh"
. "$(dirname "$0")/stages.sh"

job_runs() { host_virsh h1 domjobinfo g-f 2>/dev/null | grep -q 'Operation:.*Outgoing migration'; }
no_job() { ! job_runs; }
is_broken() { [[ $(guest_state h1 g-f) == paused*post-copy* ]]; }
# The target notices a broken stream later than the source, and refuses until then.
resumed() {
    not_here h1 g-f ||
        host_virsh h1 migrate g-f qemu+tcp://h2/system --p2p --live --postcopy --postcopy-resume >&2 ||
        not_here h1 g-f
}
# comes_back PHASE HOST: the next appliance finds what became of it
comes_back() {
    start_ferry
    wait_final "$job" 60
    events >&2
    assert_job "$job" .status.phase "$1"
    assert_runs_on "$2" g-f
    guest_check "$2" g-f
}

case ${1:-} in
downtime) # left at 1 ms it does not end
    begin 'ws=32 rate=40 hb=200' 'bandwidthPerMigration: 8Mi, allowPostCopy: false'
    wait_until 30 pass_reached h1 g-f 1 || fail 'no pass began'
    kill_ferry KILL
    host_virsh h1 migrate-setmaxdowntime g-f 1
    sleep 12
    job_runs || fail 'it ended at a max downtime of 1 ms'
    host_virsh h1 domstate g-f --reason >&2
    host_virsh h1 metadata g-f --uri urn:ferry:migration:1 >&2
    host_virsh h1 migrate-setmaxdowntime g-f 10000 # this one writes faster than its stream
    wait_until 40 not_here h1 g-f || fail 'it did not end'
    comes_back Succeeded h2
    ;;
abort)
    in_precopy
    kill_ferry KILL
    host_virsh h1 domjobabort g-f
    wait_until 20 no_job || fail 'the job still runs'
    comes_back Failed h1
    ;;
resume) # paused for its switch-over, and the migration ended by hand
    begin_paused
    wait_until 60 mode_is Paused || fail 'it was not paused'
    kill_ferry KILL
    host_virsh h1 domjobabort g-f || note 'it had ended'
    wait_until 20 no_job || fail 'the job still runs'
    note "$(guest_state h1 g-f), $(guest_state h2 g-f)"
    if ! not_here h2 g-f; then
        runs_here h2 g-f || fail "h2: $(guest_state h2 g-f)"
        comes_back Succeeded h2
    else
        [[ $(guest_state h1 g-f) == running* ]] || host_virsh h1 resume g-f
        comes_back Failed h1
    fi
    ;;
postcopy) # not with a target of libvirt 11.2 or 11.3, whose daemon it kills
    in_postcopy
    kill_ferry KILL
    break_host break-stream h1
    wait_until 30 is_broken || fail "not broken: $(guest_state h1 g-f)"
    note "$(guest_state h1 g-f), $(guest_state h2 g-f)"
    wait_until 60 resumed || fail 'it could not be resumed'
    wait_until 40 not_here h1 g-f || fail 'it did not end'
    comes_back Succeeded h2
    ;;
esac
