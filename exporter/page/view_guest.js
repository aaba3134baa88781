// view_guest.js - Guests: a list; and one guest: where it is, whether it can move and why not, what that would take, what was.
import { Migrate } from './acts.js';
import { at, get, query, quoted, send } from './api.js';
import { ago, bytes, dateTime, duration, quantity, words } from './format.js';
import { Fragment, html, useEffect, useState } from './lib.js';
import { migrations, polls } from './live.js';
import { Badge, Empty, Facts, GuestLink, NodeLink, Problem, Section, Table, to, useLoaded, useTold } from './parts.js';
import { canQuery, me } from './rights.js';
import { doing, ending, isFinal } from './story.js';
import { endedColumns } from './view_now.js';

const LIST_MAX = 500;
const condition = (vmi, type) => (vmi.status.conditions ?? []).find((c) => c.type === type);

const columns = [
  { name: 'Guest', cell: (g) => html`<${GuestLink} ns=${g.metadata.namespace} name=${g.metadata.name}/>` },
  { name: 'State', cell: (g) => html`<${Badge} tone=${g.status.phase === 'Running' ? 'good' : g.status.phase === 'Succeeded' ? 'calm' : 'bad'}>${g.status.ferry?.state ?? g.status.phase}<//>` },
  { name: 'Node', cell: (g) => html`<${NodeLink} name=${g.status.nodeName}/>` },
  { name: 'Memory', num: true, cell: (g) => bytes(quantity(g.spec.domain?.memory?.guest)) },
  { name: 'Can it move', cell: (g) => {
    const live = condition(g, 'LiveMigratable');
    return live === undefined ? html`<span class="dim">not known yet</span>` : live.status === 'True' ? 'yes' : html`<span class="bad-text">${live.message}</span>`;
  }, wide: true },
  { name: 'Migration', cell: (g) => (g.status.ferry?.migration ? html`<a href=${to.migration(g.metadata.namespace, g.status.ferry.migration)}>${g.status.ferry.migration}</a>` : '') },
];

// All guests, or those of a node: the first LIST_MAX, and a filter over them.
export function GuestTable({ node }) {
  const [wanted, setWanted] = useState('');
  const selector = node ? `&labelSelector=${encodeURIComponent(`kubevirt.io/nodeName=${node}`)}` : '';
  const { value, error } = useLoaded((signal) => get(`${at.guests(me.namespace)}?limit=${LIST_MAX}${selector}`, signal), [node], 8000);
  const rows = (value?.items ?? []).filter((g) => `${g.metadata.namespace}/${g.metadata.name}`.includes(wanted.trim()));
  return html`<${Section} id="guests" title=${node ? 'Its guests' : 'Guests'} count=${value ? rows.length : undefined}
      right=${html`<label class="inline">Filter <input type="search" value=${wanted} onInput=${(e) => setWanted(e.target.value)} placeholder="name"/></label>`}>
    <${Problem} error=${error}/><${Table} columns=${columns} rows=${rows} keyOf=${(g) => `${g.metadata.namespace}/${g.metadata.name}`} caption="Guests" empty=${value ? 'No guest.' : 'Loading…'}/>
    ${value?.metadata?.continue && html`<p class="dim">The first ${LIST_MAX}${value.metadata.remainingItemCount ? `; ${value.metadata.remainingItemCount} more` : ''}. One of them by its address: #/guest/NAMESPACE/NAME</p>`}<//>`;
}

export const Guests = () => html`<h1 class="unseen">Guests</h1><${GuestTable}/>`;

// ---- one guest ----

function Check({ ns, name, tick }) {
  const { value, error } = useLoaded(async () => send('POST', at.checks(ns), { value: { apiVersion: 'ferry.internal/v1', kind: 'Check', metadata: { name: 'page' }, spec: { vmiName: name } } }), [ns, name, tick], 15000);
  if (!value) return html`<${Problem} error=${error}/>`;
  const s = value.status, f = s.forecast, waits = s.wouldWaitFor ?? [];
  return html`<${Section} id="check" title="Can it move?">
    <div class="card ${s.migratable ? '' : 'bad'}"><${Facts} rows=${[
    ['Live-migratable', s.migratable ? html`<span class="good-text">yes</span>` : html`<span class="bad-text">no</span>`],
    ...(s.reasons ?? []).map((r) => [r.reason, html`${r.message}<div><b>What to do:</b> ${r.help}</div>`]),
    ['Would wait for', waits.length > 0 && waits.map((w) => html`<div><${Badge}>${words(w.reason)}<//> ${w.message}</div>`)],
    ['Forecast', f && html`${duration(f.expectedMs)} (${duration(f.lowMs)} to ${duration(f.highMs)}), downtime ${duration(f.downtimeMs)}; converges with ${f.convergePercent} %<div class="dim">${f.why}</div>`],
    ['Policy', s.policy?.name ?? 'none applies: defaults'], ['Eviction strategy', s.evictionStrategy]]}/></div>
    <${Table} rows=${s.nodes ?? []} keyOf=${(n) => n.name} caption="Nodes that could take it" columns=${[
    { name: 'Node', cell: (n) => html`<${NodeLink} name=${n.name}/>` },
    { name: 'Takes it', cell: (n) => (n.fits ? html`<${Badge} tone="good">yes<//>` : html`<${Badge} tone="calm">no<//>`) },
    { name: 'Reason', cell: (n) => words(n.reason) }, { name: 'Detail', cell: (n) => n.detail, wide: true }]}/>
    ${(s.policy?.candidates ?? []).length > 0 && html`<details><summary>Why other policies do not apply</summary><ul>${s.policy.candidates.map((c) => html`<li><b>${c.name}</b>${c.matches ? ' matches' : `: ${c.why}`}</li>`)}</ul></details>`}<//>`;
}

const PAST = (ns, name) => `SELECT ns, name, guest, source, target, outcome, cause, ended_ms, moving_ms, downtime_ms FROM migrations
WHERE ns = ${quoted(ns)} AND guest = ${quoted(name)} AND outcome <> '' ORDER BY created_ms DESC LIMIT 20`;

export function Guest({ ns, name }) {
  useTold(migrations, polls.nodes);
  const { value: vmi, error } = useLoaded((signal) => get(at.guests(ns, name), signal), [ns, name], 3000);
  const past = useLoaded(async (signal) => (canQuery() ? (await query(PAST(ns, name), 20, signal)).rows : []), [ns, name, vmi?.status.ferry?.migration, migrations.ended.size], 60000);
  const moves = [...migrations.objects.values()].filter((v) => v.metadata.namespace === ns && v.spec.vmiName === name);
  const conditions = (vmi?.status.conditions ?? []).filter((c) => !['Ready', 'LiveMigratable', 'StorageLiveMigratable'].includes(c.type));
  if (!vmi) return html`<h1>${name}</h1>${error ? html`<${Problem} error=${error}/>` : html`<${Empty}>Loading…<//>`}`;
  const f = vmi.status.ferry ?? {};
  return html`<div class="title"><h1>${ns !== 'default' && html`<span class="dim">${ns}/</span>`}${name}</h1><${Badge} tone=${vmi.status.phase === 'Running' ? 'good' : 'bad'}>${f.state}<//>
      <span class="right"><${Migrate} ns=${ns} name=${name} node=${vmi.status.nodeName} nodes=${polls.nodes.value ?? []}/></span></div>
    <${Problem} error=${error}/>
    <div class="card"><${Facts} rows=${[['Runs on', html`<${NodeLink} name=${vmi.status.nodeName}/>${f.nodeReachable === false ? html` <span class="bad-text">unreachable; seen ${ago(f.seenAt)}</span>` : ''}`],
    ['State', `${f.state} (${words(f.reason)})`], ['Memory, CPUs', `${bytes(quantity(vmi.spec.domain?.memory?.guest))}, ${vmi.spec.domain?.cpu?.cores}`],
    ['Definition', f.persistent ? 'persistent' : 'transient'], ['Labels', Object.entries(vmi.metadata.labels ?? {}).filter(([k]) => k !== 'kubevirt.io/nodeName').map(([k, v]) => `${k}=${v}`).join(' ')],
    ...conditions.map((c) => [c.type.replace('ferry.internal/', ''), html`<span class=${c.status === 'True' && !/Eviction|Volumes/.test(c.type) ? 'bad-text' : ''}>${c.reason ?? c.status}${c.message ? `: ${c.message}` : ''}</span>`])]}/></div>
    ${moves.map((v) => html`<${Section} id="move" title="Its migration"><div class="card"><p><a href=${to.migration(ns, v.metadata.name)}>${v.metadata.name}</a> <${Badge} tone="busy">${v.status.phase}<//> ${doing(v)} ${ending(v)?.[0]}</p></div><//>`)}
    <${Check} ns=${ns} name=${name} tick=${f.migration}/>
    ${canQuery() && html`<${Section} id="past" title="History" right=${html`<a href=${to.history({ guest: name, ns })}>all</a>`}><${Problem} error=${past.error}/><${Table} columns=${endedColumns} rows=${past.value ?? []} keyOf=${(r) => r.name} caption="Earlier migrations" empty=${past.value ? 'None.' : ''}/><//>`}`;
}
