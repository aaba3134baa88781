// storm.mjs - clients of @kubernetes/client-node watch while everything changes: each through a proxy of its own that
// stalls and cuts its connections. At the end each holds what a list says, was told each change of every stretch that it
// watched, and none twice. `storm.mjs SECONDS`: the writer; it starts workers of itself with the clients.
//
// CLIENTS, CHANGES, SEED, SOCKET, PORT and KUBECONFIG come by the environment. "restart" on standard output asks for a
// restart of the appliance, "restarted" on standard input says that it is done, each line with its pid.
import { fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { createInterface } from 'node:readline';
import { KubeConfig, CustomObjectsApi, ListWatch, Watch } from '@kubernetes/client-node';

const CLIENTS = Number(process.env.CLIENTS ?? 50), CHANGES = Number(process.env.CHANGES ?? 10000), WORKERS = 5;
const KINDS = {
    policies: { group: 'migrations.kubevirt.io', version: 'v1alpha1', plural: 'migrationpolicies' },
    guests: { group: 'kubevirt.io', version: 'v1', plural: 'virtualmachineinstances' },
};
const pathOf = (kind) => `/apis/${kind.group}/${kind.version}/${kind.plural}`;
const pause = (ms) => new Promise((go) => setTimeout(go, ms));
function randomFrom(seed) { // mulberry32
    let state = seed >>> 0;
    return () => {
        state = (state + 0x6d2b79f5) >>> 0;
        let t = Math.imul(state ^ (state >>> 15), 1 | state);
        t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
        return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
}

// ---- a client ----

// Between the client and the appliance: passes bytes, stands still, cuts.
async function startProxy(random, told) {
    const pairs = new Set();
    const server = net.createServer((near) => {
        const far = net.connect(Number(process.env.PORT), '127.0.0.1'), pair = [near, far];
        pairs.add(pair);
        for (const [from, to] of [[near, far], [far, near]]) {
            from.pipe(to);
            from.on('error', () => {});
            from.on('close', () => { to.destroy(); pairs.delete(pair); });
        }
    });
    await new Promise((go) => server.listen(0, '127.0.0.1', go));
    const proxy = { port: server.address().port, isQuiet: false };
    (async () => {
        for (;;) {
            await pause(1000 + random() * 7000);
            if (proxy.isQuiet) continue;
            if (random() < 0.4) {
                told.cuts++;
                for (const [near, far] of pairs) { near.destroy(); far.destroy(); }
                continue;
            }
            told.stalls++;
            const stalled = [...pairs];
            for (const [near, far] of stalled) { far.unpipe(near); far.pause(); }
            await pause(random() < 0.1 ? 12000 : 200 + random() * 3800);
            for (const [near, far] of stalled) if (!far.destroyed) far.pipe(near);
        }
    })();
    return proxy;
}

// As it came over the wire, before the informer looks at it.
class TappedWatch extends Watch {
    constructor(config, onEvent) { super(config); this.onEvent = onEvent; }
    watch(path, query, callback, done) {
        let isOver = false;
        return super.watch(path, query, (type, object, data) => {
            if (!isOver) this.onEvent(type, object);
            callback(type, object, data);
        }, (error) => { isOver = true; done(error); });
    }
}

// A stretch: what was watched since a list.
function startInformer(config, kind, told) {
    const api = config.makeApiClient(CustomObjectsApi);
    const stretches = [];
    const list = async () => {
        const got = await api.listClusterCustomObject(kind);
        told.lists++;
        stretches.push({ from: Number(got.metadata.resourceVersion), events: [] });
        return got;
    };
    const onEvent = (type, object) => {
        if (type === 'ERROR') { if (object.code === 410) told.gone++; return; }
        if (type === 'BOOKMARK') return;
        stretches.at(-1).events.push([Number(object.metadata.resourceVersion), type, object.metadata.uid]);
    };
    const informer = new ListWatch(pathOf(kind), new TappedWatch(config, onEvent), list, false);
    informer.on('error', () => { told.errors++; setTimeout(() => informer.start(), 100); });
    informer.start();
    return { kind, informer, stretches, api };
}

const textOf = (objects) => objects.map((o) => `${o.metadata.uid} ${o.metadata.resourceVersion} ${JSON.stringify(o.spec)} ${JSON.stringify(o.metadata.labels)} ${JSON.stringify(o.metadata.annotations)}`).sort().join('\n');

// journal: the changes of one kind in their order, [version, uid]; version 0: a deletion.
function faultOf(name, stretches, journal, isEqual) {
    for (const [s, { from, events }] of stretches.entries()) {
        let last = from;
        for (const [version] of events) {
            if (!(version > last)) return `${name}: version ${version} was told after ${last}`;
            last = version;
        }
        // The last stretch goes on to the end, which was seen to be equal.
        const end = s === stretches.length - 1 && isEqual ? Infinity : last;
        const told = new Set(events.map(([version]) => version));
        const gone = new Set(events.filter(([, type]) => type === 'DELETED').map(([, , uid]) => uid));
        for (const [i, [version, uid]] of journal.entries()) {
            if (version > 0 && version > from && version <= end && !told.has(version)) return `${name}: version ${version} was not told`;
            if (version !== 0 || !(i > 0 && i + 1 < journal.length)) continue;
            const before = journal[i - 1][0], after = journal[i + 1][0];
            if (before > from && after > 0 && after <= end && !gone.has(uid)) return `${name}: the deletion of ${uid} was not told`;
        }
    }
    return '';
}

async function work(first, n) {
    const text = readFileSync(process.env.KUBECONFIG, 'utf8');
    const told = { lists: 0, gone: 0, errors: 0, cuts: 0, stalls: 0, events: 0 }, clients = [];
    for (let i = first; i < first + n; i++) {
        const proxy = await startProxy(randomFrom(Number(process.env.SEED) * 1000 + i), told);
        const config = new KubeConfig();
        config.loadFromString(text.replaceAll(/https:\/\/127.0.0.1:\d+/g, `https://127.0.0.1:${proxy.port}`));
        clients.push({ name: `client ${i}`, proxy, informers: Object.entries(KINDS).map(([, kind]) => startInformer(config, kind, told)) });
    }
    const notEqual = async () => {
        for (const client of clients) for (const { kind, informer, api } of client.informers) {
            const wanted = textOf((await api.listClusterCustomObject(kind)).items), held = textOf(informer.list());
            if (wanted !== held) return `${client.name}, ${kind.plural}: holds ${informer.list().length} objects that differ from the list`;
        }
        return '';
    };
    process.on('message', async ({ journals }) => {
        for (const client of clients) client.proxy.isQuiet = true;
        let fault = '';
        for (const until = Date.now() + 60000; Date.now() < until; await pause(200))
            if ((fault = await notEqual().catch((error) => `${error}`)) === '') break;
        for (const client of clients) for (const { kind, stretches } of client.informers) {
            told.events += stretches.reduce((sum, one) => sum + one.events.length, 0);
            if (fault === '') fault = faultOf(`${client.name}, ${kind.plural}`, stretches, journals[kind.plural], true);
        }
        process.send({ fault, told }, () => process.exit(0));
    });
    process.on('disconnect', () => process.exit(1));
    process.send({ ready: true });
}

// ---- the writer ----

const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
function call(method, path, body, type = 'application/json') {
    return new Promise((resolve, reject) => {
        const request = http.request({ socketPath: process.env.SOCKET, agent, method, path, headers: { 'Content-Type': type } }, (answer) => {
            let text = '';
            answer.setEncoding('utf8').on('data', (part) => { text += part; }).on('end', () => resolve({ status: answer.statusCode, object: text === '' ? {} : JSON.parse(text) }));
        });
        request.on('error', reject);
        request.end(body === undefined ? undefined : JSON.stringify(body));
    });
}

async function write(journals, guests) {
    const random = randomFrom(Number(process.env.SEED)), there = new Map(), at = pathOf(KINDS.policies);
    const note = (plural, { status, object }) => {
        if (status !== 200 && status !== 201) throw new Error(`${status} ${object.message}`);
        journals[plural].push([Number(object.metadata.resourceVersion), object.metadata.uid]);
        return object;
    };
    const change = async (n) => {
        const name = `p${Math.floor(random() * 60)}`, padding = random() < 0.3 ? 'x'.repeat(random() * 9000) : '';
        const annotations = { turn: `${n}`, padding }, dice = random();
        if (dice < 0.2) {
            const guest = guests[Math.floor(random() * guests.length)];
            note('virtualmachineinstances', await call('PATCH', `/apis/kubevirt.io/v1/namespaces/default/virtualmachineinstances/${guest}`,
                { metadata: { labels: { turn: `t${n}` } } }, 'application/merge-patch+json'));
        } else if (!there.has(name)) {
            const object = { apiVersion: 'migrations.kubevirt.io/v1alpha1', kind: 'MigrationPolicy', metadata: { name, annotations }, spec: { selectors: {} } };
            there.set(name, note('migrationpolicies', await call('POST', at, object)).metadata.uid);
        } else if (dice < 0.35) {
            const { status } = await call('DELETE', `${at}/${name}`);
            if (status !== 200) throw new Error(`delete: ${status}`);
            journals.migrationpolicies.push([0, there.get(name)]);
            there.delete(name);
        } else if (dice < 0.6) {
            const object = { apiVersion: 'migrations.kubevirt.io/v1alpha1', kind: 'MigrationPolicy', metadata: { name, annotations: { applied: `${n}` } }, spec: { allowAutoConverge: n % 2 === 0 } };
            note('migrationpolicies', await call('PATCH', `${at}/${name}?fieldManager=storm&force=true`, object, 'application/apply-patch+yaml'));
        } else {
            note('migrationpolicies', await call('PATCH', `${at}/${name}`, { metadata: { annotations } }, 'application/merge-patch+json'));
        }
    };
    return change;
}

async function main() {
    const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
    const journals = { migrationpolicies: [], virtualmachineinstances: [] };
    let pid = Number((await lines.next()).value.split(' ')[1]);
    const rss = { most: 0, atQuarter: 0 };
    const measure = () => {
        const text = readFileSync(`/proc/${pid}/status`, 'utf8');
        const mib = Math.round(Number(/VmRSS:\s+(\d+)/.exec(text)[1]) / 1024);
        rss.most = Math.max(rss.most, mib);
        return mib;
    };
    const guests = (await call('GET', pathOf(KINDS.guests))).object.items.map((o) => o.metadata.name);
    const change = await write(journals, guests);
    const workers = [...Array(WORKERS).keys()].map((i) => fork(process.argv[1], ['clients', `${i * CLIENTS / WORKERS}`, `${CLIENTS / WORKERS}`]));
    await Promise.all(workers.map((worker) => new Promise((go) => worker.once('message', go))));
    await pause(2000);
    for (let n = 1; n <= CHANGES; n++) {
        await change(n);
        if (n % 100 === 0) measure();
        if (n === CHANGES / 4) rss.atQuarter = measure();
        if (n !== CHANGES / 2) continue;
        console.log('restart');
        rss.beforeRestart = measure();
        pid = Number((await lines.next()).value.split(' ')[1]);
    }
    rss.atEnd = measure();
    const results = await Promise.all(workers.map((worker) => new Promise((go) => {
        worker.once('message', go);
        worker.once('exit', (code) => go({ fault: `a worker ended: ${code}`, told: {} }));
        worker.send({ journals });
    })));
    const told = {};
    for (const result of results) for (const [key, value] of Object.entries(result.told)) told[key] = (told[key] ?? 0) + value;
    const fault = results.map((result) => result.fault).find((text) => text !== '') ?? '';
    console.log(JSON.stringify({ changes: CHANGES, clients: CLIENTS, ...told, rssMiB: rss, fault }));
    process.exit(0);
}

if (process.argv[2] === 'clients') await work(Number(process.argv[3]), Number(process.argv[4]));
else await main().catch((error) => { console.log(JSON.stringify({ fault: `${error}`, rssMiB: { most: 0 } })); process.exit(1); });
