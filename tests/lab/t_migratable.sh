#!/bin/bash
# migratable: a guest that cannot move says so before anyone asks, and is refused before any migrate call
. "$(dirname "$0")/testlib.sh"

boot_with() { boot_as "$1" "$2" 32 'ws=4 rate=1 hb=200' "$(with_device "$3")"; } # HOST GUEST DEVICE
assert_refused() { # GUEST TEXT
    local text
    if text=$(ferry migrate "$1" --to h2 2>&1); then fail "$1 was not refused: $text"; fi
    [[ $text == *"$2"* ]] || fail "$1 was refused with '$text', not '$2'"
    assert_equal "jobs of $1" "$(newest_job "$1")" ''
    assert_equal "h1's calls to migrate $1" "$(host_virsh h1 domjobinfo "$1" --completed 2>/dev/null | awk '/^Operation:/ {print $2}')" ''
    assert_runs_on h1 "$1"
}

truncate -s 8M "$LAB/g-local.img"
disk="<disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='$LAB/g-local.img'/><target dev='vda' bus='virtio'/></disk>"
boot_with h1 g-local "$disk"
boot_with h1 g-shmem "<shmem name='g-shmem'><model type='ivshmem-plain'/><size unit='M'>1</size></shmem>"
boot h1 g-free 32 'ws=4 rate=1 hb=200'
start_ferry

wait_condition g-free LiveMigratable 'True '
wait_condition g-local LiveMigratable 'False DisksNotLiveMigratable'
wait_condition g-local StorageLiveMigratable 'True '
wait_condition g-shmem LiveMigratable 'False SharedMemoryNotLiveMigratable'
wait_condition g-shmem StorageLiveMigratable 'False NotMigratable'

assert_refused g-local 'Cannot migrate VMI, Reason: DisksNotLiveMigratable, Message: cannot migrate VMI: disk vda is not shared'
assert_refused g-shmem 'Cannot migrate VMI, Reason: SharedMemoryNotLiveMigratable, Message: VMI shares memory'
ferry describe guest g-local | grep -q 'storage.sharedPaths' || fail 'describe does not say what to do'
ferry get guests -o wide | grep -q 'g-shmem .*SharedMemoryNotLiveMigratable' || fail 'no reason in get guests -o wide'

# A guest that appears while Ferry looks is judged as soon.
boot_with h1 g-later "<shmem name='g-later'><model type='ivshmem-plain'/><size unit='M'>1</size></shmem>"
wait_condition g-later LiveMigratable 'False SharedMemoryNotLiveMigratable'

# What may move moves, and is judged again where it arrived.
job=$(migrate g-free h2 64)
wait_final "$job"
assert_job "$job" .status.phase Succeeded
wait_condition g-free LiveMigratable 'True '

# Storage that is declared shared keeps nobody: the disk is no reason any more.
stop_ferry
printf '%s\n' 'storage:' "  sharedPaths: [$LAB]" >>"$TEST_DIR/ferry.yaml"
start_ferry
wait_condition g-local LiveMigratable 'True '
wait_condition g-shmem LiveMigratable 'False SharedMemoryNotLiveMigratable'
