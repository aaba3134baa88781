// parts.js - small components that the views share, links, questions to the user and their answers.
//
// Text is always a child or an attribute of a vnode, never markup: names come from hosts.
import { send } from './api.js';
import { Fragment, html, useEffect, useReducer, useRef, useState } from './lib.js';

// ---- links: everything that has a view has an address ----

const part = encodeURIComponent;
export const to = {
  migration: (ns, name) => `#/migration/${part(ns)}/${part(name)}`,
  guest: (ns, name) => `#/guest/${part(ns)}/${part(name)}`,
  node: (name) => `#/fleet/${part(name)}`,
  drain: (name) => `#/drain/${part(name)}`,
  plan: (node) => `#/drain-plan/${part(node)}`,
  runbook: (name) => `#/runbook/${part(name)}`,
  doc: (name, anchor) => `#/doc/${part(name)}${anchor ? `/${part(anchor)}` : ''}`,
  history: (filter) => `#/history?${new URLSearchParams(filter)}`,
};
// Where a link of a document leads, also one by its path in the source tree; null: to nothing that is served.
export function docLink(href) {
  if (/^https?:\/\//.test(href)) return href;
  const found = /^(?:\.\/|\.\.\/)*(?:docs\/)?(runbooks\/)?([A-Za-z0-9_-]+)\.md(?:#(.*))?$/.exec(href);
  return found ? (found[1] ? to.runbook(found[2]) : to.doc(found[2], found[3])) : null;
}
export const DocLink = ({ path }) => {
  const where = docLink(path), name = path.includes('runbooks/') ? `Runbook ${path.replace(/^.*\//, '').replace(/\.md.*/, '')}` : 'About such causes';
  return where ? html`<a href=${where}>${name}</a>` : path;
};
export const GuestLink = ({ ns, name }) => html`<a href=${to.guest(ns, name)}>${ns !== 'default' && html`<span class="dim">${ns}/</span>`}${name}</a>`;
export const NodeLink = ({ name }) => (name ? html`<a href=${to.node(name)}>${name}</a>` : html`<span class="dim">–</span>`);
export const Route = ({ from, to: target }) => html`<span class="route">${from ? html`<${NodeLink} name=${from}/>` : '?'}${' '}<span aria-label="to">→</span>${' '}${target ? html`<${NodeLink} name=${target}/>` : '?'}</span>`;

// ---- listening ----

// Shows anew what a Poll or a watch has.
export function useTold(...sources) {
  const [, again] = useReducer((n) => n + 1, 0);
  useEffect(() => {
    const ends = sources.map((source) => source.subscribe(again));
    return () => ends.forEach((end) => end());
  }, sources);
}

// A value that is asked for once and again when `keys` change. {value, error, loading}
export function useLoaded(load, keys, everyMs = 0) {
  const [got, set] = useState({ value: null, error: null, loading: true });
  useEffect(() => {
    const leave = new AbortController();
    let timer = 0;
    const turn = async () => {
      let result;
      try {
        result = { value: await load(leave.signal), error: null, loading: false };
      } catch (error) {
        result = { error, loading: false };
      }
      if (leave.signal.aborted) return;
      set((before) => ({ value: before.value, ...result }));
      if (everyMs > 0) timer = setTimeout(turn, document.hidden ? everyMs * 10 : everyMs);
    };
    set((before) => ({ ...before, loading: true }));
    void turn();
    return () => {
      leave.abort();
      clearTimeout(timer);
    };
  }, keys);
  return got;
}

// ---- small things ----

export const Badge = ({ tone = 'calm', children }) => html`<span class=${`badge ${tone}`}>${children}</span>`;
export const Bar = ({ value, label, tone = '' }) => html`<progress class=${tone} max="1" value=${value ?? undefined} aria-label=${label}></progress>`;
export const Problem = ({ error, what }) => error && html`<p class="problem" role="alert">${what ? `${what}: ` : ''}${error.message}</p>`;
// An observed migration: who manages it, and the command that would help it.
export const Manager = ({ name }) => html`<${Badge}>observed, manager: ${name}<//>`;
export const Command = ({ advice }) => advice?.command && html`<p>On <${NodeLink} name=${advice.node}/>: <code>${advice.command}</code></p>`;
export const Empty = ({ children }) => html`<p class="empty">${children}</p>`;
export const Facts = ({ rows }) => html`<dl class="facts">${rows.filter((row) => row && ![undefined, null, false, ''].includes(row[1]))
    .map(([name, value]) => html`<${Fragment} key=${name}><dt>${name}</dt><dd>${value}</dd><//>`)}</dl>`;
export const Section = ({ title, id, count, right, children }) => html`<section aria-labelledby=${id}>
  <div class="head"><h2 id=${id}>${title}${count !== undefined && html` <span class="count">${count}</span>`}</h2>${right}</div>${children}</section>`;

// columns: [{name, cell(row), num, key}]; rows keyed by keyOf(row). On a phone each cell carries its column's name.
export function Table({ columns, rows, keyOf, caption, empty }) {
  if (rows.length === 0) return empty ? html`<${Empty}>${empty}<//>` : null;
  return html`<div class="scroll"><table>${caption && html`<caption class="unseen">${caption}</caption>`}
    <thead><tr>${columns.map((c) => html`<th scope="col" class=${c.num ? 'num' : ''} key=${c.name}>${c.name}</th>`)}</tr></thead>
    <tbody>${rows.map((row, i) => html`<tr key=${keyOf ? keyOf(row) : i} class=${row.tone ?? ''}>${columns.map((c) => html`<td class=${c.num ? 'num' : c.wide ? 'wide' : ''} data-name=${c.name} key=${c.name}><div class="cell">${c.cell(row)}</div></td>`)}</tr>`)}</tbody>
  </table></div>`;
}

// ---- questions and answers ----

let showQuestion = () => {}, showAnswer = () => {};
// question: {title, text, fields: [{name, label, options | placeholder, value, required}], verb, danger, run(values), done}
export const ask = (question) => showQuestion(question);
export const say = (text, tone = 'good') => showAnswer({ text, tone, at: Date.now() });

function Question({ question, close }) {
  const dialog = useRef(), [values, set] = useState(() => Object.fromEntries((question.fields ?? []).map((f) => [f.name, f.value ?? '']))),
    [busy, setBusy] = useState(false), [error, setError] = useState(null);
  useEffect(() => { dialog.current.showModal(); }, []);
  const isReady = (question.fields ?? []).every((f) => !f.required || String(values[f.name]).trim() !== '');
  const submit = async (event) => {
    event.preventDefault();
    if (busy || !isReady) return;
    setBusy(true);
    setError(null);
    try {
      const answer = await question.run(values);
      const text = typeof question.done === 'function' ? question.done(answer) : question.done;
      if (text) say(text);
      close();
    } catch (failed) {
      setError(failed);
      setBusy(false);
    }
  };
  return html`<dialog ref=${dialog} aria-labelledby="question" onClose=${close}><form method="dialog" onSubmit=${submit}>
    <h2 id="question">${question.title}</h2>
    ${[].concat(question.text ?? []).map((text) => html`<p>${text}</p>`)}
    ${(question.fields ?? []).map((f) => html`<label key=${f.name}>${f.label}
      ${f.options ? html`<select value=${values[f.name]} onChange=${(e) => set({ ...values, [f.name]: e.target.value })}>${f.options.map(([value, label]) => html`<option value=${value}>${label}</option>`)}</select>`
    : html`<input type=${f.type ?? 'text'} value=${values[f.name]} placeholder=${f.placeholder ?? ''} autocomplete="off" onInput=${(e) => set({ ...values, [f.name]: e.target.value })}/>`}</label>`)}
    <${Problem} error=${error}/>
    <div class="buttons"><button type="button" onClick=${() => dialog.current.close()}>Cancel</button>
      <button type="submit" class=${question.danger ? 'danger' : 'main'} disabled=${busy || !isReady}>${busy ? 'Asking…' : question.verb}</button></div>
  </form></dialog>`;
}

export function Conversation() {
  const [question, setQuestion] = useState(null), [answer, setAnswer] = useState(null);
  showQuestion = (q) => setQuestion({ ...q, number: Math.random() });
  showAnswer = setAnswer;
  useEffect(() => {
    if (answer === null) return undefined;
    const timer = setTimeout(() => setAnswer(null), 8000);
    return () => clearTimeout(timer);
  }, [answer]);
  return html`<div class="answer" role="status" aria-live="polite">${answer && html`<p class=${answer.tone}>${answer.text}</p>`}</div>
    ${question && html`<${Question} key=${question.number} question=${question} close=${() => setQuestion(null)}/>`}`;
}

// A button that asks before it does something.
export const Act = ({ label, tone = '', ...question }) => html`<button type="button" class=${tone} onClick=${() => ask(question)}>${label}</button>`;
export const change = (method, path, body) => send(method, path, body);

// Saves text as a file. The link is not part of the page.
export function save(name, type, content) {
  const link = document.createElement('a'), url = URL.createObjectURL(new Blob([content], { type }));
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
