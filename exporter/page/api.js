// api.js - requests to the appliance this page came from, as who the browser is, or with a token.
//
// Every request has a deadline. A failure is an ApiError with the message of the API's Status. A reader that is told to
// try again (429, 503) does, a few times.
import { setServerTime } from './format.js';

const DEADLINE_MS = 20000, TRIES = 4;

export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

// A token lives as long as the tab; it is never in a link.
const KEY = 'ferry-token';
export const token = () => sessionStorage.getItem(KEY) ?? '';
export const setToken = (text) => (text === '' ? sessionStorage.removeItem(KEY) : sessionStorage.setItem(KEY, text));

export function headers(more) {
  const out = { Accept: 'application/json', ...more };
  if (token() !== '') out.Authorization = `Bearer ${token()}`;
  return out;
}

const wait = (ms) => new Promise((done) => setTimeout(done, ms));

async function failure(answer) {
  const text = (await answer.text()).slice(0, 4000);
  try {
    const status = JSON.parse(text);
    return new ApiError(answer.status, status.message || `HTTP ${answer.status}`);
  } catch {
    return new ApiError(answer.status, text.trim() || `HTTP ${answer.status}`);
  }
}

async function once(method, path, body, signal, accept) {
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(), DEADLINE_MS);
  const leave = () => deadline.abort();
  if (signal?.aborted) leave();
  signal?.addEventListener('abort', leave);
  try {
    const answer = await fetch(path, { method, signal: deadline.signal, cache: 'no-store',
      headers: headers({ ...(accept ? { Accept: accept } : {}), ...(body === undefined ? {} : { 'Content-Type': body.type ?? 'application/json' }) }),
      body: body === undefined ? undefined : JSON.stringify(body.value ?? body) });
    setServerTime(answer.headers.get('Date'));
    if (!answer.ok) throw await failure(answer);
    return accept ? await answer.text() : await answer.json();
  } catch (error) {
    if (error instanceof ApiError) throw error;
    if (signal?.aborted) throw error;
    throw new ApiError(0, deadline.signal.aborted ? 'Ferry does not answer' : 'Ferry is not reachable');
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', leave);
  }
}

// The appliance makes one query and one report at a time: of this page's the next begins when the last has ended. One
// that nobody waits for any more goes on there, so it is waited for here too.
const turns = { query: Promise.resolve(), postmortem: Promise.resolve() };
function inTurn(path, signal, ask) {
  const kind = path.split(/[/?]/, 1)[0];
  if (!(kind in turns)) return ask(signal);
  const answer = turns[kind].then(() => {
    signal?.throwIfAborted();
    return ask();
  });
  turns[kind] = answer.catch(() => {});
  return answer;
}

async function read(path, signal, accept) {
  for (let i = 1; ; i++) {
    try {
      return await inTurn(path, signal, (leave) => once('GET', path, undefined, leave, accept));
    } catch (error) {
      if (signal?.aborted || i === TRIES || !(error.status === 429 || error.status === 503)) throw error;
      await wait(300 * i * (1 + Math.random()));
    }
  }
}
export const get = (path, signal) => read(path, signal);
export const text = (path, signal) => read(path, signal, '*/*');
// body: a value, or {type, value} for another content type than JSON's.
export const send = (method, path, body) => once(method, path, body);

// ---- paths ----

const CORE = 'api/v1', KUBEVIRT = 'apis/kubevirt.io/v1', SUB = 'apis/subresources.kubevirt.io/v1', FERRY = 'apis/ferry.internal/v1';
const part = encodeURIComponent;
const spaced = (base, plural) => (ns, name) => `${base}${ns ? `/namespaces/${part(ns)}` : ''}/${plural}${name ? `/${part(name)}` : ''}`;
const plain = (base, plural) => (name) => `${base}/${plural}${name ? `/${part(name)}` : ''}`;
export const at = {
  migrations: spaced(KUBEVIRT, 'virtualmachineinstancemigrations'),
  guests: spaced(KUBEVIRT, 'virtualmachineinstances'),
  incidents: spaced(FERRY, 'incidents'),
  checks: spaced(FERRY, 'checks'),
  events: spaced(CORE, 'events'),
  nodes: plain(CORE, 'nodes'),
  drains: plain(FERRY, 'drains'),
  sub: (ns, name, verb) => `${spaced(SUB, 'virtualmachineinstancemigrations')(ns, name)}/${verb}`,
  adopt: (ns, name) => `${spaced(SUB, 'virtualmachineinstances')(ns, name)}/adopt`,
  verdict: (ns, name) => `${spaced(KUBEVIRT, 'virtualmachineinstancemigrations')(ns, name)}/verdict`,
  record: (ns, name) => `postmortem/${part(ns)}/${part(name)}?format=json`,
  report: (ns, name) => `postmortem/${part(ns)}/${part(name)}`,
  query: (sql, more = '') => `query?sql=${part(sql)}${more}`,
};

// Rows of a query as objects.
export async function query(sql, limit = 1000, signal) {
  const answer = await get(at.query(sql, `&limit=${limit}`), signal);
  const columns = answer.columns.map((column) => column.name ?? column);
  return { columns, cut: answer.cut, rows: answer.rows.map((row) => Object.fromEntries(columns.map((name, i) => [name, Array.isArray(row) ? row[i] : row[name]]))) };
}
export const quoted = (value) => `'${String(value).replaceAll("'", "''")}'`;
