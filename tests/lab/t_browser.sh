#!/bin/bash
# browser: the page at / in Chromium while a real guest moves, breaks, is lost and blocks a drain
# full: moving broken irrecoverable blocked
# long: broken=60 irrecoverable=60
#
# Over the appliance's Unix socket, as through `ssh -L`: so the page may act. tests/page/live.mjs says what must be seen.
. "$(dirname "$0")/testlib.sh"
. "$(dirname "$0")/stages.sh"
export BUILD=${BUILD:-$LAB_SCRIPTS/../../build}
seen() { FERRY=$FERRY "$LAB_SCRIPTS/../page/run" --live "$SOCKET" "$@" || fail "the page does not show that it is $1"; } # STAGE MIGRATION

case ${1:-moving} in
moving)
    in_precopy
    seen moving "$job"
    assert_runs_on h1 g-f
    guest_check h1 g-f
    ;;
broken)
    in_postcopy
    break_host link-down h2
    seen broken "$job"
    break_host link-up h2
    wait_final "$job" 150
    assert_runs_on h2 g-f
    ;;
irrecoverable)
    in_postcopy
    break_host kill-qemu h1 g-f
    seen irrecoverable "$job"
    ;;
blocked)
    host_run h1 mkdir -p $IMAGES
    host_run h1 truncate -s 16M $IMAGES/b.img
    UNDO+=("host_run h1 rm -f $IMAGES/b.img")
    boot_as h1 g-f 64 'ws=4 rate=1 hb=200' "$(with_device "<disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='$IMAGES/b.img'/><target dev='vda' bus='virtio'/></disk>")"
    start_ferry
    wait_condition g-f LiveMigratable 'False DisksNotLiveMigratable'
    seen blocked h1
    ;;
esac
