// view_history.js - History: migrations that ended, filtered; with their post-mortems, and as CSV.
//
// The filter is the address: #/history?cause=...&since=7d. Values become SQL texts, quoted.
import { at, query, quoted, text } from './api.js';
import { bytes, dateTime, duration, words } from './format.js';
import { html, useState } from './lib.js';
import { Badge, GuestLink, Problem, Route, Section, Table, save, to, useLoaded } from './parts.js';

const DAYS = { '1h': 1 / 24, '1d': 1, '7d': 7, '30d': 30, '365d': 365 };
const ROWS = 200, CSV_ROWS = 10000;

// SQL of a filter.
export function historySql(filter, limit) {
  const where = ["outcome <> ''"];
  for (const key of ['plane', 'cause', 'policy', 'source', 'target', 'outcome', 'guest', 'ns'])
    if (filter[key]) where.push(`${key} = ${quoted(filter[key])}`);
  if (filter.node) where.push(`(source = ${quoted(filter.node)} OR target = ${quoted(filter.node)})`);
  if (DAYS[filter.since]) where.push(`ended_ms > unixepoch('now') * 1000 - ${Math.round(DAYS[filter.since] * 86400000)}`);
  return `SELECT ended_ms, ns, name, guest, source, target, outcome, plane, cause, reason, mode, policy, waited_ms, moving_ms, downtime_ms, sent_bytes, requester
FROM migrations WHERE ${where.join(' AND ')} ORDER BY ended_ms DESC LIMIT ${limit}`;
}

const columns = [
  { name: 'Ended', cell: (r) => dateTime(r.ended_ms) },
  { name: 'Guest', cell: (r) => html`<${GuestLink} ns=${r.ns} name=${r.guest}/>` },
  { name: 'Route', cell: (r) => html`<${Route} from=${r.source} to=${r.target}/>` },
  { name: 'Outcome', cell: (r) => html`<${Badge} tone=${r.outcome === 'succeeded' ? 'good' : r.outcome === 'aborted' ? 'calm' : 'bad'}>${r.outcome}<//>` },
  { name: 'Cause', cell: (r) => html`${r.plane && r.plane !== 'none' ? html`<span class="dim">${r.plane}</span> ` : ''}${r.cause === 'none' ? '' : words(r.cause)}${r.reason && html`<div class="detail">${r.reason}</div>`}`, wide: true },
  { name: 'Mode', cell: (r) => r.mode },
  { name: 'Policy', cell: (r) => r.policy },
  { name: 'Waited', num: true, cell: (r) => duration(r.waited_ms) },
  { name: 'Moved', num: true, cell: (r) => duration(r.moving_ms) },
  { name: 'Downtime', num: true, cell: (r) => duration(r.downtime_ms) },
  { name: 'Sent', num: true, cell: (r) => bytes(r.sent_bytes) },
  { name: '', cell: (r) => html`<span class="nowrap"><a href=${to.migration(r.ns, r.name)} aria-label=${`Details of ${r.name}`}>Details</a> <a href=${at.report(r.ns, r.name)} aria-label=${`Post-mortem of ${r.name}`}>Post-mortem</a></span>` },
];

const FIELDS = [['guest', 'Guest'], ['node', 'Node'], ['source', 'From'], ['target', 'To'], ['policy', 'Policy'], ['cause', 'Cause']];
const PLANES = 'SELECT DISTINCT plane FROM failures WHERE plane IS NOT NULL ORDER BY plane';
const CAUSES = 'SELECT cause, count(*) AS n FROM failures WHERE cause IS NOT NULL GROUP BY cause ORDER BY n DESC LIMIT 60';

export function History({ filter }) {
  const [draft, setDraft] = useState(filter);
  const key = JSON.stringify(filter);
  const { value, error, loading } = useLoaded((signal) => query(historySql(filter, ROWS), ROWS, signal), [key]);
  const choices = useLoaded(async (signal) => ({ planes: (await query(PLANES, 20, signal)).rows, causes: (await query(CAUSES, 60, signal)).rows }), []);
  const set = (name) => (event) => setDraft({ ...draft, [name]: event.target.value });
  const show = (event) => {
    event.preventDefault();
    location.hash = to.history(Object.fromEntries(Object.entries(draft).filter(([, v]) => v)));
  };
  const csv = async () => save('migrations.csv', 'text/csv', await text(at.query(historySql(filter, CSV_ROWS), `&limit=${CSV_ROWS}&format=csv`)));
  return html`<h1 class="unseen">History</h1><form class="filter" onSubmit=${show} aria-label="Filter">
      <label>Outcome <select value=${draft.outcome ?? ''} onChange=${set('outcome')}>${['', 'succeeded', 'failed', 'aborted', 'lost', 'irrecoverable'].map((o) => html`<option value=${o}>${o || 'any'}</option>`)}</select></label>
      <label>Since <select value=${draft.since ?? ''} onChange=${set('since')}>${['', ...Object.keys(DAYS)].map((d) => html`<option value=${d}>${d || 'ever'}</option>`)}</select></label>
      <label>Plane <select value=${draft.plane ?? ''} onChange=${set('plane')}><option value="">any</option>${(choices.value?.planes ?? []).map((p) => html`<option value=${p.plane}>${p.plane}</option>`)}</select></label>
      ${FIELDS.map(([name, label]) => html`<label key=${name}>${label} <input value=${draft[name] ?? ''} list=${name === 'cause' ? 'causes' : undefined} onInput=${set(name)} autocomplete="off"/></label>`)}
      <datalist id="causes">${(choices.value?.causes ?? []).map((c) => html`<option value=${c.cause}>${c.n}</option>`)}</datalist>
      <span class="buttons"><button type="submit" class="main">Show</button><button type="button" onClick=${() => { setDraft({}); location.hash = '#/history'; }}>Clear</button></span></form>
    <${Section} id="past" title="Migrations that ended" count=${value?.rows.length} right=${html`<button type="button" onClick=${csv}>CSV</button>`}>
      <${Problem} error=${error}/>${loading && !value && html`<p class="empty">Loading…</p>`}
      ${value && html`<${Table} columns=${columns} rows=${value.rows} keyOf=${(r) => `${r.ns}/${r.name}/${r.ended_ms}`} caption="Migrations that ended" empty="None fits."/>`}
      ${value?.rows.length === ROWS && html`<p class="dim">The newest ${ROWS}; narrow the filter, or take the CSV.</p>`}<//>`;
}
