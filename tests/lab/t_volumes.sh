#!/bin/bash
# volumes: a guest moves with its disk to other storage, or stays whole where it is
# long: 25
. "$(dirname "$0")/testlib.sh"

IMAGES=/var/lib/libvirt/images # each host has its own
MIB=48
sum_of() { host_run "$1" head -c ${MIB}M "$2" | sha256sum | cut -d' ' -f1; } # HOST PATH
move() {                                                                   # TARGET BANDWIDTH VOLUME...: prints the job's name
    local name volumes=("${@:3}")
    name=$(ferry migrate g-vol --to "$1" --bandwidth "$2" "${volumes[@]/#/--volume=}" -o name) || fail "refused: $*"
    note "$name: to $*"
    echo "${name#*/}"
}
assert_refused() { # TEXT ARGUMENT...
    local text
    if text=$(ferry migrate g-vol "${@:2}" 2>&1); then fail "'${*:2}' was not refused: $text"; fi
    [[ $text == *"$1"* ]] || fail "'${*:2}' was refused with '$text', not '$1'"
}
# Where the guest's disk lies by its definition; FLAG --inactive: by the one it starts with next.
disk_of() { host_virsh "$1" dumpxml g-vol ${2:+"$2"} | grep -o "file='[^']*\.img'\|volume='[^']*'" | head -1 | cut -d"'" -f2; } # HOST [FLAG]
assert_disk() { # HOST NAME
    assert_equal "live disk on $1" "$(disk_of "$1")" "$2"
    assert_equal "stored disk on $1" "$(disk_of "$1" --inactive)" "$2"
}
waits_for() { [[ $(job_field "$1" .status.ferry.pending.reason) == "$2" ]]; } # JOB REASON
assert_no_trace() { # HOST: the pool that looked is gone
    ! host_virsh "$1" pool-list --all --name | grep ferry-look || fail "$1 still has a pool of Ferry's"
}
disk_moves() { [ "$(job_field "$1" .status.ferry.sample.diskProcessedBytes)" -gt 0 ] 2>/dev/null; }

for host in h1 h2; do host_run "$host" mkdir -p "$IMAGES"; done
host_run h1 sh -c "head -c ${MIB}M /dev/urandom >$IMAGES/g.img"
UNDO+=("host_run h1 rm -rf $IMAGES/g.img $IMAGES/small.img $IMAGES/p1 $IMAGES/big.img" "host_run h2 rm -f $IMAGES/there.img")
want=$(sum_of h1 $IMAGES/g.img)
boot_as h1 g-vol 32 'ws=4 rate=1 hb=200' "$(with_device "<disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='$IMAGES/g.img'/><target dev='vda' bus='virtio'/></disk>")"
host_virsh h1 dumpxml g-vol --migratable >"$LAB/g-vol.stored.xml"
host_virsh h1 define "$LAB/g-vol.stored.xml"
first_hosts 2
start_ferry
wait_condition g-vol LiveMigratable 'False DisksNotLiveMigratable'

assert_refused 'Reason: DisksNotLiveMigratable' --to h2
assert_refused 'the guest has no disk vdz' --to h2 --volume vdz=/x/y
assert_refused 'is not an absolute path' --to h2 --volume vda=/x/../y
assert_refused 'is not DISK=/PATH or DISK=pool:POOL/VOLUME' --to h2 --volume vda=x

note 'a place that is not there is waited for'
job=$(move h2 64 vda=$IMAGES/there.img)
wait_until 15 waits_for "$job" storage-not-ready || fail "waits for $(job_field "$job" .status.ferry.pending)"
assert_job "$job" .status.ferry.pending.message "One of the destination volumes doesn't exist: $IMAGES/there.img"
assert_runs_on h1 g-vol
host_run h2 truncate -s ${MIB}M $IMAGES/there.img
wait_final "$job" 40
assert_job "$job" .status.phase Succeeded
assert_job "$job" '.status.ferry.volumes[0].source.path' $IMAGES/g.img
assert_job "$job" '.status.ferry.volumes[0].destination.path' $IMAGES/there.img
assert_job "$job" '.status.ferry.volumes[0].capacity' $((MIB << 20))
assert_runs_on h2 g-vol
guest_check h2 g-vol
assert_disk h2 $IMAGES/there.img
assert_equal 'data on h2' "$(sum_of h2 $IMAGES/there.img)" "$want"
assert_no_trace h2

note 'a place that is too small is no place'
host_run h1 truncate -s 16M $IMAGES/small.img
job=$(move h1 64 vda=$IMAGES/small.img)
wait_until 15 waits_for "$job" unschedulable-now || fail "waits for $(job_field "$job" .status.ferry.pending)"
assert_job "$job" '.status.ferry.pending.message' '.*1 volume-size.*'
ferry describe migration "$job" | grep -q "vda has $((MIB << 20)) bytes, its destination $((16 << 20))" || fail 'describe names no sizes'
ferry abort "$job"
wait_final "$job" 10
assert_runs_on h2 g-vol

note 'cancelled half way: the guest keeps its disk'
host_run h1 mkdir -p $IMAGES/p1
host_virsh h1 pool-define-as p1 dir --target $IMAGES/p1
UNDO+=("host_virsh h1 pool-undefine p1" "host_virsh h1 pool-destroy p1")
host_virsh h1 pool-start p1
job=$(move h1 4 vda=pool:p1/back.img)
wait_until 20 disk_moves "$job" || fail "no disk moves: $(job_field "$job" .status)"
ferry abort "$job"
wait_final "$job" 20
assert_job "$job" .status.ferry.outcome aborted
assert_job "$job" .status.ferry.guestAt running-on-source
assert_runs_on h2 g-vol
guest_check h2 g-vol
assert_disk h2 $IMAGES/there.img
assert_equal 'data on h2 after the abort' "$(sum_of h2 $IMAGES/there.img)" "$want"
host_virsh h2 domblkinfo g-vol vda >/dev/null || fail 'the disk does not answer'
[ -z "$(host_virsh h2 blockjob g-vol vda 2>/dev/null | grep -v '^No current')" ] || fail 'a block job is left behind'

note 'libvirt makes what is missing in a pool'
host_run h1 rm -f $IMAGES/p1/back.img
job=$(move h1 64 vda=pool:p1/back.img)
wait_final "$job" 40
assert_job "$job" .status.phase Succeeded
assert_runs_on h1 g-vol
guest_check h1 g-vol
assert_disk h1 back.img
assert_equal 'data in the pool' "$(sum_of h1 $IMAGES/p1/back.img)" "$want"

note 'a bigger place holds the disk in a part of it'
host_run h2 rm -f $IMAGES/there.img
host_run h2 truncate -s $((MIB + 16))M $IMAGES/there.img
job=$(move h2 64 vda=$IMAGES/there.img)
wait_final "$job" 40
assert_job "$job" .status.phase Succeeded
guest_check h2 g-vol
assert_equal 'data in the bigger file' "$(sum_of h2 $IMAGES/there.img)" "$want"
assert_equal 'size the guest sees' "$(host_virsh h2 domblkinfo g-vol vda | awk '/^Capacity:/ {print $2}')" $((MIB << 20))
! host_virsh h2 dumpxml g-vol --inactive | grep -q '<slice' || fail 'the stored definition has a part only'
