// live.js - what changes while one looks: the migrations under way by a watch, everything else by asking again.
//
// A browser has six connections to a server, over all its tabs. A watch keeps one, so there is one watch for each
// tab, and a tab that nobody sees has none. Everything is bounded: OBJECTS_MAX objects, TRACE_POINTS points of at most
// TRACES_MAX migrations. What fails is tried again, ever more slowly up to BACKOFF_MAX_MS; 410 Gone means: list again.
import { at, get, headers } from './api.js';
import { ms, now, setServerTime } from './format.js';

const BACKOFF_MS = 500, BACKOFF_MAX_MS = 15000, SILENT_MS = 90000, HIDDEN_MS = 30000, SHOW_MS = 300;
const OBJECTS_MAX = 2000, PAGE = 500, TRACES_MAX = 300, TRACE_POINTS = 600, ENDED_MAX = 30, LINE_MAX = 4 << 20;

export const keyOf = (object) => `${object.metadata.namespace ?? ''}/${object.metadata.name}`;

// Tells its listeners at most every SHOW_MS.
class Told {
  listeners = new Set();
  timer = 0;
  toldMs = -SHOW_MS;
  subscribe(listener) {
    this.listeners.add(listener);
    if (this.listeners.size === 1) this.begin?.();
    return () => {
      this.listeners.delete(listener);
      if (this.listeners.size === 0) this.end?.();
    };
  }
  tell() {
    if (this.timer !== 0) return;
    this.timer = setTimeout(() => {
      this.timer = 0;
      this.toldMs = performance.now();
      for (const listener of [...this.listeners]) listener();
    }, Math.max(0, this.toldMs + SHOW_MS - performance.now()));
  }
}

// Asks for something again and again while somebody listens. load(signal) gives the value.
export class Poll extends Told {
  value = null;
  error = null;
  constructor(load, everyMs) {
    super();
    this.load = load;
    this.everyMs = everyMs;
  }
  begin() {
    this.running = true;
    this.failures = 0;
    void this.turn();
  }
  end() {
    this.running = false;
    clearTimeout(this.next);
    this.leave?.abort();
  }
  refresh() {
    if (!this.running) return;
    clearTimeout(this.next);
    this.leave?.abort();
    void this.turn();
  }
  async turn() {
    const leave = this.leave = new AbortController();
    try {
      this.value = await this.load(leave.signal);
      this.error = null;
      this.failures = 0;
    } catch (error) {
      if (leave.signal.aborted) return;
      this.error = error;
      this.failures++;
    }
    if (!this.running || this.leave !== leave) return;
    this.tell();
    const pause = document.hidden ? Math.max(this.everyMs, HIDDEN_MS) : this.everyMs;
    this.next = setTimeout(() => void this.turn(), Math.min(pause * 2 ** Math.min(this.failures, 4), Math.max(pause, BACKOFF_MAX_MS)));
  }
}

// All objects of a path, page by page. A list whose snapshot is gone (410) begins anew.
export async function listAll(path, signal, max = OBJECTS_MAX) {
  for (let tries = 0; ; tries++) {
    const items = [];
    let next = '', version = '';
    try {
      do {
        const page = await get(`${path}${path.includes('?') ? '&' : '?'}limit=${PAGE}${next && `&continue=${encodeURIComponent(next)}`}`, signal);
        items.push(...page.items);
        next = page.metadata.continue ?? '';
        version = page.metadata.resourceVersion;
      } while (next !== '' && items.length < max);
      return { items, version, cut: next !== '' };
    } catch (error) {
      if (error.status !== 410 || tries === 3) throw error;
    }
  }
}

// ---- samples of migrations ----

export class Trace {
  t = [];
  remaining = [];
  dirty = [];
  bandwidth = [];
  iteration = [];
  push(t, remaining, dirty, bandwidth, iteration) {
    const last = this.t.at(-1);
    if (last !== undefined && t <= last) return;
    this.t.push(t);
    this.remaining.push(remaining);
    this.dirty.push(dirty);
    this.bandwidth.push(bandwidth);
    this.iteration.push(iteration);
    if (this.t.length > TRACE_POINTS) this.thin();
  }
  // Of the older half every second point goes.
  thin() {
    const half = this.t.length / 2;
    for (const key of ['t', 'remaining', 'dirty', 'bandwidth', 'iteration'])
      this[key] = this[key].filter((_, i) => i === 0 || i >= half || i % 2 === 1);
  }
}

// ---- migrations under way ----

const ACTIVE = `fieldSelector=${encodeURIComponent('status.phase!=Succeeded,status.phase!=Failed')}`;

class Migrations extends Told {
  objects = new Map();
  ended = new Map(); // lately, as far as this tab saw it
  traces = new Map();
  state = 'connecting'; // live, lost
  error = null;
  cut = false;
  version = '';
  failures = 0;

  start(ns) {
    this.path = `${at.migrations(ns)}?${ACTIVE}`;
    void this.run();
    document.addEventListener('visibilitychange', () => this.seen());
  }
  seen() {
    clearTimeout(this.hiding);
    if (document.hidden) {
      this.hiding = setTimeout(() => {
        this.isAway = true;
        this.leave?.abort();
      }, HIDDEN_MS);
    } else if (this.isAway) {
      this.isAway = false;
      this.back?.();
    }
  }
  async run() {
    for (;;) {
      if (this.isAway) await new Promise((back) => { this.back = back; });
      const leave = this.leave = new AbortController();
      try {
        if (this.version === '') await this.list(leave.signal);
        await this.watch(leave);
        this.failures = 0;
      } catch (error) {
        if (this.isAway) continue;
        if (error.status === 410) this.version = '';
        else this.failed(error);
        await new Promise((done) => setTimeout(done, Math.min(BACKOFF_MS * 2 ** this.failures, BACKOFF_MAX_MS) * (0.5 + Math.random() / 2)));
      }
    }
  }
  failed(error) {
    this.failures = Math.min(this.failures + 1, 8);
    this.state = 'lost';
    this.error = error;
    this.tell();
  }
  async list(signal) {
    const { items, version, cut } = await listAll(this.path, signal);
    const before = this.objects;
    this.objects = new Map(items.map((object) => [keyOf(object), object]));
    for (const [key, object] of before) if (!this.objects.has(key)) void this.gone(key, object);
    for (const object of items) this.sample(object);
    this.version = version;
    this.cut = cut;
    this.is('live');
  }
  is(state) {
    this.state = state;
    this.error = null;
    this.tell();
  }
  // It ended while nobody looked: what became of it is asked for.
  async gone(key, object) {
    try {
      this.ending(key, await get(at.migrations(object.metadata.namespace, object.metadata.name)));
      this.tell();
    } catch {
      this.ended.delete(key);
    }
  }
  async watch(leave) {
    const answer = await fetch(`${this.path}&watch=1&allowWatchBookmarks=true&resourceVersion=${this.version}`,
      { headers: headers(), signal: leave.signal, cache: 'no-store' });
    setServerTime(answer.headers.get('Date'));
    if (!answer.ok) throw Object.assign(new Error(`HTTP ${answer.status}`), { status: answer.status });
    this.failures = 0;
    this.is('live');
    const reader = answer.body.getReader(), decoder = new TextDecoder();
    let rest = '', silent = 0;
    const alive = () => {
      clearTimeout(silent);
      silent = setTimeout(() => leave.abort(), SILENT_MS); // bookmarks come every minute
    };
    try {
      for (alive(); ;) {
        const { done, value } = await reader.read();
        if (done) return;
        alive();
        const lines = (rest + decoder.decode(value, { stream: true })).split('\n');
        rest = lines.pop();
        if (rest.length > LINE_MAX) throw new Error('an event is too long');
        for (const line of lines) if (line !== '') this.event(JSON.parse(line));
      }
    } finally {
      clearTimeout(silent);
      reader.cancel().catch(() => {});
    }
  }
  event({ type, object }) {
    if (type === 'ERROR') throw Object.assign(new Error(object.message), { status: object.code });
    this.version = object.metadata.resourceVersion;
    if (type === 'BOOKMARK') return;
    const key = keyOf(object);
    if (type === 'DELETED') {
      this.objects.delete(key);
      this.ending(key, object);
    } else if (this.objects.has(key) || this.objects.size < OBJECTS_MAX) {
      this.objects.set(key, object);
      this.sample(object);
    }
    this.tell();
  }
  ending(key, object) {
    this.traces.delete(key);
    this.ended.delete(key);
    this.ended.set(key, object);
    if (this.ended.size > ENDED_MAX) this.ended.delete(this.ended.keys().next().value);
  }
  sample(object) {
    const sample = object.status?.ferry?.sample, key = keyOf(object);
    if (sample === undefined) return;
    let trace = this.traces.get(key);
    if (trace === undefined || trace.uid !== object.metadata.uid) {
      if (this.traces.size >= TRACES_MAX) return;
      trace = new Trace();
      trace.uid = object.metadata.uid;
      trace.zero = ms(sample.at) - sample.elapsedMs; // "at" is whole seconds, elapsedMs is not
      this.traces.set(key, trace);
    }
    trace.push(trace.zero + sample.elapsedMs, sample.remainingBytes, sample.dirtyRateBytesPerSecond,
      sample.transferRateBytesPerSecond, sample.iteration);
  }
}

export const migrations = new Migrations();

// ---- what is asked for again ----

export const polls = {};
export function startPolls(ns) {
  const all = (path) => async (signal) => (await listAll(path, signal)).items;
  polls.incidents = new Poll(all(at.incidents(ns)), 4000);
  polls.nodes = new Poll(ns ? async () => [] : all(at.nodes()), 4000);
  polls.drains = new Poll(ns ? async () => [] : all(at.drains()), 3000);
  polls.clock = new Poll(async () => now(), 1000);
}
