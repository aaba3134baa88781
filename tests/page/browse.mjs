// browse.mjs - an appliance over simulated hosts, a browser, and tests with names. What a test needs is made here.
import { spawn, execFileSync } from 'node:child_process';
import { createServer } from 'node:net';
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const FERRY = process.env.FERRY, CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
const SWITCHES = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

export const pause = (ms) => new Promise((done) => setTimeout(done, ms));

// Waits until ask() gives something true; the last answer tells why not.
export async function until(what, ask, ms = 15000) {
  const end = Date.now() + ms;
  for (let last; ; await pause(100)) {
    last = await Promise.resolve().then(ask).catch((error) => error);
    if (last && !(last instanceof Error)) return last;
    if (Date.now() > end) throw new Error(`${what}: not within ${ms} ms (${last})`);
  }
}
export function check(is, what) {
  if (!is) throw new Error(what);
}

function freePort() {
  return new Promise((done) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}

export class Appliance {
  folder = mkdtempSync(join(tmpdir(), 'ferry-page-'));
  constructor(fleet) {
    this.fleet = fleet;
    this.log = openSync(join(this.folder, 'log'), 'a');
  }
  async start() {
    this.http ??= `http://127.0.0.1:${await freePort()}`;
    this.https ??= `https://127.0.0.1:${await freePort()}`;
    this.child = spawn(FERRY, ['serve', '--simulate', this.fleet, '--state', join(this.folder, 'state'), '--socket', join(this.folder, 's'),
      '--listen', this.http.slice(7), '--listen', this.https], { stdio: ['ignore', this.log, this.log] });
    this.ended = new Promise((done) => this.child.on('exit', done));
    process.once('exit', () => this.child.kill('SIGKILL'));
    await until('readiness', async () => (await fetch(`${this.http}/readyz`)).ok);
  }
  async stop(signal = 'SIGTERM') {
    this.child.kill(signal);
    await this.ended;
  }
  // The command line, as the socket's owner.
  ferry(...words) {
    return execFileSync(FERRY, words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, FERRY_SERVER: `unix:${join(this.folder, 's')}` } });
  }
  async get(path) {
    return (await fetch(`${this.http}/${path}`)).json();
  }
  async end() {
    if (this.child.exitCode === null) await this.stop('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }
}

// A browser whose tabs write down what went wrong in them.
export class Browser {
  problems = [];
  async start() {
    this.browser = await chromium.launch({ executablePath: CHROMIUM, args: SWITCHES });
  }
  async tab(address, { token = '', width = 1440, scheme = 'light' } = {}) {
    const context = await this.browser.newContext({ viewport: { width, height: width < 500 ? 844 : 900 }, colorScheme: scheme, ignoreHTTPSErrors: true });
    if (token) await context.addInitScript((text) => location.protocol === 'about:' || sessionStorage.setItem('ferry-token', text), token);
    const tab = await context.newPage();
    tab.on('console', (m) => m.type() === 'error' && this.problems.push(`${m.text()} (${m.location().url})`));
    tab.on('pageerror', (error) => this.problems.push(error.stack));
    await tab.goto(address);
    return tab;
  }
  async end() {
    await this.browser.close();
  }
}

// Serious faults of the view in the tab, by axe.
export async function faults(tab) {
  await tab.evaluate(readFileSync('node_modules/axe-core/axe.min.js', 'utf8')); // past the page's policy: by the debugger
  const { violations } = await tab.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  return violations.filter((v) => ['serious', 'critical'].includes(v.impact)).map((v) => `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(' | ')}`);
}

let passed = 0, failed = 0;
export async function test(name, run) {
  const began = Date.now();
  try {
    await run();
    passed++;
    console.log(`ok    ${name} (${Date.now() - began} ms)`);
  } catch (error) {
    failed++;
    console.log(`FAILED ${name}: ${error.stack?.split('\n').slice(0, 4).join('\n    ') ?? error}`);
  }
}
export function total() {
  console.log(`${passed} passed, ${failed} failed`);
  return failed;
}
