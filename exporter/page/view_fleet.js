// view_fleet.js - Fleet: the hosts with their load, and how migrations between each two of them went.
import { Cordon } from './acts.js';
import { query, quoted } from './api.js';
import { ago, bytes, duration, kib, quantity, rate, words } from './format.js';
import { html } from './lib.js';
import { migrations, polls } from './live.js';
import { Badge, Bar, Empty, Facts, GuestLink, Problem, Section, Table, to, useLoaded, useTold } from './parts.js';
import { can, canQuery } from './rights.js';
import { source, target } from './story.js';
import { GuestTable } from './view_guest.js';

const used = (node) => {
  const all = quantity(node.status.capacity?.memory), f = node.status.ferry;
  return { all, guests: f.running.memoryKiB * 1024, reserved: f.reserved.memoryKiB * 1024, part: all ? (f.running.memoryKiB + f.reserved.memoryKiB) * 1024 / all : null };
};

export function NodeBadges({ node }) {
  return html`<${Badge} tone=${node.status.ferry.connected ? 'good' : 'bad'}>${node.status.ferry.connected ? 'Ready' : 'NotReady'}<//>
    ${node.spec.unschedulable && html` <${Badge} tone="warn">cordoned<//>`}${node.status.ferry.drain && html` <a href=${to.drain(node.status.ferry.drain)}>drain ${node.status.ferry.drain}</a>`}`;
}

// ---- what its versions of libvirt and QEMU cannot do ----

const warningsOf = (node) => node.status.ferry.warnings ?? [];
// 'either': whichever of the two it is.
const SIDES = { source: 'as source', target: 'as target', either: 'as source or target' };
const Warning = ({ warning }) => html`${warning.refuses && html`<${Badge} tone="bad">refuses migrations<//> `}${warning.message}
  ${warning.instead && html`<div><b>Instead:</b> ${warning.instead}</div>`}`;

// Closed: hosts of one release all have the same.
function Limits({ node }) {
  const list = warningsOf(node), refusing = list.filter((w) => w.refuses).length;
  if (list.length === 0) return node.status.ferry.warnings ? html`<span class="dim">none known</span>` : html`<span class="dim">not known</span>`;
  return html`<details class="limits"><summary><${Badge} tone=${refusing > 0 ? 'bad' : 'warn'}>${list.length} ${list.length === 1 ? 'limit' : 'limits'}${refusing > 0 ? ', refuses migrations' : ''}<//><span class="unseen"> of ${node.metadata.name}</span></summary>
    <ul class="points">${list.map((w) => html`<li key=${w.name}><span class="dim">${SIDES[w.side] ?? w.side}:</span> <${Warning} warning=${w}/></li>`)}</ul></details>`;
}

const warningColumns = [
  { name: 'Limit', cell: (w) => html`<b>${words(w.name)}</b>` },
  { name: 'Role', cell: (w) => SIDES[w.side] ?? w.side },
  { name: 'What it cannot do', wide: true, cell: (w) => html`${w.refuses && html`<${Badge} tone="bad">refuses migrations<//> `}${w.message}` },
  { name: 'What Ferry does instead', wide: true, cell: (w) => w.instead ?? '' },
];
function Warnings({ node }) {
  const f = node.status.ferry;
  if (!f.warnings) return null;
  return html`<${Section} id="warnings" title=${`Limits of its libvirt ${f.libvirtVersion} and QEMU ${f.qemuVersion}`} count=${f.warnings.length}>
    <${Table} rows=${f.warnings} columns=${warningColumns} keyOf=${(w) => w.name} caption="What its versions of libvirt and QEMU cannot do" empty="None known."/><//>`;
}

const columns = [
  { name: 'Node', cell: (n) => html`<a class="nowrap" href=${to.node(n.metadata.name)}>${n.metadata.name}</a>` },
  { name: 'Status', cell: (n) => html`<${NodeBadges} node=${n}/>${n.status.ferry.error && html`<div class="detail">${n.status.ferry.error}</div>`}` },
  { name: 'Guests', num: true, cell: (n) => n.status.ferry.guests },
  { name: 'Moves out / in', num: true, cell: (n) => `${n.status.ferry.outbound} / ${n.status.ferry.inbound}` },
  { name: 'Memory of guests', cell: (n) => {
    const u = used(n);
    return html`<${Bar} value=${u.part} label=${`memory of ${n.metadata.name} used`} tone=${u.part > 0.9 ? 'warn' : ''}/> <span class="nowrap">${bytes(u.guests + u.reserved)} of ${u.all ? bytes(u.all) : '–'}</span>`;
  } },
  { name: 'Free', num: true, cell: (n) => (n.status.ferry.freeMemoryKiB === undefined ? '–' : kib(n.status.ferry.freeMemoryKiB)) },
  { name: 'CPU', cell: (n) => `${n.status.capacity?.cpu ?? '–'} × ${n.status.ferry.cpuModel ?? '–'}` },
  { name: 'libvirt', cell: (n) => n.status.ferry.libvirtVersion },
  { name: 'QEMU', cell: (n) => n.status.ferry.qemuVersion },
  { name: 'Limits', cell: (n) => html`<${Limits} node=${n}/>` },
  { name: '', cell: (n) => html`<span class="buttons"><${Cordon} node=${n}/>${can('drain') && html`<a class="button" href=${to.plan(n.metadata.name)}>Drain…</a>`}</span>` },
];

// ---- path matrix ----

const PATHS = `SELECT p.source, p.target, p.migrations, p.failed, p.success_percent, p.mean_bps, p.mean_downtime_ms, f.ended_ms AS failed_ms, f.cause, f.ns, f.name
FROM paths AS p LEFT JOIN (SELECT source, target, ns, name, cause, max(ended_ms) AS ended_ms FROM failures GROUP BY source, target) AS f
ON f.source = p.source AND f.target = p.target WHERE p.source <> '' AND p.target <> ''`;
const MATRIX_MAX = 24;

function Cell({ path, from, into }) {
  if (from === into) return html`<td class="none" aria-label="the same node"></td>`;
  if (!path) return html`<td class="none"><span class="dim" aria-label="no migration yet">–</span></td>`;
  const tone = path.success_percent >= 95 ? 'good' : path.success_percent >= 70 ? 'warn' : 'bad';
  return html`<td class=${tone}><a href=${to.history({ source: from, target: into })}><b>${Math.round(path.success_percent)} %</b> of ${path.migrations}</a>
    <div>${rate(path.mean_bps)}</div><div>${path.mean_downtime_ms === null ? '' : `downtime ${duration(path.mean_downtime_ms)}`}</div>
    ${path.failed_ms && html`<div><a href=${to.migration(path.ns, path.name)} title=${path.cause ?? ''}>failed ${ago(path.failed_ms)}</a></div>`}</td>`;
}

function Matrix({ names }) {
  const { value, error } = useLoaded(async (signal) => (await query(PATHS, 10000, signal)).rows, [migrations.ended.size], 60000);
  const known = new Set((value ?? []).flatMap((p) => [p.source, p.target]));
  const shown = names.length <= MATRIX_MAX ? names : names.filter((n) => known.has(n)).slice(0, MATRIX_MAX);
  return html`<${Section} id="paths" title="Paths between hosts" right=${html`<span class="dim">success, mean bandwidth and downtime, last failure; rows: from, columns: to</span>`}>
    <${Problem} error=${error}/>
    ${value && (value.length === 0 ? html`<${Empty}>No migration has ended yet.<//>` : html`<div class="scroll" tabindex="0" role="region" aria-label="Path matrix"><table class="matrix"><thead><tr><td></td>${shown.map((n) => html`<th scope="col">${n}</th>`)}</tr></thead>
      <tbody>${shown.map((from) => html`<tr><th scope="row">${from}</th>${shown.map((into) => html`<${Cell} from=${from} into=${into} path=${value.find((p) => p.source === from && p.target === into)}/>`)}</tr>`)}</tbody></table></div>`)}
    ${names.length > MATRIX_MAX && html`<p class="dim">The first ${MATRIX_MAX} nodes with migrations; all: <a href="#/history">History</a> by path.</p>`}<//>`;
}

export function Fleet() {
  useTold(polls.nodes);
  const nodes = polls.nodes.value ?? [];
  return html`<h1 class="unseen">Fleet</h1><${Section} id="nodes" title="Nodes" count=${nodes.length}>
      <${Problem} error=${polls.nodes.error}/><${Table} columns=${columns} rows=${nodes} keyOf=${(n) => n.metadata.name} caption="Nodes" empty=${polls.nodes.value ? 'No node is configured.' : 'Loading…'}/><//>
    ${canQuery() && html`<${Matrix} names=${nodes.map((n) => n.metadata.name)}/>`}`;
}

const TROUBLE = (name) => `SELECT role, cause, plane, count(*) AS failures, max(ended_ms) AS last_ms FROM node_trouble WHERE node = ${quoted(name)} GROUP BY role, cause, plane ORDER BY failures DESC LIMIT 20`;

export function Node({ name }) {
  useTold(polls.nodes, migrations);
  const node = (polls.nodes.value ?? []).find((n) => n.metadata.name === name);
  const trouble = useLoaded(async (signal) => (canQuery() ? (await query(TROUBLE(name), 20, signal)).rows : []), [name], 60000);
  if (!node) return html`<h1>${name}</h1><${Empty}>${polls.nodes.value ? 'No such node.' : 'Loading…'}<//>`;
  const f = node.status.ferry, u = used(node), moves = [...migrations.objects.values()].filter((v) => source(v) === name || target(v) === name);
  return html`<div class="title"><h1>${name}</h1><${NodeBadges} node=${node}/><span class="right buttons"><${Cordon} node=${node}/>${can('drain') && html`<a class="button" href=${to.plan(name)}>Drain…</a>`}</span></div>
    <div class="card"><${Facts} rows=${[['Error', f.error], ['Address', f.uri], ['Memory', `${bytes(u.all)}: guests ${bytes(u.guests)}, promised to migrations ${bytes(u.reserved)}, free on the host ${kib(f.freeMemoryKiB)}`],
    ['CPUs', `${node.status.capacity?.cpu ?? '–'} × ${f.cpuModel ?? '–'}; guests have ${f.running.vcpus}, promised ${f.reserved.vcpus}`], ['libvirt, QEMU', `${f.libvirtVersion ?? '–'}, ${f.qemuVersion ?? '–'}`],
    ['Labels', Object.entries(node.metadata.labels ?? {}).map(([k, v]) => `${k}=${v}`).join(' ')], ['Taints', (node.spec.taints ?? []).map((t) => `${t.key}=${t.value ?? ''}:${t.effect}`).join(' ')]]}/></div>
    <${Warnings} node=${node}/>
    ${moves.length > 0 && html`<${Section} id="moves" title="Migrations from and to it" count=${moves.length}><${Table} rows=${moves} caption="Migrations" columns=${[
    { name: 'Guest', cell: (v) => html`<a href=${to.migration(v.metadata.namespace, v.metadata.name)}>${v.spec.vmiName}</a>` }, { name: 'From', cell: source }, { name: 'To', cell: target }, { name: 'Phase', cell: (v) => v.status.phase }]}/><//>`}
    ${(trouble.value ?? []).length > 0 && html`<${Section} id="trouble" title="Failures here" right=${html`<a href=${to.history({ node: name })}>History</a>`}><${Table} rows=${trouble.value} caption="Failures" columns=${[
    { name: 'As', cell: (r) => r.role }, { name: 'Cause', cell: (r) => r.cause ?? '–' }, { name: 'Plane', cell: (r) => r.plane ?? '–' }, { name: 'Failures', num: true, cell: (r) => r.failures }, { name: 'Last', num: true, cell: (r) => ago(r.last_ms) }]}/><//>`}
    <${GuestTable} node=${name}/>`;
}
