// render.mjs [--from SECONDS_AGO] [--step S] [--rate 1m] [--var NAME=REGEX]... PROMETHEUS_URL OUT DASHBOARD... - a picture of each dashboard.
//
// Draws it in Chromium with page.jsx and writes OUT/NAME.png. Says what is empty and what Prometheus refuses;
// status 1 when a panel has an error or is empty without saying so of itself. Runs where its packages are (make
// dashboards-render).
import { createServer } from 'node:http';
import { mkdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { chromium } from 'playwright-core';

const { values, positionals: [prometheus, out, ...files] } = parseArgs({ allowPositionals: true, options: {
  from: { type: 'string', default: '300' }, step: { type: 'string', default: '2' }, rate: { type: 'string', default: '1m' },
  to: { type: 'string', default: '0' }, var: { type: 'string', multiple: true, default: [] } } });
const to = Math.floor(Date.now() / 1000) - Number(values.to);
const vars = { job: '.*', instance: '.*', namespace: '.*', node: '.*', migration: '.*' };
for (const one of values.var) vars[one.slice(0, one.indexOf('='))] = one.slice(one.indexOf('=') + 1);
const about = { from: to - Number(values.from), to, step: Number(values.step), rate: values.rate, vars };

const { outputFiles } = await build({ entryPoints: ['page.jsx'], bundle: true, write: false, outdir: 'out', minify: true, logLevel: 'error',
  define: { 'process.env.NODE_ENV': '"production"', global: 'window' }, loader: { '.svg': 'dataurl', '.woff2': 'dataurl', '.png': 'dataurl', '.ttf': 'dataurl' }, jsx: 'automatic', alias: { 'react-custom-scrollbars-2': './scrollbars.jsx' }, platform: 'browser' });
const script = outputFiles.find((f) => f.path.endsWith('.js')).text, style = outputFiles.find((f) => f.path.endsWith('.css'))?.text ?? '';
const page = `<!doctype html><meta charset=utf-8><style>${style}</style><body style="margin:0"><div id=root></div>
<script>window.grafanaBootData={settings:{featureToggles:{},buildInfo:{}},user:{}}</script><script src=/page.js></script>`;
const server = createServer(async (request, answer) => {
  const path = new URL(request.url, 'http://localhost');
  if (path.pathname.startsWith('/prometheus/')) {
    const got = await fetch(prometheus.replace(/\/$/, '') + path.pathname.slice('/prometheus'.length) + path.search);
    answer.writeHead(got.status, { 'Content-Type': 'application/json' });
    answer.end(await got.text());
  } else {
    const is = path.pathname === '/page.js' ? ['text/javascript', script] : path.pathname === '/' ? ['text/html', page] : ['text/plain', ''];
    answer.writeHead(is[1] ? 200 : 404, { 'Content-Type': `${is[0]}; charset=utf-8` });
    answer.end(is[1]);
  }
});
await new Promise((ready) => server.listen(0, '127.0.0.1', ready));

mkdirSync(out, { recursive: true });
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
let bad = 0;
for (const file of files) {
  const tab = await browser.newPage({ viewport: { width: 1440, height: 900 } }), name = basename(file, '.json');
  tab.on('pageerror', (error) => console.log(`${name}: ${error.message.slice(0, 300)}`));
  await tab.goto(`http://127.0.0.1:${server.address().port}/`);
  const panels = await tab.evaluate(([d, a]) => window.render(d, a), [JSON.parse(readFileSync(file, 'utf8')), about]);
  await tab.waitForTimeout(1500); // plots are drawn after the layout is known
  await tab.screenshot({ path: `${out}/${name}.png`, fullPage: true });
  for (const p of panels) {
    if (p.error || (p.series === 0 && !p.mayBeEmpty)) bad++;
    if (p.error) console.log(`${name} '${p.title}': ${p.error}`);
    else if (p.series === 0) console.log(`${name} '${p.title}': empty${p.mayBeEmpty ? ', as it may be' : ''}`);
  }
  console.log(`${out}/${name}.png: ${panels.length} panels, ${panels.filter((p) => p.series > 0).length} with data`);
  await tab.close();
}
await browser.close();
server.close();
process.exit(bad ? 1 : 0);
