/** The page where people approve calls of others, in a real browser. */
import { strict as assert } from 'node:assert';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { addKey } from '../../src/identity/key-book.ts';
import { writeKeyFile } from '../../src/identity/key-file.ts';
import { hashPassword } from '../../src/oauth/server/passwords.ts';
import { addUser } from '../../src/oauth/server/user-book.ts';
import { writeUserFile } from '../../src/oauth/server/user-file.ts';
import type { Json } from '../interaction/harness/client.ts';
import { modern } from '../interaction/harness/eras.ts';
import { openPage, signIn } from './chromium.ts';
import { type ConsoleCase, hostileNames, looks, violationsOn } from './console-cases.ts';
import { startConsoleGateway } from './console-gateway.ts';

const bob = { name: 'bob', password: 'correct horse battery' };

/** A gateway whose agent has a key, and where bob approves what it wants to do. */
async function startOffice() {
  const folder = await mkdtemp(join(tmpdir(), 'bascule-approvals-'));
  const users = addUser(undefined, bob.name, await hashPassword(bob.password), 0);
  const added = addKey(undefined, { name: 'agent', scopes: [] }, { bytes: randomBytes, now: () => 0 });
  const [userFile, keyFile] = [join(folder, 'users.json'), join(folder, 'keys.json')];
  await writeFile(userFile, writeUserFile(users));
  await writeFile(keyFile, writeKeyFile(added.file));
  const gateway = await startConsoleGateway({
    identity: { authServer: { users: userFile }, keys: { file: keyFile } },
    policy: {
      rules: [
        { id: 'all', effect: 'allow' },
        { id: 'ask-before-echo', effect: 'approval', by: 'other', what: ['call'], on: { tools: ['*echo*'] } },
      ],
    },
    console: { who: { principals: ['somebody-else'] }, approve: { who: { principals: [bob.name] } } },
    limits: { approvalWaitMs: 0 },
  });
  return {
    ...gateway,
    call: async (args: object): Promise<Json> => {
      const { headers, body } = modern({ method: 'tools/call', params: { name: 'demo__echo', arguments: args } });
      const accept = 'application/json, text/event-stream';
      const response = await fetch(`${gateway.origin}/mcp`, {
        method: 'POST',
        headers: { ...headers, accept, 'content-type': 'application/json', authorization: `Bearer ${added.key}` },
        body: JSON.stringify(body),
      });
      return response.json();
    },
    stop: async () => {
      await gateway.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const card = (page: Page, text: string) => page.locator('section.card', { hasText: text });

export const approvalCases: readonly ConsoleCase[] = [
  {
    title: 'a person approves a call of an agent, and denies another',
    verifies: ['gateway:approval:other', 'gateway:approval:page', 'gateway:approval:preview'],
    run: async (chromium, shots) => {
      const office = await startOffice();
      const wanted = { message: 'hello', token: 'secret', count: 1, odd: hostileNames };
      const { error } = await office.call(wanted);
      assert.equal(error.data.reason, 'approval_needed');
      const first = await chromium.newContext();
      const { page, complaints } = await openPage(first);
      await page.goto(error.data.url);
      await page.getByRole('link', { name: /sign in/i }).click();
      await signIn(page, bob);
      // Bob may approve and nothing else: there is no other page.
      await page.getByRole('heading', { name: 'demo__echo at demo', level: 2 }).waitFor();
      assert.equal(await page.getByRole('navigation').getByRole('link').count(), 1);
      const shown = await page.locator('main').innerText();
      assert.ok(shown.includes('"token": "***"') && shown.includes('key:agent'), shown);
      assert.ok(shown.includes('onerror=\\"window.ran=1\\"') && shown.includes('\\u202e'), shown);
      assert.equal(await page.evaluate('window.ran'), undefined);
      const storageState = await first.storageState();
      for (const { name: look, context: wish } of looks) {
        const context = await chromium.newContext({ ...wish, storageState });
        const seen = await openPage(context);
        await seen.page.goto(error.data.url);
        await seen.page.locator('.selected').waitFor();
        const [wide, room] = await seen.page
          .locator('html')
          .evaluate((html) => [html.scrollWidth, html.clientWidth] as const);
        assert.ok(wide <= room, `${look} is ${wide} wide in ${room}`);
        assert.deepEqual(await violationsOn(seen.page), [], look);
        if (shots !== undefined)
          await seen.page.screenshot({ path: join(shots, `approvals-${look}.png`), fullPage: true });
        assert.deepEqual(seen.complaints, []);
        await context.close();
      }
      await page.getByRole('button', { name: 'Approve' }).click();
      await page.getByText('Approved: demo__echo at demo').waitFor();
      await page.getByText('No call waits for you').waitFor();
      assert.ok((await office.call(wanted)).result.content.length > 0);
      assert.equal((await office.call(wanted)).error.data.reason, 'approval_needed');
      // What cannot be shown whole can only be denied.
      await office.call({ message: 'long '.repeat(4_000) });
      const long = card(page, 'long long');
      await long.waitFor();
      assert.equal(await long.getByRole('button', { name: 'Approve' }).isDisabled(), true);
      await long.getByRole('button', { name: 'Deny' }).click();
      await page.getByText('Denied: demo__echo at demo').waitFor();
      assert.equal((await office.call({ message: 'long '.repeat(4_000) })).error.data.reason, 'approval_denied');
      assert.deepEqual(complaints, []);
      await first.close();
      await office.stop();
    },
  },
];
