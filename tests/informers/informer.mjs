// informer.mjs - informers of @kubernetes/client-node over what the test does to the appliance. Told by lines on standard
// input: "equal" prints "equal" once what they hold is what a list says, or the difference after 20 s; "end" ends.
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { KubeConfig, CustomObjectsApi, makeInformer } from '@kubernetes/client-node';

const config = new KubeConfig();
config.loadFromString(readFileSync(process.env.KUBECONFIG, 'utf8'));
const api = config.makeApiClient(CustomObjectsApi);
const of = { group: 'kubevirt.io', version: 'v1' };
const kinds = ['virtualmachineinstances', 'virtualmachineinstancemigrations'];
const told = { add: 0, update: 0, delete: 0, error: 0, twice: 0 };

const informers = kinds.map((plural) => {
    const list = () => api.listClusterCustomObject({ ...of, plural });
    const informer = makeInformer(config, `/apis/kubevirt.io/v1/${plural}`, list);
    const versions = new Map();
    const see = (what) => (object) => {
        told[what]++;
        const version = object.metadata.resourceVersion;
        if (what === 'update' && versions.get(object.metadata.uid) === version) told.twice++;
        versions.set(object.metadata.uid, version);
    };
    for (const what of ['add', 'update', 'delete']) informer.on(what, see(what));
    informer.on('error', () => { // as its documentation says: start it again
        told.error++;
        setTimeout(() => informer.start().catch(() => informer.emit?.('error')), 100);
    });
    const begin = () => informer.start().catch(() => setTimeout(begin, 100));
    begin();
    return { plural, list, informer };
});

const text = (objects) => objects.map((o) => `${o.metadata.uid} ${o.metadata.resourceVersion} ${JSON.stringify(o.metadata.labels)}`).sort().join('\n');

async function difference() {
    for (const { plural, list, informer } of informers) {
        const wanted = text((await list()).items), held = text(informer.list());
        if (wanted !== held) return `${plural}:\nlist:\n${wanted}\nheld:\n${held}`;
    }
    return '';
}

async function equal() {
    let last = 'no answer';
    for (const until = Date.now() + 20000; Date.now() < until; await new Promise((go) => setTimeout(go, 100))) {
        last = await difference().catch((error) => `${error}`);
        if (last === '') break;
    }
    console.log(last === '' ? 'equal' : `different ${last.replaceAll('\n', ' | ')}`);
}

for await (const line of createInterface({ input: process.stdin })) {
    if (line === 'equal') await equal();
    if (line === 'end') break;
}
console.log(JSON.stringify(told));
process.exit(0);
