/**
 * The pages of the authorization server and of the console in a real browser, and clients of other people that lead
 * people to them.
 *
 *   tsx tests/browser/run.ts [--only <part of a title>] [--shots <folder>]
 *
 * Needs a built gateway and Chromium (/usr/bin/chromium, or what CHROMIUM names); fails where it is missing.
 */
import { strict as assert } from 'node:assert';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Browser as Chromium } from 'playwright-core';
import { Browser } from '../interaction/authserver/browser.ts';
import { type Proof, writeProofs } from '../requirements/proofs.ts';
import { approvalCases } from './approval-cases.ts';
import { allow, openPage, signIn, startChromium } from './chromium.ts';
import { companyCases } from './company-cases.ts';
import { consoleCases } from './console-cases.ts';
import { type Running, startAuthorized, who } from './gateway.ts';
import { Remote, useTool } from './remote.ts';
import { SdkClient } from './sdk-client.ts';

const { values: options } = parseArgs({ options: { only: { type: 'string' }, shots: { type: 'string' } } });

interface World {
  readonly gateway: Running;
  readonly chromium: Chromium;
  /** Emptied afterwards. */
  readonly folder: string;
}

interface Case {
  readonly title: string;
  readonly verifies: Proof['verifies'];
  run(world: World): Promise<void>;
}

const echoed = [{ type: 'text', text: '{"message":"hello","length":5}' }];
const looks = [
  { name: 'light', context: { viewport: { width: 1000, height: 800 } } },
  { name: 'dark', context: { colorScheme: 'dark', viewport: { width: 1000, height: 800 } } },
  { name: 'phone', context: { viewport: { width: 320, height: 640 } } },
] as const;

const cases: readonly Case[] = [
  {
    title: 'a person signs in and agrees, and the SDK client gets in',
    verifies: ['gateway:authserver:flow', 'gateway:authserver:pages'],
    run: async ({ gateway, chromium }) => {
      const client = await SdkClient.start(gateway.url);
      const context = await chromium.newContext();
      const { page, complaints } = await openPage(context);
      await page.goto(await client.asks);
      await signIn(page);
      await allow(page);
      await page.getByText('The client has its answer').waitFor();
      assert.deepEqual(await client.useTool(), echoed);
      assert.deepEqual(complaints, []);
      for (const cookie of await context.cookies()) assert.equal(cookie.httpOnly, true, cookie.name);
      await context.close();
      await client.stop();
    },
  },
  {
    title: 'mcp-remote gets in after a person agreed in the browser, and needs nobody the next time',
    verifies: ['gateway:authserver:flow', 'gateway:authserver:refresh'],
    run: async ({ gateway, chromium, folder }) => {
      const context = await chromium.newContext();
      const { page, complaints } = await openPage(context);
      const remote = new Remote(gateway.url, folder);
      const used = useTool(remote);
      await page.goto(await remote.asks);
      await signIn(page);
      assert.match((await page.locator('main').textContent()) ?? '', /your own computer/i);
      await allow(page);
      assert.deepEqual(await used, echoed);
      await remote.stop();
      assert.deepEqual(complaints, []);
      await context.close();
      const again = new Remote(gateway.url, folder);
      assert.deepEqual(await useTool(again), echoed);
      assert.doesNotMatch(again.said, /oauth\/authorize/);
      await again.stop();
    },
  },
  {
    title: 'mcp-remote gets in without a screen',
    verifies: ['gateway:authserver:flow'],
    run: async ({ gateway, folder }) => {
      const remote = new Remote(gateway.url, folder);
      const used = useTool(remote);
      const back = await new Browser(gateway.origin).agree(await remote.asks, who);
      await fetch(back);
      assert.deepEqual(await used, echoed);
      await remote.stop();
    },
  },
  ...looks.map(
    ({ name, context: wanted }): Case => ({
      title: `every page fits and can be read: ${name}`,
      verifies: ['gateway:authserver:pages'],
      run: async ({ gateway, chromium }) => {
        const client = await SdkClient.start(gateway.url);
        const context = await chromium.newContext(wanted);
        const { page, complaints } = await openPage(context);
        const look = async (title: string, heading: RegExp) => {
          await page.getByRole('heading', { name: heading }).waitFor();
          const [wide, room] = await page
            .locator('html')
            .evaluate((html) => [html.scrollWidth, html.clientWidth] as const);
          assert.ok(wide <= room, `${title} is ${wide} wide in ${room}`);
          if (options.shots !== undefined) {
            await page.screenshot({ path: join(options.shots, `${name}-${title}.png`), fullPage: true });
          }
        };
        const asks = await client.asks;
        await page.goto(asks);
        await look('sign-in', /Sign in/);
        await signIn(page, { ...who, password: 'not this one' });
        await page.getByRole('alert').waitFor();
        await look('wrong', /Sign in/);
        await page.getByLabel('Password').fill(who.password);
        // As people do who have no mouse in hand.
        await page.keyboard.press('Enter');
        await look('consent', /Connect/);
        await page.getByRole('button', { name: 'Not ada?' }).click();
        await look('another', /Sign in/);
        await signIn(page);
        await page.getByRole('button', { name: 'Cancel' }).click();
        await page.getByText('The client has its answer').waitFor();
        await page.goto(`${gateway.origin}/oauth/sign-out`);
        await look('sign-out', /Sign out/);
        await page.getByRole('button', { name: 'Sign out' }).click();
        await look('signed-out', /signed out/);
        await page.goto(asks.replace(/redirect_uri=[^&]*/, 'redirect_uri=https%3A%2F%2Fevil.example%2F'));
        await look('trouble', /The request failed/);
        assert.deepEqual(complaints, []);
        await context.close();
        await client.stop();
      },
    }),
  ),
];

const all: readonly Case[] = [
  ...cases,
  ...[consoleCases, approvalCases, companyCases].flat().map(
    ({ title, verifies, run }): Case => ({
      title,
      verifies,
      run: ({ chromium }) => run(chromium, options.shots),
    }),
  ),
];

async function main(): Promise<number> {
  const startTime = Date.now();
  const chromium = await startChromium();
  const gateway = await startAuthorized();
  const proofs: Proof[] = [];
  for (const { title, verifies, run } of all.filter((one) => one.title.includes(options.only ?? ''))) {
    const folder = await mkdtemp(join(tmpdir(), 'bascule-browser-client-'));
    const failure = await run({ gateway, chromium, folder }).then(
      () => undefined,
      (error: unknown) => error,
    );
    await rm(folder, { recursive: true, force: true });
    console.log(failure === undefined ? 'ok      ' : 'FAILED  ', title);
    if (failure !== undefined) console.log(failure);
    proofs.push({ title, passed: failure === undefined, verifies });
  }
  await chromium.close();
  await gateway.stop();
  if (options.only === undefined) {
    await writeProofs('browser', { file: 'tests/browser/run.ts', startTime, proofs });
  }
  const failed = proofs.filter(({ passed }) => !passed).length;
  console.log(`\n${proofs.length - failed} passed, ${failed} failed`);
  return failed === 0 && proofs.length > 0 ? 0 : 1;
}

process.exitCode = await main();
// A client that hangs must not keep a run that is over.
process.exit();
