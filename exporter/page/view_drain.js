// view_drain.js - Drain: what emptying a node would do, and how far it is.
import { at, get, send } from './api.js';
import { about, bytes, dateTime, duration, kib, ms, now, until, when, words } from './format.js';
import { html, useState } from './lib.js';
import { polls } from './live.js';
import { Act, Badge, Bar, Empty, Facts, GuestLink, NodeLink, Problem, Section, Table, say, to, useLoaded, useTold } from './parts.js';
import { can, whyReadOnly } from './rights.js';

const TONES = { Waiting: 'calm', Moving: 'busy', Moved: 'good', Blocked: 'bad', Failed: 'bad', Stopping: 'warn', Draining: 'busy', Succeeded: 'good', Cancelled: 'calm' };
const ORDER = ['Blocked', 'Failed', 'Moving', 'Stopping', 'Waiting', 'Moved'];
const byNeed = (guests) => [...guests].sort((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state));

const guestColumns = (isPlan) => [
  { name: 'Guest', cell: (g) => html`<${GuestLink} ns=${g.namespace} name=${g.name}/>` },
  { name: isPlan ? 'Would' : 'State', cell: (g) => html`<${Badge} tone=${TONES[g.state]}>${isPlan && g.state === 'Waiting' ? (g.target ? 'migrate' : 'wait') : isPlan && g.state === 'Blocked' ? 'block' : g.state}<//>` },
  { name: 'To', cell: (g) => html`<span class="nowrap"><${NodeLink} name=${g.target}/></span>` },
  { name: 'Memory', num: true, cell: (g) => kib(g.memoryKiB) },
  { name: 'Why', wide: true, cell: (g) => html`${g.reason && html`<b>${g.reason}</b> `}${g.message}` },
  { name: 'What unblocks it', wide: true, cell: (g) => g.unblock },
  ...(isPlan ? [] : [{ name: 'Failed attempts', num: true, cell: (g) => g.attempts || '' }, { name: 'Migration', cell: (g) => g.migration && html`<a href=${to.migration(g.namespace, g.migration)}>${g.migration}</a>` }]),
];

function ShutOff({ status }) {
  if (!status.shutOff) return null;
  return html`<${Section} id="shutoff" title="Shut off, defined on this node only" count=${status.shutOff}><p>A wipe of the host loses them.</p><ul>${(status.shutOffGuests ?? []).map((g) => html`<li>${g}</li>`)}</ul><//>`;
}

const SECONDS = { '': undefined, '30 min': 1800, '1 h': 3600, '2 h': 7200, '4 h': 14400, '8 h': 28800 };
const document_ = (node, deadline) => ({ apiVersion: 'ferry.internal/v1', kind: 'Drain', metadata: { name: node }, spec: { nodeName: node, ...(deadline ? { deadlineSeconds: deadline } : {}) } });

// One sentence to decide by: can the node be emptied, and until when?
function Verdict({ node, status }) {
  const blocked = status.guests.filter((g) => g.state === 'Blocked').length, eta = status.etaSeconds;
  if (status.total === 0) return html`<p class="allwell">${node} is empty already.</p>`;
  return html`<p class=${blocked ? 'problem' : 'allwell'}>${blocked === 0 ? `All ${status.total} guests can leave ${node}` : `${blocked} of ${status.total} guests block it: ${node} cannot be emptied before they are unblocked`}${eta !== null && eta !== undefined ? `; expected in ${duration(eta * 1000)}, at ${when(now() + eta * 1000)}` : ''}.</p>`;
}

export function Plan({ node }) {
  const [deadline, setDeadline] = useState('');
  const { value, error, loading } = useLoaded(async () => (can('drain') ? send('POST', `${at.drains()}?dryRun=All`, { value: document_(node, SECONDS[deadline]) }) : null), [node], 15000);
  if (!can('drain')) return html`<h1>Drain ${node}</h1><p class="problem">${whyReadOnly() || 'Your role may not drain nodes.'}</p>`;
  return html`<div class="title"><h1>Drain <${NodeLink} name=${node}/>?</h1><${Badge}>dry run: nothing has changed<//></div>
    <${Problem} error=${error}/>${!value && loading && html`<${Empty}>Asking what would happen…<//>`}
    ${value && html`<${Verdict} node=${node} status=${value.status}/>
      <div class="line"><label class="inline">Deadline <select value=${deadline} onChange=${(e) => setDeadline(e.target.value)}>${Object.keys(SECONDS).map((d) => html`<option value=${d}>${d || 'none'}</option>`)}</select></label>
        ${deadline && html`<span class="dim">until ${when(now() + SECONDS[deadline] * 1000)}</span>`}
        <${Act} label="Start drain…" tone="main" title=${`Drain ${node}?`} verb="Start drain" text=${`${node} is cordoned and its guests are migrated to other nodes. Blocked guests stay until they are unblocked.`}
          run=${async () => {
    await send('POST', at.drains(), { value: document_(node, SECONDS[deadline]) });
    polls.drains.refresh();
    location.hash = to.drain(node);
  }} done=${`Drain of ${node} started`}/></div>
      <${Table} columns=${guestColumns(true)} rows=${byNeed(value.status.guests)} keyOf=${(g) => g.uuid} caption="What would happen to each guest" empty="No guest runs on it."/>
      <${ShutOff} status=${value.status}/>`}`;
}

export function Drain({ name }) {
  useTold(polls.drains);
  const polled = (polls.drains.value ?? []).find((d) => d.metadata.name === name);
  if (!polled) return html`<h1>Drain ${name}</h1><${Empty}>${polls.drains.value ? 'There is no such drain (any more).' : 'Loading…'}<//>`;
  const { spec, status } = polled, isOver = ['Succeeded', 'Failed', 'Cancelled'].includes(status.state);
  const deadline = spec.deadlineSeconds ? ms(status.since ?? polled.metadata.creationTimestamp) + spec.deadlineSeconds * 1000 : 0;
  const end = status.etaSeconds === null || status.etaSeconds === undefined ? null : now() + status.etaSeconds * 1000;
  return html`<div class="title"><h1>Drain of <${NodeLink} name=${spec.nodeName}/></h1><${Badge} tone=${TONES[status.state]}>${status.state}<//>
      <span class="right">${!isOver && can('stopDrain') && html`<${Act} label="Stop drain" tone="danger-quiet" danger title=${`Stop the drain of ${spec.nodeName}?`} verb="Stop drain"
        text="Migrations that wait are withdrawn; those under way end as they do. The node stays cordoned." run=${async () => {
    await send('DELETE', at.drains(name));
    polls.drains.refresh();
  }} done=${`Drain of ${spec.nodeName} stopped`}/>`}</span></div>
    <div class="card"><div class="line"><${Bar} value=${status.total ? status.moved / status.total : 1} label="guests moved"/> <b>${status.moved} of ${status.total} moved</b></div>
    <${Facts} rows=${[['Guests', ['moving', 'waiting', 'stopping', 'blocked', 'failed'].filter((k) => status[k] > 0).map((k) => `${status[k]} ${k}`).join(', ') || 'none left'],
    ['Expected end', isOver ? '' : end === null ? (status.blocked > 0 ? 'never, while guests are blocked' : 'not known yet') : `${until(end)}${deadline && end > deadline ? ': after the deadline' : ''}`],
    ['Deadline', deadline ? until(deadline) : 'none'], ['Started', dateTime(status.since ?? polled.metadata.creationTimestamp)], ['Message', status.message]]}/></div>
    <${Table} columns=${guestColumns(false)} rows=${byNeed(status.guests ?? [])} keyOf=${(g) => g.uuid} caption="Guests of the drain" empty="No guest is left."/>
    <${ShutOff} status=${status}/>`;
}

export function Drains() {
  useTold(polls.drains, polls.nodes);
  const drains = polls.drains.value ?? [];
  return html`<h1 class="unseen">Drains</h1><${Section} id="drains" title="Drains" count=${drains.length}><${Problem} error=${polls.drains.error}/><${Table} rows=${drains} keyOf=${(d) => d.metadata.name} caption="Drains" empty=${polls.drains.value ? 'No drain yet.' : 'Loading…'} columns=${[
    { name: 'Node', cell: (d) => html`<a href=${to.drain(d.metadata.name)}>${d.spec.nodeName}</a>` }, { name: 'State', cell: (d) => html`<${Badge} tone=${TONES[d.status.state]}>${d.status.state}<//>` },
    { name: 'Moved', cell: (d) => html`<${Bar} value=${d.status.total ? d.status.moved / d.status.total : 1} label="moved"/> ${d.status.moved} of ${d.status.total}` },
    { name: 'Blocked', num: true, cell: (d) => d.status.blocked }, { name: 'Started', num: true, cell: (d) => when(d.status.since ?? d.metadata.creationTimestamp) }]}/><//>
    ${can('drain') && html`<${Section} id="start" title="Empty a node"><p class="chips">${(polls.nodes.value ?? []).map((n) => html`<a class="button" href=${to.plan(n.metadata.name)}>${n.metadata.name}: dry run</a>`)}</p><//>`}`;
}
