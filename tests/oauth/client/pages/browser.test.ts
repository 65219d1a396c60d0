/** The whole way in a real browser: cookies, redirects and the content policy as Chromium understands them. */

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MemoryAttempts } from '../../../../src/exchange/memory-attempts.ts';
import { mountConnectPages } from '../../../../src/oauth/client/pages/create.ts';
import { createSeal } from '../../../../src/store/seal.ts';
import type { Mounted } from '../../../../src/web/mount.ts';
import { verifies } from '../../../requirements/verifies.ts';
import { consentFor, people, TestConsents } from './support.ts';

/** Where Debian has it. */
const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
const quiet = [
  'disable-quic',
  'no-first-run',
  'disable-background-networking',
  'disable-component-update',
  'disable-sync',
];

const servers: Server[] = [];
async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe.skipIf(!existsSync(executablePath))('in Chromium', () => {
  const consents = new TestConsents();
  let browser: Browser;
  let gate = '';
  let login = '';

  beforeAll(async () => {
    browser = await chromium.launch({
      executablePath,
      args: ['--no-sandbox', '--disable-gpu', ...quiet.map((flag) => `--${flag}`)],
    });
    let pages: Mounted | undefined;
    gate = await serve((req, res) => pages?.handle(req, res));
    const onwards =
      (next: () => string): RequestListener =>
      (req, res) => {
        const { search } = new URL(req.url ?? '', gate);
        res.writeHead(302, { location: `${next()}${search}` }).end();
      };
    // As where people sign in at a third server, and have allowed it before: no page between the form and the way back.
    const federated = await serve(onwards(() => `${gate}/oauth/callback`));
    login = await serve(onwards(() => `${federated}/sign-in`));
    const ports = {
      publicUrl: gate,
      consents,
      people: { accounts: async () => [] },
      seal: createSeal('test'),
      attempts: new MemoryAttempts(Date.now),
      now: () => Date.now(),
      random: () => randomBytes(32).toString('base64url'),
      refused: () => undefined,
      warn: () => undefined,
    };
    pages = mountConnectPages(ports, { clientAddress: () => '127.0.0.1' });
  });

  afterAll(async () => {
    await browser?.close();
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
  });

  async function visitor(): Promise<{ readonly page: Page; readonly complaints: readonly string[] }> {
    const page = await (await browser.newContext()).newPage();
    const complaints: string[] = [];
    page.on('console', (message) => {
      if (message.text().includes('Content Security Policy')) complaints.push(message.text());
    });
    return { page, complaints };
  }

  const begin = (id: string) => consents.pending.set(id, consentFor(people.local, { issuer: login }));
  const title = (page: Page) => page.textContent('h1');

  it('a user completes the flow with redirects over other servers, and the Content-Security-Policy allows it', async () => {
    begin('c1');
    const { page, complaints } = await visitor();
    await page.goto(`${gate}/connect/c1`);
    expect(await page.locator('button').evaluate((button) => button.ownerDocument.styleSheets.length)).toBe(1);
    await page.click('button');
    await page.waitForURL('**/oauth/callback?*');
    expect(await title(page)).toBe('Connected');
    expect(complaints).toEqual([]);
    expect(consents.completed.map(({ id }) => id)).toEqual(['c1']);
    await page.reload();
    expect(await title(page)).toBe('Nothing to finish here');
  });

  it('another browser does not', verifies('gateway:consent:browser-bound'), async () => {
    begin('c2');
    const victim = await visitor();
    await victim.page.goto(`${login}/authorize?state=${consents.stateOf('c2')}`);
    expect(await title(victim.page)).toBe('Nothing to finish here');
    expect(consents.pending.has('c2')).toBe(true);
  });

  it('a page of another site cannot send the form', async () => {
    begin('c3');
    const { page } = await visitor();
    await page.goto(`${gate}/connect/c3`);
    const token = await page.inputValue('input[name=token]');
    const other = await serve((_req, res) => {
      res.setHeader('content-type', 'text/html');
      res.end(
        `<form method=post action="${gate}/connect/c3"><input name=token value="${token}"><button>x</button></form>`,
      );
    });
    await page.goto(other.replace('127.0.0.1', 'localhost'));
    await page.click('button');
    expect(await title(page)).toBe('Please open the link again');
    expect(consents.pending.has('c3')).toBe(true);
  });
});
