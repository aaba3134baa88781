// full.mjs - every view in every form while things are broken, every button, and what must not happen: markup from a
// name, growth, a button that would be refused. Writes a picture of each view into OUT.
import { mkdirSync, readFileSync } from 'node:fs';
import { Appliance, Browser, check, faults, pause, test, total, until } from './browse.mjs';

const OUT = process.env.OUT ?? 'pictures';
mkdirSync(OUT, { recursive: true });
const appliance = new Appliance('fleet.yaml'), browser = new Browser();
await Promise.all([appliance.start(), browser.start()]);
for (const guest of ['web', 'cache', 'queue', 'db']) appliance.ferry('migrate', guest, '--name', `${guest}-1`);
appliance.ferry('migrate', 'till', '-n', 'shop', '--name', 'till-1');
const token = appliance.ferry('token', 'create', 'op', '--role', 'operator').trim();
const shop = appliance.ferry('token', 'create', 'shop', '--role', 'operator', '-n', 'shop').trim();
const text = (tab) => tab.evaluate(() => document.body.innerText);
const has = (tab, words) => async () => (await text(tab)).includes(words);
const MIGRATIONS = 'apis/kubevirt.io/v1/namespaces/default/virtualmachineinstancemigrations';
const go = (tab, hash) => tab.evaluate((h) => { location.hash = h; }, hash);

const tab = await browser.tab(`${appliance.https}/`, { token });

await test('a broken post-copy says that the guest is paused, what to do, and until when it is tried', async () => {
  await until('cache is broken', has(tab, 'Nothing is lost while both hosts keep their half'), 60000);
  await tab.goto(`${appliance.https}/#/migration/default/cache-1`);
  await until('the answers', has(tab, 'Attempts end'));
  check((await tab.getByRole('button', { name: 'Abort' }).count()) === 0, 'a post-copy cannot be aborted: no such button');
  await until('the attempts in the timeline', async () => /recover/.test(await tab.locator('.timeline').innerText()));
});

await test('an irrecoverable guest is named, with cause, evidence and what to do', async () => {
  await tab.goto(`${appliance.https}/#/migration/default/queue-1`);
  await until('the verdict', has(tab, 'a part of its memory is gone'), 30000);
  await until('the evidence', async () => (await tab.locator('.points li').count()) > 0);
  check(/source vmm crashed/.test(await text(tab)) && /Start the guest again/.test(await text(tab)), 'cause and what to do');
});

// ---- every view, wide and narrow, light and dark ----

const VIEWS = { now: '#/', fleet: '#/fleet', node: '#/fleet/ferry-b', limits: '#/fleet/ferry-a', guests: '#/guests', guest: '#/guest/default/gpu', moving: '#/migration/default/web-1', broken: '#/migration/default/cache-1',
  irrecoverable: '#/migration/default/queue-1', waiting: '#/migration/shop/till-1', drains: '#/drains', 'drain-plan': '#/drain-plan/ferry-b', history: '#/history', queries: '#/queries', docs: '#/docs',
  doc: '#/doc/operations', runbook: '#/runbook/FerryGuestIrrecoverable' };
for (const [width, scheme] of [[1440, 'light'], [1440, 'dark'], [390, 'light'], [390, 'dark']]) {
  await test(`every view at ${width} px, ${scheme}: no serious fault, nothing beside the screen`, async () => {
    const one = await browser.tab(`${appliance.https}/`, { token, width, scheme });
    const bad = [];
    for (const [name, hash] of Object.entries(VIEWS)) {
      await go(one, hash);
      await until(name, async () => !/Loading…|Asking what|Connecting/.test(await text(one)));
      await pause(300);
      bad.push(...(await faults(one)).map((fault) => `${name}: ${fault}`));
      const wide = await one.evaluate(() => document.documentElement.scrollWidth);
      if (wide > width) bad.push(`${name}: ${wide} px wide`);
      await one.screenshot({ path: `${OUT}/${name}-${width}-${scheme}.png` });
    }
    await one.context().close();
    check(bad.length === 0, bad.join('\n    '));
  });
}

// ---- buttons ----

await test('an incident is acknowledged', async () => {
  await go(tab, '#/');
  await tab.getByRole('button', { name: 'Acknowledge' }).first().click();
  await tab.locator('dialog').getByRole('button', { name: 'Acknowledge' }).click();
  await until('nothing to acknowledge', async () => (await tab.getByRole('button', { name: 'Acknowledge' }).count()) === 0);
  const { items } = await appliance.get('apis/ferry.internal/v1/incidents');
  check(items.every((i) => i.status.acknowledged), 'the API says so');
});

await test('recover is asked for; resolve wants a reason first', async () => {
  await go(tab, '#/migration/default/cache-1');
  await tab.getByRole('button', { name: 'Recover' }).click();
  await tab.locator('dialog').getByRole('button', { name: 'Recover' }).click();
  await until('the answer', has(tab, 'recovery requested'));
  await tab.getByRole('button', { name: 'Resolve…' }).click();
  const submit = tab.locator('dialog').getByRole('button', { name: 'Resolve' });
  check(await submit.isDisabled(), 'not without a reason');
  await tab.getByLabel('How do you know?').fill('virsh list on both hosts');
  check(await submit.isEnabled(), 'with one');
  await tab.keyboard.press('Escape');
  await until('no question', async () => (await tab.locator('dialog').count()) === 0);
});

await test('a node is cordoned and uncordoned', async () => {
  await go(tab, '#/fleet');
  const row = tab.locator('tr', { hasText: 'ferry-c' }).first();
  await row.getByRole('button', { name: 'Cordon' }).click();
  await until('cordoned', async () => /cordoned/.test(await row.innerText()));
  await row.getByRole('button', { name: 'Uncordon' }).click();
  await until('uncordoned', async () => !/cordoned/.test(await row.innerText()));
});

await test('a drain is started, shows who blocks it, and is stopped', async () => {
  await go(tab, '#/drain-plan/ferry-b');
  await tab.getByRole('button', { name: 'Start drain…' }).click();
  await tab.locator('dialog').getByRole('button', { name: 'Start drain' }).click();
  await until('its view', async () => (await tab.evaluate(() => location.hash)) === '#/drain/ferry-b');
  await until('the blocked guest', has(tab, 'Detach the host device'));
  await tab.screenshot({ path: `${OUT}/drain-1440-light.png` });
  await tab.getByRole('button', { name: 'Stop drain' }).click();
  await tab.locator('dialog').getByRole('button', { name: 'Stop drain' }).click();
  await until('stopped', async () => (await appliance.get('apis/ferry.internal/v1/drains')).items.every((d) => d.status.state === 'Cancelled'));
  appliance.ferry('uncordon', 'ferry-b');
});

await test('a guest is migrated to a chosen node, and the migration is shown', async () => {
  await go(tab, '#/guest/default/mail');
  await tab.getByRole('button', { name: 'Migrate…' }).click();
  await tab.locator('dialog select').selectOption('ferry-c');
  await tab.locator('dialog').getByRole('button', { name: 'Migrate' }).click();
  await until('its view', async () => /#\/migration\/default\/migration-/.test(await tab.evaluate(() => location.hash)));
  await until('its target', has(tab, 'ferry-c'));
});

await test('history is filtered by its address, and saved as CSV', async () => {
  await go(tab, '#/history?outcome=irrecoverable');
  await until('one row', async () => (await tab.locator('main tbody tr').count()) === 1);
  const [download] = await Promise.all([tab.waitForEvent('download'), tab.getByRole('button', { name: 'CSV' }).click()]);
  const lines = readFileSync(await download.path(), 'utf8').trim().split(/\r?\n/);
  check(lines.length === 2 && /^ended_ms,ns,name/.test(lines[0]) && lines[1].includes('queue'), lines.join('|'));
});

await test('each of the ten questions has an answer', async () => {
  await go(tab, '#/queries');
  await tab.waitForSelector('.chips button');
  const questions = await tab.locator('.chips button').all();
  check(questions.length === 10, `${questions.length} questions`);
  for (const question of questions) {
    await question.click();
    await until('a result', async () => !(await has(tab, 'Running…')()) && (await tab.locator('#result').count()) === 1);
    check((await tab.locator('main .problem').count()) === 0, await tab.locator('main').innerText());
  }
});

// ---- who one is ----

await test('a role in one namespace sees that namespace, and no view of the fleet', async () => {
  const one = await browser.tab(`${appliance.https}/`, { token: shop });
  await until('till', has(one, 'till'));
  check(!(await text(one)).includes('cache'), 'nothing of another namespace');
  check((await one.locator('nav a').allInnerTexts()).join() === 'Now,Guests,Documents', 'views');
  check((await one.getByRole('button', { name: 'Abort' }).count()) === 1, 'its own may be aborted');
  await go(one, '#/fleet');
  await until('refused', has(one, 'holds in namespace shop only'));
  await one.context().close();
});

await test('signing in keeps the address; a wrong token is said to be wrong', async () => {
  const one = await browser.tab(`${appliance.https}/#/fleet`);
  await until('fleet', has(one, 'ferry-c'));
  check((await one.getByRole('button', { name: 'Cordon' }).count()) === 0, 'no button yet');
  await one.getByRole('button', { name: 'Sign in' }).click();
  await one.locator('dialog input').fill('ferry_wrong');
  await one.locator('dialog').getByRole('button', { name: 'Sign in' }).click();
  await until('refused', has(one, 'not valid'));
  await one.locator('dialog input').fill(token);
  await one.locator('dialog').getByRole('button', { name: 'Sign in' }).click();
  await until('buttons', async () => (await one.getByRole('button', { name: 'Cordon' }).count()) === 3);
  check((await one.evaluate(() => location.hash)) === '#/fleet', 'the same address');
  browser.problems = browser.problems.filter((problem) => !problem.includes('401')); // the wrong token's
  await one.context().close();
});

await test('by keyboard: skip link, views, a question and back', async () => {
  const one = await browser.tab(`${appliance.https}/#/migration/default/web-1`, { token });
  await until('web', has(one, 'Abort'));
  await one.keyboard.press('Tab');
  check((await one.evaluate(() => document.activeElement.textContent)) === 'Skip to content', 'the skip link is first');
  await one.keyboard.press('Enter');
  check((await one.evaluate(() => document.activeElement.id)) === 'main', 'it leads to the content');
  await one.getByRole('button', { name: 'Abort' }).focus();
  await one.keyboard.press('Enter');
  check(await one.evaluate(() => document.querySelector('dialog').contains(document.activeElement)), 'the question has the focus');
  await one.keyboard.press('Escape');
  await until('it is gone', async () => (await one.locator('dialog').count()) === 0);
  check((await one.evaluate(() => document.activeElement.textContent)) === 'Abort', 'the focus is back');
  await one.context().close();
});

// ---- what must not happen ----

const HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=1</script>';

await test('a name is never markup', async () => {
  const one = await browser.tab('about:blank', { token });
  await one.route(/\/incidents/, (route) => route.fulfill({ json: { items: [{ metadata: { namespace: 'default', name: HOSTILE, uid: 'u' }, spec: { vmiName: HOSTILE, migrationName: 'queue-1' },
    status: { state: 'open', kind: HOSTILE, cause: HOSTILE, nodeName: HOSTILE, since: new Date().toISOString() } }], metadata: {} } }));
  await one.route(/\/docs\/operations/, (route) => route.fulfill({ body: `# ${HOSTILE}\n\n${HOSTILE} [x](javascript:document.title=1) [y](data:text/html,1)\n\n- ${HOSTILE}\n\n| a |\n|---|\n| ${HOSTILE} |\n` }));
  await one.goto(`${appliance.https}/`);
  await until('the name', has(one, HOSTILE));
  await one.goto(`${appliance.https}/#/doc/operations`);
  await until('the document', has(one, HOSTILE));
  const found = await one.evaluate(() => [document.querySelectorAll('main img, main script').length, [...document.querySelectorAll('main a')].filter((a) => !/^https?:$/.test(a.protocol)).length, document.title]);
  check(found[0] === 0 && found[1] === 0 && !found[2].startsWith('1'), found.join());
  await one.context().close();
});

await test('410 Gone lists again', async () => {
  const one = await browser.tab('about:blank', { token });
  let lists = 0, watches = 0;
  await one.route(/virtualmachineinstancemigrations\?/, (route) => {
    if (!route.request().url().includes('watch=1')) lists++;
    else if (++watches === 1) return route.fulfill({ body: '{"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old"}}\n' });
    else if (watches === 2) return route.fulfill({ status: 410, json: { message: 'too old', code: 410 } });
    return route.continue();
  });
  await one.goto(`${appliance.https}/`);
  await until('lists', () => lists >= 3 && watches >= 3);
  await until('live', async () => (await one.locator('.state').innerText()) === 'live');
  check(lists === 3, `${lists} lists`);
  browser.problems = browser.problems.filter((problem) => !problem.includes('410'));
  await one.context().close();
});

await test('samples of a week take no more memory than those of an hour', async () => {
  const [n, first, last, sorted] = await tab.evaluate(async () => {
    const { Trace } = await import('/page/live.js'), trace = new Trace();
    for (let i = 0; i < 1500000; i++) trace.push(i * 400, i, 0, 0, 1);
    return [trace.t.length, trace.t[0], trace.t.at(-1), trace.t.every((t, i) => i === 0 || t > trace.t[i - 1])];
  });
  check(n <= 600 && n > 250 && first === 0 && last === 1499999 * 400 && sorted, [n, first, last, sorted].join());
});

await test('200 active migrations are shown, and stay usable', async () => {
  const one = await browser.tab('about:blank', { token });
  const vmim = (await appliance.get(`${MIGRATIONS}/web-1`));
  const items = Array.from({ length: 200 }, (_, i) => ({ ...vmim, metadata: { ...vmim.metadata, name: `many-${i}`, uid: `u${i}` }, spec: { ...vmim.spec, vmiName: `guest-${i}` } }));
  const lines = (round) => items.map((v) => JSON.stringify({ type: 'MODIFIED', object: { ...v, metadata: { ...v.metadata, resourceVersion: String(round) },
    status: { ...v.status, ferry: { ...v.status.ferry, sample: { ...v.status.ferry.sample, elapsedMs: round * 400 } } } } })).join('\n');
  let round = 0;
  await one.route(/virtualmachineinstancemigrations\?/, async (route) => {
    if (!route.request().url().includes('watch=1')) return route.fulfill({ json: { items, metadata: { resourceVersion: '1' } } });
    await pause(400);
    return route.fulfill({ body: `${lines(++round + 1000000)}\n` });
  });
  await one.goto(`${appliance.https}/`);
  await until('the last', has(one, 'guest-199'));
  await pause(5000);
  const spent = await one.evaluate(() => new Promise((done) => { const began = performance.now(); requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - began))); }));
  const { nodes, canvases } = await one.evaluate(() => ({ nodes: document.querySelectorAll('*').length, canvases: document.querySelectorAll('canvas').length }));
  console.log(`      200 migrations: ${round} rounds of changes, two frames in ${Math.round(spent)} ms, ${nodes} elements, ${canvases} canvases`);
  check(spent < 1000 && canvases <= 24 && nodes < 8000, 'usable');
  await one.context().close();
});

await test('no error was written to the console', async () => check(browser.problems.length === 0, browser.problems.slice(0, 10).join('\n')));

await browser.end();
await appliance.end();
process.exit(total() ? 1 : 0);
