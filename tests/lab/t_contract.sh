#!/bin/bash
# contract: what both hypervisors promise, kept by the real one
# long: 50
. "$(dirname "$0")/testlib.sh"

suite=$(dirname "$FERRY")/tests/lab/contract_libvirt
[ -x "$suite" ] || { note "not built: $suite" && exit 77; }

boot h1 g-contract 128 'ws=4 rate=1 fill=64 hb=200'
GUESTS+=(g-twin) # on both hosts, under one name
guest_create h1 g-twin 32 rate=0
guest_create h2 g-twin 32 rate=0
GUESTS+=(g-keeper) # persistent, with a label and a strategy
uri='urn:ferry:domain:1'
guest_xml g-keeper 32 rate=0 | sed "s|<memory |<metadata><ferry:guest xmlns:ferry='$uri'>\
<ferry:label key='app' value='contract'/>\
<ferry:evictionStrategy>LiveMigrate</ferry:evictionStrategy></ferry:guest></metadata>&|" \
    >"$LAB/g-keeper.xml"
host_virsh h1 define "$LAB/g-keeper.xml" >/dev/null && host_virsh h1 start g-keeper >/dev/null
cat >"$LAB/edit" <<EDIT
#!/bin/bash
virsh -q -c "$(host_uri h1)" metadata "\$2" --live --config --uri '$uri' --key ferry \
    --set "<guest><label key='app' value='contract'/><evictionStrategy>LiveMigrate</evictionStrategy></guest>"
EDIT
cat >"$LAB/break" <<BREAK
#!/bin/bash
exec "$LAB_SCRIPTS/fault" --name "$LAB_NAME" break-stream "\$1"
BREAK
chmod +x "$LAB/edit" "$LAB/break"

# A disk that only h2 has: each host has its own images.
image=/var/lib/libvirt/images/contract/disk.img
for host in h1 h2; do host_run $host mkdir -p "${image%/*}" && UNDO+=("host_run $host rm -rf ${image%/*}"); done
host_run h2 truncate -s 3M "$image"

"$suite" --host "h1=$(host_uri h1),qemu+tcp://h1/system,$LAB_NET.1" \
    --host "h2=$(host_uri h2),qemu+tcp://h2/system,$LAB_NET.2" \
    --dead-host dead=qemu+tcp://127.0.0.1:1/system \
    --guest "$(host_virsh h1 domuuid g-contract)" --twin "$(host_virsh h1 domuuid g-twin)" \
    --persistent "$(host_virsh h1 domuuid g-keeper)" --volume "$image" --edit "$LAB/edit" --break "$LAB/break" >&2

POSTCOPY=1
if runs_here h1 g-contract; then where=h1; else where=h2; fi
guest_check "$where" g-contract
