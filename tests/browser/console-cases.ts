/** The console in a real browser, with data of a gateway under load: every page, in every look. */
import { strict as assert } from 'node:assert';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { modern } from '../interaction/harness/eras.ts';
import { launchModernBackend } from '../interaction/harness/http-backend.ts';
import type { Proof } from '../requirements/proofs.ts';
import { openPage } from './chromium.ts';
import { type ConsoleGateway, startConsoleGateway } from './console-gateway.ts';

export interface ConsoleCase {
  readonly title: string;
  readonly verifies: Proof['verifies'];
  run(chromium: Browser, shots: string | undefined): Promise<void>;
}

const desk = { width: 1200, height: 900 };
const phone = { width: 375, height: 740 };
export const looks = [
  { name: 'desk-light', context: { viewport: desk } },
  { name: 'desk-dark', context: { viewport: desk, colorScheme: 'dark' } },
  { name: 'phone-light', context: { viewport: phone } },
  { name: 'phone-dark', context: { viewport: phone, colorScheme: 'dark' } },
] as const;

/** Each page, a heading that it has, and what a person does there. */
const pages: readonly { readonly name: string; readonly heading: string; use?(page: Page): Promise<void> }[] = [
  { name: 'overview', heading: 'Who talks to what' },
  { name: 'calls', heading: 'Calls', use: (page) => page.locator('tbody a').first().waitFor() },
  {
    name: 'tools',
    heading: 'Where they come from',
    use: async (page) => {
      await page.getByRole('button', { name: 'Try demo__echo' }).click();
      await page.getByRole('button', { name: 'Call', exact: true }).click();
      await page.getByRole('status').waitFor();
    },
  },
  { name: 'people', heading: 'Sessions' },
  {
    name: 'policy',
    heading: 'Rules',
    use: async (page) => {
      await page.getByLabel('Name').fill('demo__count');
      await page.getByRole('button', { name: 'Decide' }).click();
      await page.getByText('Denied by no-counting').waitFor();
    },
  },
];

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What an accessibility checker finds, by rule. */
export async function violationsOn(page: Page): Promise<readonly string[]> {
  return page.evaluate(
    `${axe}; axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes[0].html))`,
  );
}

/** Follows the link of the first lines. */
async function enter(context: BrowserContext, { link }: ConsoleGateway): Promise<Page> {
  const { page } = await openPage(context);
  await page.goto(link);
  await page.getByRole('heading', { name: 'Who talks to what' }).waitFor();
  assert.equal(new URL(page.url()).hash, '');
  return page;
}

/** The tail holds this many. A browser with more would be slow, and its reader lost. */
const ROWS = 200;

/** The last one reverses the direction of the text that follows it. */
export const hostileNames = [
  '<img src=x onerror="window.ran=1">',
  '</script><script>window.ran=1</script>',
  '" onmouseover="window.ran=1',
  "javascript:window.ran=1//'",
  '\u202e\u2066txet-desrever',
];

export const consoleCases: readonly ConsoleCase[] = [
  {
    title: 'every page of the console, on a desk and a phone, light and dark',
    verifies: ['gateway:console:pages', 'gateway:console:overview'],
    run: async (chromium, shots) => {
      const gateway = await startConsoleGateway();
      await gateway.load(600);
      const first = await chromium.newContext();
      await enter(first, gateway);
      const storageState = await first.storageState();
      let isOver = false;
      const loading = (async () => {
        while (!isOver) await gateway.load(40);
      })();
      for (const { name: look, context: wanted } of looks) {
        const context = await chromium.newContext({ ...wanted, storageState });
        const { page, complaints } = await openPage(context);
        for (const { name, heading, use } of pages) {
          await page.goto(`${gateway.origin}/console#/${name}`);
          await page.getByRole('heading', { name: heading, exact: true, level: 2 }).waitFor();
          await use?.(page);
          const [wide, room] = await page
            .locator('html')
            .evaluate((html) => [html.scrollWidth, html.clientWidth] as const);
          assert.ok(wide <= room, `${name} is ${wide} wide in ${room}`);
          assert.deepEqual(await violationsOn(page), [], `${look} ${name}`);
          if (shots !== undefined) await page.screenshot({ path: join(shots, `console-${look}-${name}.png`) });
        }
        await page.goto(`${gateway.origin}/console#/calls`);
        await page.locator('tbody a').first().click();
        await page.getByRole('heading', { name: 'Time', exact: true }).waitFor();
        assert.deepEqual(await violationsOn(page), [], `${look} one call`);
        assert.deepEqual(complaints, []);
        await context.close();
      }
      isOver = true;
      await loading;
      await gateway.stop();
    },
  },
  {
    title: 'the pages by keyboard alone, and the link only once',
    verifies: ['gateway:console:pages', 'gateway:console:sign-in'],
    run: async (chromium) => {
      const gateway = await startConsoleGateway();
      const context = await chromium.newContext();
      const page = await enter(context, gateway);
      await page.keyboard.press('Tab');
      await page.keyboard.press('Tab');
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Calls', level: 2 }).waitFor();
      for (const cookie of await context.cookies())
        assert.deepEqual([cookie.httpOnly, cookie.sameSite], [true, 'Strict']);
      const stranger = await chromium.newContext();
      const { page: late } = await openPage(stranger);
      await late.goto(gateway.link);
      await late.getByText('The link was used already, or is too old').waitFor();
      await gateway.stop();
    },
  },
  {
    title: 'names of clients and tools that are made to run as scripts',
    verifies: ['gateway:console:pages'],
    run: async (chromium) => {
      const gateway = await startConsoleGateway({ console: { record: 'bodies' } });
      for (const name of hostileNames) {
        const meta = { 'io.modelcontextprotocol/clientInfo': { name, version: name } };
        const { headers, body } = modern({ method: 'tools/call', params: { name, arguments: { name } }, meta });
        await fetch(`${gateway.origin}/servers/demo/mcp`, {
          method: 'POST',
          headers: {
            ...headers,
            'mcp-name': `=?base64?${Buffer.from(name).toString('base64')}?=`,
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
          },
          body: JSON.stringify(body),
        });
      }
      const context = await chromium.newContext();
      const first = await enter(context, gateway);
      await first.close();
      const { page, complaints } = await openPage(context);
      for (const { name, heading } of pages) {
        await page.goto(`${gateway.origin}/console#/${name}`);
        await page.getByRole('heading', { name: heading, exact: true, level: 2 }).waitFor();
      }
      await page.goto(`${gateway.origin}/console#/calls`);
      const rows = page.locator('tbody a');
      await rows.first().waitFor();
      const shown = await page.locator('tbody').innerText();
      assert.ok(shown.includes('onerror'), `the names are shown as text: ${shown}`);
      await rows.first().click();
      await page.getByRole('heading', { name: 'Time', exact: true }).waitFor();
      assert.equal(await page.evaluate('window.ran'), undefined);
      assert.equal(await page.locator('img').count(), 0);
      // A policy that stopped a script would complain: nothing may even try.
      assert.deepEqual(complaints, []);
      await gateway.stop();
    },
  },
  {
    title: 'a backend whose tools and errors are made to run as scripts',
    verifies: ['gateway:console:pages'],
    run: async (chromium) => {
      const tools = hostileNames.map((name) => ({
        ...{ name, title: name, description: name, annotations: { title: name } },
        inputSchema: { type: 'object', properties: { [name]: { type: 'string', title: name, description: name } } },
      }));
      const backend = await launchModernBackend({
        'tools/list': (turn) => turn.result({ resultType: 'complete', tools, ttlMs: 60_000, cacheScope: 'public' }),
        'tools/call': (turn) => turn.error(-32000, hostileNames.join(' ')),
      });
      const gateway = await startConsoleGateway({
        backends: { hostile: { url: backend.url } },
        policy: { rules: [{ id: 'all', effect: 'allow' }] },
        console: { record: 'bodies' },
      });
      const context = await chromium.newContext();
      await (await enter(context, gateway)).close();
      const { page, complaints } = await openPage(context);
      await page.goto(`${gateway.origin}/console#/tools`);
      await page.getByLabel('At').selectOption('/servers/hostile/mcp');
      for (const name of hostileNames) await page.locator('tbody .mono', { hasText: name }).first().waitFor();
      await page.getByRole('button', { name: /^Try / }).first().click();
      await page.getByRole('button', { name: 'Call', exact: true }).click();
      await page.getByRole('status').waitFor();
      const answered = await page.locator('main').innerText();
      assert.ok(answered.includes('onerror="window.ran=1"'), `the error is shown as text: ${answered}`);
      await page.goto(`${gateway.origin}/console#/calls`);
      await page.locator('tbody a').first().click();
      await page.getByRole('heading', { name: 'Time', exact: true }).waitFor();
      const call = await page.locator('main').innerText();
      assert.ok(call.includes('onerror="window.ran=1"'), `the call is shown as text: ${call}`);
      assert.equal(await page.evaluate('window.ran'), undefined);
      assert.equal(await page.locator('img').count(), 0);
      assert.deepEqual(complaints, []);
      await gateway.stop();
      await backend.close();
    },
  },
  {
    title: 'a tail of 100,000 calls',
    verifies: ['gateway:console:cost', 'gateway:console:calls'],
    run: async (chromium) => {
      const gateway = await startConsoleGateway();
      const context = await chromium.newContext();
      const page = await enter(context, gateway);
      await page.goto(`${gateway.origin}/console#/calls`);
      await gateway.load(100_000);
      await page.getByText(/the last (9\d|100)\u202f\d{3} are kept/).waitFor();
      assert.equal(await page.locator('tbody tr').count(), ROWS);
      await page.getByLabel('Tool or name').fill('no such tool');
      await page.getByText('No call matches.').waitFor();
      // While the page asks, calls go on.
      console.log('         one call takes', (await gateway.callOnce()).toFixed(1), 'ms');
      await gateway.stop();
    },
  },
];
