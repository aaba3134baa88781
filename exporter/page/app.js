// app.js - the frame: which view the address asks for, navigation, who one is, and whether Ferry answers.
//
// Addresses are below #: the server has one page, and a link in an alert survives a sign-in.
import { get, setToken, token } from './api.js';
import { Component, html, render, useEffect, useReducer, useState } from './lib.js';
import { migrations, polls, startPolls } from './live.js';
import { ask, Conversation, useTold } from './parts.js';
import { canQuery, me, readRights, whyReadOnly } from './rights.js';
import { Document, Documents } from './view_docs.js';
import { Drain, Drains, Plan } from './view_drain.js';
import { Fleet, Node } from './view_fleet.js';
import { Guest, Guests } from './view_guest.js';
import { History } from './view_history.js';
import { Migration } from './view_migration.js';
import { Now } from './view_now.js';
import { Queries } from './view_queries.js';

const RIGHTS_MS = 5 * 60 * 1000;

// ---- addresses ----

// The first part of the address; what it shows; whether it is about the whole fleet (not for a role in one namespace).
const ROUTES = {
  '': [() => html`<${Now}/>`, 'Now'],
  fleet: [(p) => (p[1] ? html`<${Node} key=${p[1]} name=${p[1]}/>` : html`<${Fleet}/>`), 'Fleet', true],
  guests: [() => html`<${Guests}/>`, 'Guests'],
  guest: [(p) => html`<${Guest} key=${`${p[1]}/${p[2]}`} ns=${p[1]} name=${p[2]}/>`, 'Guest'],
  migration: [(p) => html`<${Migration} key=${`${p[1]}/${p[2]}`} ns=${p[1]} name=${p[2]}/>`, 'Migration'],
  drains: [() => html`<${Drains}/>`, 'Drains', true],
  drain: [(p) => html`<${Drain} key=${p[1]} name=${p[1]}/>`, 'Drain', true],
  'drain-plan': [(p) => html`<${Plan} key=${p[1]} node=${p[1]}/>`, 'Drain', true],
  history: [(p, q) => html`<${History} key=${JSON.stringify(q)} filter=${q}/>`, 'History', true],
  queries: [() => html`<${Queries}/>`, 'Queries', true],
  docs: [() => html`<${Documents}/>`, 'Documents'],
  doc: [(p) => html`<${Document} key=${p[1]} folder="docs" name=${p[1]} anchor=${p[2]}/>`, 'Document'],
  runbook: [(p) => html`<${Document} key=${p[1]} folder="runbooks" name=${p[1]}/>`, 'Runbook'],
};
const NAV = [['', 'Now'], ['fleet', 'Fleet'], ['guests', 'Guests'], ['drains', 'Drains'], ['history', 'History'], ['queries', 'Queries'], ['docs', 'Documents']];
const PARENT = { guest: 'guests', drain: 'drains', 'drain-plan': 'drains', doc: 'docs', runbook: 'docs', migration: '' };

function address() {
  const [path, search] = location.hash.replace(/^#\/?/, '').split('?');
  const decode = (text) => {
    try {
      return decodeURIComponent(text);
    } catch {
      return text;
    }
  };
  return { parts: path.split('/').map(decode), search: Object.fromEntries(new URLSearchParams(search ?? '')) };
}

// A fault of one view leaves the others usable.
class Guard extends Component {
  state = { error: null };
  static getDerivedStateFromError(error) {
    return { error };
  }
  render({ children }, { error }) {
    return error ? html`<p class="problem" role="alert">This view failed: ${error.message}. <button type="button" onClick=${() => this.setState({ error: null })}>Try again</button></p>` : children;
  }
}

// ---- the frame ----

function signIn() {
  ask({ title: 'Sign in with a token', text: 'Made by `ferry token create NAME --role operator`. It is kept in this tab only.', verb: 'Sign in',
    fields: [{ name: 'token', label: 'Token', type: 'password', required: true }],
    run: async (values) => {
      const before = token();
      setToken(values.token.trim());
      try {
        await get('access');
      } catch (error) {
        setToken(before);
        throw error;
      }
      location.reload();
    } });
}
function signOut() {
  setToken('');
  location.reload();
}

const STATES = { live: ['good', 'live'], connecting: ['calm', 'connecting'], lost: ['bad', 'no contact'] };

function Frame({ again }) {
  useTold(migrations, polls.incidents);
  const [{ parts, search }, setAddress] = useState(address), [version, setVersion] = useState({});
  useEffect(() => {
    const moved = () => {
      setAddress(address());
      scrollTo(0, 0);
      document.getElementById('main')?.focus({ preventScroll: true });
    };
    addEventListener('hashchange', moved);
    return () => removeEventListener('hashchange', moved);
  }, []);
  // After a restart of Ferry it may be another version: its page is then another one too.
  useEffect(() => { if (migrations.state === 'live') get('version').then(({ gitVersion }) => setVersion((v) => ({ first: v.first ?? gitVersion, now: gitVersion })), () => {}); }, [migrations.state]);
  const isFleet = me.namespace === '', route = ROUTES[parts[0]] ?? null, open = (polls.incidents.value ?? []).filter((i) => i.status.state === 'open').length;
  const here = PARENT[parts[0]] ?? parts[0], [tone, word] = STATES[migrations.state], why = whyReadOnly();
  useEffect(() => { document.title = `${open > 0 ? `(${open}) ` : ''}${parts[2] ?? parts[1] ?? route?.[1] ?? 'Ferry'} – Ferry`; }, [open, parts.join()]);
  const shown = NAV.filter(([name]) => isFleet || !ROUTES[name][2]).filter(([name]) => canQuery() || !['history', 'queries'].includes(name));
  return html`<a class="skip" href="#main" onClick=${(e) => { e.preventDefault(); document.getElementById('main').focus(); }}>Skip to content</a>
    <header><a class="brand" href="#/">Ferry</a><nav aria-label="Views">${shown.map(([name, label]) => html`<a href=${`#/${name}`} aria-current=${here === name ? 'page' : undefined} key=${name}>${label}${name === '' && open > 0 && html` <span class="alarm" aria-label=${`${open} open incidents`}>${open}</span>`}</a>`)}</nav>
      <span class="who"><span class=${`state ${tone}`} role="status">${word}</span> <span class="dim">${me.identity} (${me.role}${me.namespace ? ` in ${me.namespace}` : ''})</span>
      ${token() !== '' ? html`<button type="button" onClick=${signOut}>Sign out</button>` : !me.readOnly && me.role === 'viewer' && html`<button type="button" onClick=${signIn}>Sign in</button>`}</span></header>
    ${migrations.state === 'lost' && html`<p class="banner bad" role="alert">No contact: ${migrations.error?.message || 'Ferry does not answer'}. What is shown may be old; trying again. Migrations go on without Ferry.</p>`}
    ${version.first !== version.now && html`<p class="banner">Ferry was updated to ${version.now}. <button type="button" onClick=${() => location.reload()}>Reload</button></p>`}
    ${why && html`<p class="banner calm">${why} ${me.readOnly && me.server && html`<a href=${`${me.server}/${location.hash}`}>${me.server}</a>`}</p>`}
    <main id="main" tabindex="-1"><${Guard} key=${location.hash}>${!route ? html`<h1>No such view</h1><p><a href="#/">Now</a></p>` : !isFleet && route[2] ? html`<p class="problem">Your role holds in namespace ${me.namespace} only.</p>` : route[0](parts, search)}<//></main>
    <footer><a href="metrics">Metrics</a> <a href="apis">API</a> <a href="#/doc/operations">Operations</a> <a href="#/docs">Runbooks and documentation</a> <span class="dim">${version.now ?? ''}</span></footer>
    <${Conversation}/>`;
}

// Until the appliance has said who one is, there is nothing to show.
function App() {
  const [error, setError] = useState(null), [isKnown, setKnown] = useState(false), [, again] = useReducer((n) => n + 1, 0);
  useEffect(() => {
    let timer = 0, pause = 500;
    const turn = async () => {
      try {
        await readRights();
        if (!polls.incidents) {
          startPolls(me.namespace);
          migrations.start(me.namespace);
        }
        setError(null);
        setKnown(true);
        again();
        pause = 500;
        timer = setTimeout(turn, RIGHTS_MS);
      } catch (failed) {
        setError(failed);
        pause = Math.min(pause * 2, 15000);
        timer = setTimeout(turn, pause);
      }
    };
    void turn();
    return () => clearTimeout(timer);
  }, []);
  if (!isKnown) {
    return html`<main class="plain"><h1>Ferry</h1>${error ? html`<p class="problem" role="alert">${error.message}</p>${error.status === 401 && html`<p>The token is not valid (any more). <button type="button" onClick=${signOut}>Sign out</button></p>`}` : html`<p>Connecting…</p>`}</main><${Conversation}/>`;
  }
  return html`<${Frame} again=${again}/>`;
}

const root = document.getElementById('app');
root.textContent = '';
render(html`<${App}/>`, root);
