// live.mjs SOCKET STAGE MIGRATION - the page against an appliance that is there, over its Unix socket, as through `ssh -L`:
// what an operator must see in that stage of a real migration, and what can be done about it.
import { createConnection, createServer } from 'node:net';
import { mkdirSync } from 'node:fs';
import { Browser, check, faults, test, total, until } from './browse.mjs';

const [socket, stage, name] = process.argv.slice(2), OUT = process.env.OUT ?? 'pictures';
mkdirSync(OUT, { recursive: true });
const server = createServer((one) => {
  const other = createConnection(socket);
  one.pipe(other).pipe(one);
  for (const end of [one, other]) end.on('error', () => { one.destroy(); other.destroy(); });
}).listen(0, '127.0.0.1');
await new Promise((done) => server.on('listening', done));
const base = `http://127.0.0.1:${server.address().port}`, browser = new Browser();
await browser.start();
const tab = await browser.tab(`${base}/#/migration/default/${name}`);
const has = (words) => async () => (await tab.evaluate(() => document.body.innerText)).includes(words);
const answers = () => tab.locator('.answers').innerText();

const STAGES = {
  async moving() {
    await until('the plot', async () => (await tab.locator('.plot canvas').count()) === 2);
    check(/It runs on h1 while its memory is copied to h2/.test(await answers()), await answers());
    const remaining = () => tab.locator('.legend b').first().innerText(), first = await remaining();
    await until('another sample', async () => (await remaining()) !== first);
    await tab.screenshot({ path: `${OUT}/lab-moving.png` });
    await tab.getByRole('button', { name: 'Abort' }).click();
    await tab.getByRole('button', { name: 'Abort migration' }).click();
    await until('aborted', has('aborted'), 30000);
    await until('where the guest is', async () => /It runs on h1\./.test(await answers()));
  },
  async broken() {
    await until('it is broken', has('Nothing is lost while both hosts keep their half'), 60000);
    check((await tab.getByRole('button', { name: 'Abort' }).count()) === 0, 'no abort');
    check((await tab.getByRole('button', { name: 'Recover' }).count()) === 1, 'recover');
    await tab.screenshot({ path: `${OUT}/lab-broken.png` });
  },
  async irrecoverable() {
    await until('the verdict', has('a part of its memory is gone'), 90000);
    await until('the evidence', async () => (await tab.locator('.points li').count()) > 0, 30000);
    await tab.screenshot({ path: `${OUT}/lab-irrecoverable.png` });
    await tab.goto(`${base}/#/`);
    await tab.getByRole('button', { name: 'Acknowledge' }).first().click();
    await tab.locator('dialog').getByRole('button', { name: 'Acknowledge' }).click();
    await until('acknowledged', async () => (await tab.getByRole('button', { name: 'Acknowledge' }).count()) === 0);
  },
  async blocked() { // MIGRATION is the node
    await tab.goto(`${base}/#/drain-plan/${name}`);
    await until('who blocks it', has('guests block it'));
    await tab.getByRole('button', { name: 'Start drain…' }).click();
    await tab.locator('dialog').getByRole('button', { name: 'Start drain' }).click();
    await until('blocked', has('Blocked'), 60000);
    await until('what unblocks it', async () => /storage.sharedPaths|destination/.test(await tab.evaluate(() => document.body.innerText)), 30000);
    await tab.screenshot({ path: `${OUT}/lab-blocked.png` });
  },
};

await test(`${stage}, on real hosts`, async () => {
  await STAGES[stage]();
  const found = await faults(tab);
  check(found.length === 0, found.join('; '));
  check(browser.problems.length === 0, browser.problems.join('\n'));
});
await browser.end();
server.close();
process.exit(total() ? 1 : 0);
