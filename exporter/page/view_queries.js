// view_queries.js - Queries: the questions of docs/queries.md, and SQL of one's own.
import { at, query, text } from './api.js';
import { dateTime } from './format.js';
import { html, useState } from './lib.js';
import { Problem, Section, Table, save, to, useLoaded } from './parts.js';

// "## 3. Which policy helps?" and the first ```sql block below it.
export function questions(markdown) {
  return markdown.split(/^## \d+\. /m).slice(1).flatMap((part) => {
    const sql = /```sql\n([\s\S]*?)```/.exec(part);
    return sql ? [{ title: part.slice(0, part.indexOf('\n')), sql: sql[1].trim() }] : [];
  });
}

const shown = (name, value) => (value === null ? '–' : /_ms$|^last$/.test(name) && typeof value === 'number' && value > 1e12 ? dateTime(value) : String(value));

export function Queries() {
  const [sql, setSql] = useState(''), [asked, setAsked] = useState('');
  const canned = useLoaded(async (signal) => questions(await text('docs/queries', signal)), []);
  const { value, error, loading } = useLoaded(async (signal) => (asked === '' ? null : query(asked.replace(/\u200b+$/, ''), 1000, signal)), [asked]);
  // The same statement may be run again: the mark behind it is not sent.
  const run = (statement) => setAsked(statement === asked ? `${statement}\u200b` : statement);
  const pick = (q) => { setSql(q.sql); run(q.sql); };
  const csv = async () => save('query.csv', 'text/csv', await text(at.query(asked.replace(/\u200b+$/, ''), '&limit=10000&format=csv')));
  return html`<h1>Queries</h1><p class="dim">One SELECT over what is stored, read-only: <a href=${to.doc('views')}>views and columns</a>, <a href=${to.doc('queries', 'limits')}>limits</a>.</p>
    <${Problem} error=${canned.error}/><p class="chips">${(canned.value ?? []).map((q) => html`<button type="button" onClick=${() => pick(q)}>${q.title}</button>`)}</p>
    <form onSubmit=${(e) => { e.preventDefault(); if (sql.trim()) run(sql.trim()); }}><label>SQL<textarea rows="6" spellcheck="false" value=${sql} onInput=${(e) => setSql(e.target.value)}
      onKeyDown=${(e) => { if (e.key === 'Enter' && e.ctrlKey && sql.trim()) run(sql.trim()); }} placeholder="SELECT name, guest, outcome FROM migrations LIMIT 10"></textarea></label>
      <div class="line"><button type="submit" class="main">Run</button><span class="dim">Ctrl+Enter</span></div></form>
    ${loading && asked !== '' && html`<p class="empty">Running…</p>`}<${Problem} error=${error}/>
    ${value && !error && html`<${Section} id="result" title="Result" count=${value.rows.length} right=${html`<button type="button" onClick=${csv}>CSV</button>`}>
      ${value.cut && html`<p class="problem">Cut off: too many ${value.cut}.</p>`}
      <${Table} rows=${value.rows} caption="Result" empty="No row." columns=${value.columns.map((name) => ({ name, num: value.rows.length > 0 && typeof value.rows[0][name] === 'number', cell: (r) => shown(name, r[name]) }))}/><//>`}`;
}
