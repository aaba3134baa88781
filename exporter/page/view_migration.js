// view_migration.js - one migration: what it does and why, its plots, both hosts on one clock, decisions with what they
// were made from, the verdict with evidence for and against.
//
// The object comes from the watch while it is under way, else by asking for it; the record (timeline, decisions,
// samples from before this page was opened) is that of its post-mortem, read again when something fell.
import { Acts } from './acts.js';
import { at, get } from './api.js';
import { bytes, clock, dateTime, duration, ms, rate, until, when, words } from './format.js';
import { Fragment, html, useMemo, useState } from './lib.js';
import { keyOf, migrations } from './live.js';
import { Badge, Bar, Command, DocLink, Empty, Facts, GuestLink, Manager, NodeLink, Problem, Route, Section, Table, useLoaded, useTold } from './parts.js';
import { Plot } from './plot.js';
import { advice, badge, doing, endedAt, ending, failure, ferry, isFinal, isMoving, isObserved, isWaiting, manager, outcome, progress, safety, source, state, target } from './story.js';

const RECORD_MS = 5000, OBJECT_MS = 4000;

// Samples of the record, then those that the watch brought since.
function joined(record, live) {
  const out = { t: [], remaining: [], dirty: [], bandwidth: [] };
  for (const s of record?.samples ?? []) {
    out.t.push(s.atMs);
    out.remaining.push(s.remaining);
    out.dirty.push(s.dirtyBps);
    out.bandwidth.push(s.bandwidthBps);
  }
  const last = out.t.at(-1) ?? 0;
  live?.t.forEach((t, i) => {
    if (t <= last) return;
    out.t.push(t);
    for (const key of ['remaining', 'dirty', 'bandwidth']) out[key].push(live[key][i]);
  });
  return out;
}

function Plots({ record, live }) {
  const data = joined(record, live);
  if (data.t.length < 2) return null;
  const marks = [...(record?.modes ?? []).map((m) => ({ at: m.atMs, label: m.mode, tone: 'mode' })),
    ...(record?.decisions ?? []).filter((d) => !d.shadow && d.action !== 'nothing').map((d) => ({ at: d.atMs, label: words(d.decision), tone: 'decision' }))].sort((a, b) => a.at - b.at);
  return html`<${Section} id="plots" title="Samples"><div class="pair wide">
    <${Plot} t=${data.t} unit=${bytes} marks=${marks} label=${`Memory remaining over time, last ${bytes(data.remaining.at(-1))}`} series=${[{ name: 'remaining', colour: '--remaining', values: data.remaining, fill: true }]}/>
    <${Plot} t=${data.t} unit=${rate} marks=${marks.filter((m) => m.tone === 'mode')} label=${`Dirty rate against bandwidth over time, last ${rate(data.dirty.at(-1))} against ${rate(data.bandwidth.at(-1))}`}
      series=${[{ name: 'bandwidth', colour: '--bandwidth', values: data.bandwidth }, { name: 'dirty rate', colour: '--dirty', values: data.dirty }]}/></div><//>`;
}

// ---- both hosts on one clock ----

const LANES = ['source', 'ferry', 'target'];
const offset = (value) => `${value < 0 ? '−' : '+'}${duration(Math.abs(value))}`;

// Of what was tried again and again the first two times and the last two are shown.
const SAME_MAX = 4;
function folded(lines) {
  const keyed = lines.map((line) => `${line.side} ${line.kind} ${line.what} ${line.detail.replace(/\d+/g, '#')}`), counts = new Map(), seen = new Map();
  for (const key of keyed) counts.set(key, (counts.get(key) ?? 0) + 1);
  return lines.flatMap((line, i) => {
    const n = counts.get(keyed[i]), nth = (seen.get(keyed[i]) ?? 0) + 1;
    seen.set(keyed[i], nth);
    if (n <= SAME_MAX || nth <= 2 || nth === n) return [line];
    return nth === n - 1 ? [{ ...line, times: n - 3 }] : [];
  });
}

function Timeline({ record, names }) {
  const lines = useMemo(() => folded(record?.timeline ?? []), [record]);
  if (lines.length === 0) return null;
  const shown = lines.length > 400 ? [...lines.slice(0, 200), null, ...lines.slice(-200)] : lines;
  return html`<${Section} id="timeline" title="Timeline of both hosts" right=${html`<span class="dim">zero: hand-off, ${dateTime(record.zeroMs)}</span>`}>
    <div class="scroll" tabindex="0" role="region" aria-label="Timeline"><table class="timeline"><thead><tr><th scope="col" class="num">Time</th>${LANES.map((lane) => html`<th scope="col">${lane === 'ferry' ? 'Ferry' : `${lane === 'source' ? 'Source' : 'Target'} ${names[lane]}`}</th>`)}</tr></thead>
    <tbody>${shown.map((line) => (line === null ? html`<tr><td colspan="4" class="dim">${lines.length - 400} lines left out; the post-mortem page has them</td></tr>`
    : html`<tr class=${line.bad ? 'bad' : ''}><td class="num" title=${dateTime(line.atMs)}>${offset(line.afterMs)}</td>${LANES.map((lane) => html`<td data-lane=${lane}>${line.side === lane
      && html`<span class="kind">${line.kind}</span> <b>${line.what}</b> ${line.detail && html`<span class="detail">${line.detail}</span>`} ${line.times && html`<${Badge}>${line.times} times<//>`}`}</td>`)}</tr>`))}</tbody></table></div><//>`;
}

// ---- decisions ----

const decisionColumns = [
  { name: 'Time', cell: (d) => clock(d.atMs), num: true },
  { name: 'Decision', cell: (d) => html`<b>${words(d.decision)}</b>${d.shadow ? html` <${Badge}>shadow<//>` : ''}<div class="detail">${d.text}</div>`, wide: true },
  { name: 'Action', cell: (d) => words(d.action) },
  { name: 'Remaining', num: true, cell: (d) => bytes(d.inputs.remaining) },
  { name: 'Bandwidth', num: true, cell: (d) => rate(d.inputs.bandwidthBps) },
  { name: 'Dirty rate', num: true, cell: (d) => rate(d.inputs.dirtyBps) },
  { name: 'Iteration', num: true, cell: (d) => d.inputs.iteration },
  { name: 'Estimate', num: true, cell: (d) => (d.inputs.estimateMs < 0 ? '–' : duration(d.inputs.estimateMs)) },
  { name: 'Downtime limit', num: true, cell: (d) => (d.inputs.downtimeMs > 0 ? duration(d.inputs.downtimeMs) : '–') },
  { name: 'Elapsed of timeout', num: true, cell: (d) => `${duration(d.inputs.elapsedMs)} of ${duration(d.inputs.budgetMs)}` },
];

// ---- the verdict ----

const UNITS = { ms: duration, bytes, 'bytes/s': rate };
const number = ({ value, unit }) => (UNITS[unit] ? UNITS[unit](value) : `${Number.isInteger(value) ? value : value.toFixed(2)} ${unit}`);

function Verdict({ verdict, record }) {
  const points = verdict?.points ?? [];
  if (!verdict) return null;
  const isAgainst = (p) => p.standing === 'against';
  const list = (some) => html`<ul class="points">${some.map((p) => html`<li><span class="dim">${[p.side, p.origin, p.atMs ? clock(p.atMs) : ''].filter(Boolean).join(', ')}</span> ${p.quote && html`<q>${p.quote}</q>`} ${p.note}</li>`)}</ul>`;
  const pro = points.filter((p) => p.standing === 'for'), contra = points.filter(isAgainst);
  return html`<${Section} id="verdict" title="Verdict" right=${html`<span class="dim">${verdict.confidencePercent} % sure, rule ${verdict.rule}</span>`}>
    <${Facts} rows=${[['Cause', html`<b>${words(verdict.cause)}</b>`], ['Plane', words(verdict.plane)], ['Failed at', words(verdict.failedAt)], ['Resembles', verdict.resembles && words(verdict.resembles)],
    ['What to do', verdict.action], ['Read', verdict.runbook && html`<${DocLink} path=${verdict.runbook}/>`]]}/>
    <div class="pair"><div><h3>Evidence for</h3>${pro.length ? list(pro) : html`<${Empty}>None.<//>`}</div><div><h3>Evidence against</h3>${contra.length ? list(contra) : html`<${Empty}>None.<//>`}</div></div>
    ${(verdict.numbers ?? []).length > 0 && html`<dl class="facts columns">${verdict.numbers.map((n) => html`<${Fragment} key=${n.name}><dt>${words(n.name.replace(/_(ms|bps|pct)$/, ''))}</dt><dd>${number(n)}</dd><//>`)}</dl>`}
    ${(record?.wouldHaveHelped ?? []).length > 0 && html`<h3>What would have helped</h3><ul>${record.wouldHaveHelped.map((line) => html`<li>${line}</li>`)}</ul>`}<//>`;
}

function Rejections({ vmim }) {
  const list = ferry(vmim).rejections ?? [];
  if (list.length === 0 || isMoving(vmim) || isFinal(vmim)) return null;
  return html`<${Section} id="rejections" title="Why no node takes it"><${Table} rows=${list} keyOf=${(r) => r.node} caption="Reasons by node" columns=${[
    { name: 'Node', cell: (r) => html`<${NodeLink} name=${r.node}/>` }, { name: 'Reason', cell: (r) => words(r.reason) }, { name: 'Detail', cell: (r) => r.detail, wide: true },
    { name: 'What that means', cell: (r) => r.message, wide: true }, { name: 'For ever', cell: (r) => (r.forEver ? 'yes' : 'may change') }]}/><//>`;
}

function flat(value, path = '') {
  return Object.entries(value ?? {}).flatMap(([key, one]) => (one !== null && typeof one === 'object' ? flat(one, `${path}${key}.`) : [[`${path}${key}`, String(one)]]));
}

function Policy({ vmim, record }) {
  const all = flat(state(vmim).migrationConfiguration ?? record?.configuration), changed = record?.policy ?? {};
  if (all.length === 0) return null;
  return html`<${Section} id="policy" title="Effective policy" right=${html`<span class="dim">${state(vmim).migrationPolicyName ? `policy ${state(vmim).migrationPolicyName}` : 'no policy applies: defaults'}; bold: not the default</span>`}>
    <dl class="facts columns">${all.map(([key, value]) => html`<${Fragment} key=${key}><dt class=${key in changed ? 'changed' : ''}>${key}</dt><dd class=${key in changed ? 'changed' : ''}>${value}</dd><//>`)}</dl>
    ${(ferry(vmim).flags ?? []).length > 0 && html`<p><span class="dim">Flags:</span> ${ferry(vmim).flags.join(', ')}</p>`}
    ${(ferry(vmim).flagsLeftOut ?? []).map((text) => html`<p class="dim">${text}</p>`)}<//>`;
}

// ---- the head: the answers ----

function Answers({ vmim, verdict }) {
  const [safe, safeTone] = safety(vmim), end = ending(vmim), failed = failure(vmim, verdict), todo = advice(vmim, verdict), f = ferry(vmim), s = f.sample, done = progress(vmim);
  const rows = [
    [isFinal(vmim) ? 'Outcome' : isWaiting(vmim) ? 'Why it waits' : 'What it does', isFinal(vmim) ? html`${outcome(vmim)} at ${when(endedAt(vmim))}${f.final ? html`, took ${duration(f.final.totalMs)}, downtime ${duration(f.final.downtimeMs)}, ${bytes(f.final.bytes)} sent, ${f.final.iterations} iterations` : ''}`
      : html`${f.pending && html`<${Badge} tone=${f.recovering ? 'bad' : 'calm'}>${words(f.pending.reason)}<//> `}${doing(vmim)}`],
    failed && ['Why it failed', html`<span class="bad-text">${failed}</span>`],
    end && [isWaiting(vmim) ? 'Until when' : 'Will it finish', html`<span class=${end[1] === 'bad' ? 'bad-text' : ''}>${end[0]}</span>`],
    isObserved(vmim) && ['Managed by', `${manager(vmim)}: Ferry observes it and gives no order about it, so nothing can be aborted or recovered here`],
    ['Is the guest safe', html`<span class=${safeTone === 'bad' ? 'bad-text' : safeTone === 'good' ? 'good-text' : ''}>${safe}</span>`],
    todo.length > 0 && ['What to do', html`${todo.map((line) => html`<div>${line}</div>`)}${!isFinal(vmim) && html`<${Command} advice=${f.advice}/>`}`],
    !isFinal(vmim) && f.monitor && ['Last decision', html`${f.monitor.text} <span class="dim">(${when(f.monitor.at)})</span>`],
    f.recovery && ['Recovery', `${f.recovery.state}, ${f.recovery.tries} attempts${f.recovery.path ? `, ${f.recovery.path}` : ''}${f.recovery.until ? `, until ${until(f.recovery.until)}` : ''}`],
    f.remedy && ['Remedy', f.remedy],
    f.error && !verdict && ['libvirt’s error', f.error.text],
  ];
  return html`<div class="answers card ${isFinal(vmim) ? '' : 'live'}">
    ${!isFinal(vmim) && done !== null && html`<div class="line"><${Bar} value=${done} label="memory copied"/><b class="percent">${Math.floor(done * 100)} %</b>
      ${s && html`<span class="dim">${bytes(s.remainingBytes)} of ${bytes(s.totalBytes)}, ${rate(s.transferRateBytesPerSecond)}, iteration ${s.iteration}${s.throttlePercent > 0 ? `, throttled ${s.throttlePercent} %` : ''}</span>`}</div>`}
    <${Facts} rows=${rows}/></div>`;
}

export function Migration({ ns, name }) {
  useTold(migrations);
  const key = `${ns}/${name}`, live = migrations.objects.get(key), seen = live ?? migrations.ended.get(key);
  const stored = useLoaded(async (signal) => (live ? null : get(at.migrations(ns, name), signal)), [key, live === undefined], live ? 0 : OBJECT_MS);
  const vmim = live ?? stored.value ?? seen ?? null, isEnded = vmim !== null && isFinal(vmim);
  const fell = vmim ? [vmim.status.phase, state(vmim).mode, ferry(vmim).monitor?.decision, ferry(vmim).recovery?.state, ferry(vmim).verdict?.cause].join() : '';
  const record = useLoaded((signal) => get(at.record(ns, name), signal), [key, fell], isEnded || vmim === null ? 0 : RECORD_MS);
  const whole = record.value?.verdict ?? null;
  const names = useMemo(() => ({ source: record.value?.source ?? '', target: record.value?.target ?? '' }), [record.value]);
  if (vmim === null && record.value === null) {
    const error = record.error ?? stored.error;
    return html`<h1>${name}</h1>${error ? html`<${Problem} error=${error}/><p><a href="#/history">History</a> has what is stored.</p>` : html`<${Empty}>Loading…<//>`}`;
  }
  if (vmim === null) return html`<${Recorded} ns=${ns} name=${name} record=${record.value} verdict=${whole} names=${names}/>`;
  const [word, tone] = badge(vmim);
  return html`<div class="title"><h1><${GuestLink} ns=${ns} name=${vmim.spec.vmiName}/> ${(source(vmim) || target(vmim)) && html`<${Route} from=${source(vmim)} to=${target(vmim)}/>`}</h1>
      <${Badge} tone=${tone}>${word}<//>${state(vmim).mode && html`<${Badge}>${state(vmim).mode}<//>`}${isObserved(vmim) && html`<${Manager} name=${manager(vmim)}/>`}<span class="right"><${Acts} vmim=${vmim}/></span></div>
    <p class="dim">${name} in ${ns}; requested ${when(vmim.metadata.creationTimestamp)} by ${ferry(vmim).requester} (${words(ferry(vmim).origin)}), ${words(vmim.spec.priority ?? 'default')}
      ${isEnded && html`; <a href=${at.report(ns, name)}>post-mortem page</a>`}</p>
    <${Answers} vmim=${vmim} verdict=${whole}/>
    <${Rejections} vmim=${vmim}/>
    ${isEnded && html`<${Verdict} verdict=${whole} record=${record.value}/>`}
    <${Plots} record=${record.value} live=${migrations.traces.get(keyOf(vmim))}/>
    <${Rest} vmim=${vmim} record=${record} names=${names}/>`;
}

function Rest({ vmim, record, names }) {
  const [all, setAll] = useState(false);
  const decisions = (record.value?.decisions ?? []).slice(-100).reverse();
  return html`<${Problem} error=${record.error} what="The record"/>
    ${decisions.length > 0 && html`<${Section} id="decisions" title="Decisions" count=${record.value.decisions.length} right=${html`<span class="dim">newest first, with what they were made from</span>`}>
      <${Table} columns=${decisionColumns} rows=${decisions.slice(0, all ? 100 : 6)} keyOf=${(d) => `${d.atMs}${d.monitor}${d.decision}`} caption="Decisions of the monitors"/>
      ${!all && decisions.length > 6 && html`<p><button type="button" onClick=${() => setAll(true)}>Show ${decisions.length}</button></p>`}<//>`}
    <${Timeline} record=${record.value} names=${names}/>
    <${Policy} vmim=${vmim} record=${record.value}/>`;
}

// Only the store has it: its object is gone.
function Recorded({ ns, name, record, verdict, names }) {
  return html`<div class="title"><h1><${GuestLink} ns=${ns} name=${record.guest}/> <${Route} from=${record.source} to=${record.target}/></h1><${Badge} tone=${record.outcome === 'succeeded' ? 'good' : 'bad'}>${record.outcome || 'unfinished'}<//></div>
    <p class="dim">${name} in ${ns}, from the store; <a href=${at.report(ns, name)}>post-mortem page</a></p>
    <div class="card"><${Facts} rows=${Object.entries(record.facts)}/></div>
    <${Verdict} verdict=${verdict} record=${record}/><${Plots} record=${record}/>
    <${Rest} vmim=${{ metadata: {}, status: {}, spec: {} }} record=${{ value: record }} names=${names}/>`;
}
