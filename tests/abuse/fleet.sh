#!/bin/bash
# fleet.sh STATE FILE - writes a scenario of 100 hosts and 5,000 guests to FILE and fills the state directory STATE
# with 10,000 migrations of them that have ended: one is made by an appliance, the others are its copies.
set -euo pipefail
state=$1 file=$2 ferry=${FERRY:-build/gcc/ferry} port=${PORT:-19178} jobs=9999
awk 'BEGIN {
    print "hosts:"
    for (h = 0; h < 100; h++) printf "  - {name: n%03d, memory: 256Gi, cpus: 128, link: 1Gi}\n", h
    print "guests:"
    for (g = 0; g < 5000; g++)
        printf "  - {name: g%05d, host: n%03d, memory: 1Gi, workingSet: 16Mi, dirtyRate: 1Mi, labels: {tier: t%d}}\n", \
            g, g % 100, g % 7
}' >"$file"
"$ferry" serve --simulate "$file" --state "$state" --listen "127.0.0.1:$port" --socket "$state/s" >"$state/log" 2>&1 &
appliance=$!
trap 'kill "$appliance" 2>/dev/null || true' EXIT
for _ in $(seq 300); do curl -sf -m 1 -o /dev/null "http://127.0.0.1:$port/readyz" && break || sleep 0.1; done
"$ferry" migrate g00000 --wait --server "unix:$state/s" >/dev/null 2>&1
for _ in $(seq 50); do
    [ "$(sqlite3 -readonly "$state/ferry.db" 'SELECT count(*) FROM verdicts')" = 0 ] || break
    sleep 0.1
done
kill "$appliance"
wait "$appliance" || true
columns() { # TABLE: all but the key
    sqlite3 "$state/ferry.db" "SELECT group_concat(name, ', ') FROM pragma_table_info('$1') WHERE name NOT IN
        ('uid', 'job_uid', 'name', 'guest_uuid', 'guest_name', 'created_ms')"
}
sqlite3 "$state/ferry.db" <<SQL
BEGIN;
CREATE TEMP TABLE n AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $jobs) SELECT i FROM n;
CREATE TEMP TABLE job AS SELECT * FROM jobs LIMIT 1;
CREATE TEMP TABLE verdict AS SELECT * FROM verdicts LIMIT 1;
INSERT INTO jobs (uid, name, guest_uuid, guest_name, created_ms, $(columns jobs))
    SELECT printf('%08x-0000-4000-9000-000000000000', i), printf('seeded-%05d', i),
        printf('00000000-0000-4000-8000-%012d', 1 + i % 5000), printf('g%05d', i % 5000), created_ms - i, $(columns jobs)
    FROM job, n;
INSERT INTO verdicts (job_uid, $(columns verdicts))
    SELECT printf('%08x-0000-4000-9000-000000000000', i), $(columns verdicts) FROM verdict, n;
COMMIT;
SQL
[ "$(sqlite3 "$state/ferry.db" 'SELECT count(*) FROM jobs')" -gt "$jobs" ] || {
    echo "fleet.sh: the migrations were not made" >&2
    exit 1
}
