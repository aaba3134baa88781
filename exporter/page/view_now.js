// view_now.js - Now: what is wrong, what moves, what waits, what ended lately.
import { at, get, query } from './api.js';
import { Acknowledge, Acts } from './acts.js';
import { ago, bytes, duration, ms, now, rate, until, when, words } from './format.js';
import { Fragment, html, useState } from './lib.js';
import { keyOf, migrations, polls } from './live.js';
import { Badge, Bar, Command, DocLink, Empty, GuestLink, Manager, NodeLink, Route, Section, Table, to, useLoaded, useTold } from './parts.js';
import { Plot } from './plot.js';
import { canQuery, me } from './rights.js';
import { advice, badge, dirtyRate, doing, endedAt, ending, ferry, isMoving, isObserved, isTrouble, manager, isWaiting, outcome, progress, safety, source, state, target } from './story.js';

const CARDS_MAX = 12, ROWS_MAX = 200;
const guestOf = (vmim) => ({ ns: vmim.metadata.namespace, name: vmim.spec.vmiName });
const link = (vmim) => to.migration(vmim.metadata.namespace, vmim.metadata.name);

// ---- what is wrong ----

const KINDS = {
  ordinary: 'A migration failed', irrecoverable: 'Post-copy broke and a part of the guest is gone', lost: 'The guest is gone from both hosts',
  split: 'The guest runs on both hosts', unknown: 'Nobody can prove where the guest is', down: 'The guest ended during the migration',
  stranded: 'The guest is stopped half-way, and no migration is about it', 'internal-error': 'An internal error froze the migration',
  unreadable: 'The stored migration cannot be read',
};

function Incident({ incident }) {
  const { spec, status, metadata } = incident;
  const { value: verdict } = useLoaded(async (signal) => (spec.migrationName ? get(at.verdict(metadata.namespace, spec.migrationName), signal) : null), [metadata.uid]);
  const grave = status.kind !== 'ordinary';
  return html`<article class=${`card ${grave ? 'bad' : 'warn'}`}>
    <div class="line"><${Badge} tone=${grave ? 'bad' : 'warn'}>${status.kind}<//> <strong><${GuestLink} ns=${metadata.namespace} name=${spec.vmiName}/></strong>
      <span>${KINDS[status.kind] ?? ''}${status.cause ? html`: ${words(status.cause)}` : ''}</span>
      <span class="dim right">${ago(status.since)}${status.nodeName ? html`, look at <${NodeLink} name=${status.nodeName}/> first` : ''}</span></div>
    ${verdict?.action && html`<p><b>What to do:</b> ${verdict.action}</p>`}
    <div class="line">${spec.migrationName && html`<a href=${to.migration(metadata.namespace, spec.migrationName)}>Why</a>`}
      ${verdict?.runbook && html`<${DocLink} path=${verdict.runbook}/>`}
      <span class="right"><${Acknowledge} incident=${incident}/></span></div></article>`;
}

function Trouble({ vmim }) {
  const [word, tone] = badge(vmim), [safe] = safety(vmim), end = ending(vmim);
  return html`<article class=${`card ${tone === 'warn' ? 'warn' : 'bad'}`}>
    <div class="line"><${Badge} tone=${tone}>${word}<//> <strong><a href=${link(vmim)}>${vmim.spec.vmiName}</a></strong> <${Route} from=${source(vmim)} to=${target(vmim)}/>${isObserved(vmim) && html` <${Manager} name=${manager(vmim)}/>`}</div>
    <p>${doing(vmim)}</p><p><b>Guest:</b> ${safe} ${end && end[0]}</p>
    ${isObserved(vmim) && html`${advice(vmim).map((line) => html`<p><b>What to do:</b> ${line}</p>`)}<${Command} advice=${ferry(vmim).advice}/>`}
    <div class="line"><a href=${link(vmim)}>Details</a><span class="right"><${Acts} vmim=${vmim}/></span></div></article>`;
}

// ---- what moves ----

function Numbers({ vmim }) {
  const s = ferry(vmim).sample, limit = state(vmim).migrationConfiguration?.maxDowntimeMs;
  if (!s) return null;
  return html`<dl class="numbers">
    <div><dt>remaining</dt><dd>${bytes(s.remainingBytes)}</dd></div>
    <div><dt>bandwidth</dt><dd>${rate(s.transferRateBytesPerSecond)}</dd></div>
    <div><dt>dirty rate</dt><dd class=${dirtyRate(vmim) > s.transferRateBytesPerSecond ? 'bad-text' : ''}>${rate(dirtyRate(vmim))}</dd></div>
    <div><dt>iteration</dt><dd>${s.iteration}</dd></div>
    <div><dt>downtime</dt><dd>${s.expectedDowntimeMs ? duration(s.expectedDowntimeMs) : '–'}${limit ? html`<span class="dim"> of ${duration(limit)}</span>` : ''}</dd></div>
    ${s.throttlePercent > 0 && html`<div><dt>throttle</dt><dd>${s.throttlePercent} %</dd></div>`}</dl>`;
}

export function Moving({ vmim }) {
  const [word, tone] = badge(vmim), end = ending(vmim), done = progress(vmim), f = ferry(vmim), trace = migrations.traces.get(keyOf(vmim));
  const modes = (f.modeHistory ?? []).slice(1).map((m) => ({ at: ms(m.at), label: m.mode, tone: 'mode' }));
  return html`<article class="card moving"><div class="line"><strong><a href=${link(vmim)}>${guestOf(vmim).ns !== 'default' ? `${guestOf(vmim).ns}/` : ''}${vmim.spec.vmiName}</a></strong>
      <${Route} from=${source(vmim)} to=${target(vmim)}/> <${Badge} tone=${tone}>${state(vmim).mode || word}<//>${isObserved(vmim) && html` <${Manager} name=${manager(vmim)}/>`}<span class="right"><${Acts} vmim=${vmim}/></span></div>
    <div class="line"><${Bar} value=${done} label=${`memory of ${vmim.spec.vmiName} copied`}/><b class="percent">${done === null ? '' : `${Math.floor(done * 100)} %`}</b>
      <span class=${end?.[1] === 'bad' ? 'bad-text' : ''}>${end?.[0]}</span></div>
    <${Numbers} vmim=${vmim}/>
    ${trace && trace.t.length > 1 && html`<div class="pair"><${Plot} small height=${54} t=${trace.t} unit=${bytes} marks=${modes} label=${`Remaining memory, now ${bytes(trace.remaining.at(-1))}`}
        series=${[{ name: 'remaining', colour: '--remaining', values: trace.remaining, fill: true }]}/>
      <${Plot} small height=${54} t=${trace.t} unit=${rate} marks=${modes} label=${`Dirty rate ${rate(trace.dirty.at(-1))} against bandwidth ${rate(trace.bandwidth.at(-1))}`}
        series=${[{ name: 'bandwidth', colour: '--bandwidth', values: trace.bandwidth }, { name: 'dirty rate', colour: '--dirty', values: trace.dirty }]}/></div>`}
    ${f.monitor && html`<p class="decision"><span class="dim">${when(f.monitor.at)}</span> ${f.monitor.text}</p>`}</article>`;
}

const movingColumns = [
  { name: 'Guest', cell: (v) => html`<a href=${link(v)}>${v.spec.vmiName}</a>` },
  { name: 'Route', cell: (v) => html`<${Route} from=${source(v)} to=${target(v)}/>` },
  { name: 'Mode', cell: (v) => html`${state(v).mode ?? v.status.phase}${isObserved(v) && html` <${Manager} name=${manager(v)}/>`}` },
  { name: 'Copied', cell: (v) => html`<${Bar} value=${progress(v)} label="copied"/>` },
  { name: 'Remaining', num: true, cell: (v) => bytes(ferry(v).sample?.remainingBytes) },
  { name: 'Bandwidth', num: true, cell: (v) => rate(ferry(v).sample?.transferRateBytesPerSecond) },
  { name: 'Dirty rate', num: true, cell: (v) => rate(dirtyRate(v)) },
  { name: 'Expected in', num: true, cell: (v) => duration(ferry(v).etaMs) },
];

const waitingColumns = [
  { name: 'Guest', cell: (v) => html`<a href=${link(v)}>${v.metadata.namespace !== 'default' ? `${v.metadata.namespace}/` : ''}${v.spec.vmiName}</a>` },
  { name: 'Waits for', wide: true, cell: (v) => html`${ferry(v).pending ? html`<${Badge}>${words(ferry(v).pending.reason)}<//> ` : ''}${doing(v)}` },
  { name: 'Since', num: true, cell: (v) => ago(ferry(v).pending?.since ?? v.metadata.creationTimestamp) },
  { name: 'Fails at', num: true, cell: (v) => until(ferry(v).pending?.deadline) },
  { name: 'Class', cell: (v) => words(v.spec.priority ?? 'default') },
  { name: '', cell: (v) => html`<${Acts} vmim=${v}/>` },
];

// ---- what ended lately: seen by this tab, and from the store ----

const ENDED = `SELECT ns, name, guest, source, target, outcome, cause, guest_at, ended_ms, moving_ms, downtime_ms FROM migrations
WHERE outcome <> '' ORDER BY ended_ms DESC LIMIT 8`;
const fromObject = (v) => ({ ns: v.metadata.namespace, name: v.metadata.name, guest: v.spec.vmiName, source: source(v), target: target(v), outcome: outcome(v),
  cause: ferry(v).verdict?.cause ?? '', ended_ms: endedAt(v), moving_ms: ferry(v).final?.totalMs, downtime_ms: ferry(v).final?.downtimeMs });

export const endedColumns = [
  { name: 'Ended', cell: (r) => when(r.ended_ms) },
  { name: 'Guest', cell: (r) => html`<${GuestLink} ns=${r.ns} name=${r.guest}/>` },
  { name: 'Route', cell: (r) => html`<${Route} from=${r.source} to=${r.target}/>` },
  { name: 'Outcome', cell: (r) => html`<${Badge} tone=${r.outcome === 'succeeded' ? 'good' : r.outcome === 'aborted' ? 'calm' : 'bad'}>${r.outcome}<//>` },
  { name: 'Cause', cell: (r) => (r.cause === 'none' ? '' : words(r.cause)) },
  { name: 'Took', num: true, cell: (r) => duration(r.moving_ms) },
  { name: 'Downtime', num: true, cell: (r) => duration(r.downtime_ms) },
  { name: '', cell: (r) => html`<a href=${to.migration(r.ns, r.name)} aria-label=${`Details of ${r.name}`}>Details</a>` },
];

function Ended() {
  const { value } = useLoaded(async (signal) => (canQuery() ? (await query(ENDED, 8, signal)).rows : []), [migrations.ended.size], 60000);
  const rows = new Map((value ?? []).map((row) => [`${row.ns}/${row.name}`, row]));
  for (const [key, vmim] of migrations.ended) if (!rows.has(key)) rows.set(key, fromObject(vmim));
  const list = [...rows.values()].sort((a, b) => b.ended_ms - a.ended_ms).slice(0, 8);
  return html`<${Section} id="ended" title="Ended lately" right=${canQuery() && html`<a href="#/history">History</a>`}>
    <${Table} columns=${endedColumns} rows=${list} keyOf=${(r) => `${r.ns}/${r.name}`} caption="Migrations that ended lately" empty="None yet."/><//>`;
}

export function Now() {
  const [all, setAll] = useState(false);
  useTold(migrations, polls.incidents, polls.nodes, polls.drains);
  const list = [...migrations.objects.values()].sort((a, b) => ms(a.metadata.creationTimestamp) - ms(b.metadata.creationTimestamp));
  const trouble = list.filter(isTrouble), moving = list.filter((v) => isMoving(v) && !isTrouble(v)), waiting = list.filter((v) => isWaiting(v) && !isTrouble(v));
  const open = (polls.incidents.value ?? []).filter((i) => i.status.state === 'open').sort((a, b) => (a.status.kind === 'ordinary') - (b.status.kind === 'ordinary') || ms(b.status.since) - ms(a.status.since));
  const nodes = polls.nodes.value ?? [], down = nodes.filter((n) => !n.status.ferry.connected), drains = (polls.drains.value ?? []).filter((d) => ['Draining', 'Blocked'].includes(d.status.state));
  const wrong = open.length + trouble.length + down.length;
  return html`<h1 class="unseen">Now</h1>
    <${Section} id="wrong" title="Needs attention" count=${wrong}>
      ${wrong === 0 && html`<p class="allwell">Nothing needs an operator.</p>`}
      ${trouble.map((v) => html`<${Trouble} key=${keyOf(v)} vmim=${v}/>`)}
      ${open.slice(0, 20).map((i) => html`<${Incident} key=${i.metadata.uid} incident=${i}/>`)}
      ${open.length > 20 && html`<p class="dim">and ${open.length - 20} more incidents</p>`}
      ${down.length > 0 && html`<article class="card warn"><div class="line"><${Badge} tone="warn">unreachable<//> ${down.map((n, i) => html`<${Fragment}>${i > 0 ? ', ' : ''}<${NodeLink} name=${n.metadata.name}/><//>`)}</div><p>${down[0].status.ferry.error}</p></article>`}<//>
    <${Section} id="moving" title="Moving" count=${moving.length}>
      ${moving.length === 0 ? html`<${Empty}>No migration is under way.<//>` : html`<div class="cards">${moving.slice(0, CARDS_MAX).map((v) => html`<${Moving} key=${keyOf(v)} vmim=${v}/>`)}</div>`}
      <${Table} columns=${movingColumns} rows=${moving.slice(CARDS_MAX, all ? ROWS_MAX * 10 : ROWS_MAX)} keyOf=${keyOf} caption="More migrations under way"/><//>
    <${Section} id="waiting" title="Waiting" count=${waiting.length}>
      <${Table} columns=${waitingColumns} rows=${waiting.slice(0, all ? ROWS_MAX * 10 : ROWS_MAX)} keyOf=${keyOf} caption="Migrations that wait" empty="No migration waits."/>
      ${!all && Math.max(waiting.length, moving.length - CARDS_MAX) > ROWS_MAX && html`<button type="button" onClick=${() => setAll(true)}>Show all</button>`}<//>
    ${migrations.cut && html`<p class="problem">There are more migrations than this page keeps; it shows the first 2000.</p>`}
    ${drains.length > 0 && html`<${Section} id="drains" title="Drains" count=${drains.length}>
      <${Table} rows=${drains} keyOf=${keyOf} caption="Drains under way" columns=${[
    { name: 'Node', cell: (d) => html`<a href=${to.drain(d.metadata.name)}>${d.spec.nodeName}</a>` },
    { name: 'State', cell: (d) => html`<${Badge} tone=${d.status.state === 'Blocked' ? 'bad' : 'busy'}>${d.status.state}<//>` },
    { name: 'Moved', cell: (d) => html`<${Bar} value=${d.status.total ? d.status.moved / d.status.total : 1} label="moved"/> ${d.status.moved} of ${d.status.total}` },
    { name: 'Blocked', num: true, cell: (d) => d.status.blocked },
    { name: 'Expected end', num: true, cell: (d) => (d.status.etaSeconds === null || d.status.etaSeconds === undefined ? 'not known' : until(now() + d.status.etaSeconds * 1000)) }]}/><//>`}
    ${me.rules.length > 0 && html`<${Ended}/>`}`;
}
