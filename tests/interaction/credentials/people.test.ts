/** What one person has agreed to is that person's: the page, the tokens, the lists, the trouble. */
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { TestTime } from '../../oauth/client/support.ts';
import { verifies } from '../../requirements/verifies.ts';
import { Browser } from '../authserver/browser.ts';
import { open } from '../harness/client.ts';
import { bearer } from '../harness/credentials.ts';
import { eras, modern } from '../harness/eras.ts';
import type { Caller } from './caller.ts';
import { tokenIn } from './guarded-backend.ts';
import { done, Office, staff } from './office.ts';
import { Person } from './person.ts';

const single = { client: 'modern', door: 'single' } as const;
const merged = { client: 'modern', door: 'merged' } as const;

/** The page that somebody is told of who cannot be asked. */
async function linkFor(office: Office, name: (typeof staff)[number]): Promise<string> {
  const client = await office.client(single, office.employee(name), 'never');
  return (await client.call('work')).error.data.url;
}

describe('the page', verifies('gateway:consent:principal-alone', 'gateway:consent:browser-bound'), () => {
  it('is only for the principal that got it, whoever opens the link', async () => {
    const office = await Office.open({ backend: 'modern' });
    const ada = office.employee('ada');
    const bob = office.employee('bob');
    const link = await linkFor(office, 'ada');
    expect((await bob.person.leave(link)).status).toBe(403);
    expect((await new Person('eve', office.gateway.origin, 'bsc_no-key').leave(link)).status).toBe(403);
    expect((await new Person('eve', office.gateway.origin, '').leave(link)).status).toBe(403);
    expect((await bob.person.browser.go(`${office.gateway.origin}/connect/AAAAAAAAAAAAAAAAAAAAAAAA`)).status).toBe(404);
    expect(office.backend.issuer.site.asked('/authorize')).toEqual([]);
    expect((await ada.person.agree(link, office.backend)).status).toBe(200);
    // Once.
    expect((await ada.person.browser.go(link)).status).toBe(404);
  });

  it('is not completed in another browser than the one that started the flow', async () => {
    const office = await Office.open({ backend: 'modern' });
    const ada = office.employee('ada');
    const left = await ada.person.leave(await linkFor(office, 'ada'));
    const { headers } = await fetch(left.url, { redirect: 'manual' });
    const back = headers.get('location') ?? '';
    const elsewhere = await new Browser(office.gateway.origin).go(back);
    expect(elsewhere.status).toBe(403);
    expect(office.backend.issuer.tokenRequests('authorization_code')).toEqual([]);
    expect((await ada.person.browser.go(back)).status).toBe(200);
  });

  it('is not shown without a key, and needs none of the endpoint credentials', async () => {
    const office = await Office.open({ backend: 'modern' });
    const page = await new Browser(office.gateway.origin).go(await linkFor(office, 'ada'));
    expect(page.status).toBe(200);
    expect(page.headers.get('cache-control')).toContain('no-store');
    expect(page.text).toContain('type="password"');
  });
});

describe('a principal that has not consented', verifies('gateway:credentials:others-unaffected'), () => {
  it.each(eras)('gets everything else of the endpoint (a %s client)', async (client) => {
    const office = await Office.open({ backend: 'modern' });
    const bob = await office.client({ client, door: 'merged' }, office.employee('bob'), 'never');
    expect(await bob.tools()).toEqual(['other__free']);
    expect(await bob.call('other__free')).toMatchObject({ result: { content: [{ text: 'free' }] } });
    expect((await bob.call('files__work')).error.data.reason).toBe('consent_needed');
    expect(await bob.call('other__free')).toMatchObject({ result: { content: [{ text: 'free' }] } });
  });

  it.each(eras)('is not served because another one has (a %s client)', async (client) => {
    const office = await Office.open({ backend: client });
    const ada = await office.client({ client, door: 'merged' }, office.employee('ada'));
    expect(await ada.call('files__work')).toMatchObject(done);
    expect([...(await ada.tools())].sort()).toEqual(['files__work', 'other__free']);
    const bob = await office.client({ client, door: 'merged' }, office.employee('bob'), 'never');
    expect(await bob.tools()).toEqual(['other__free']);
    expect((await bob.call('files__work')).error.data.reason).toBe('consent_needed');
    expect(await ada.call('files__work')).toMatchObject(done);
    expect(new Set(office.backend.inner.received.map((one) => office.backend.ownerOf(one)))).toEqual(new Set(['ada']));
  });
});

describe('lists', verifies('gateway:credentials:list-changes'), () => {
  it.each([
    { backend: 'legacy', door: 'single', has: ['work'] },
    { backend: 'modern', door: 'single', has: ['work'] },
    { backend: 'legacy', door: 'merged', has: ['files__work', 'other__free'] },
    { backend: 'modern', door: 'merged', has: ['files__work', 'other__free'] },
  ] as const)('are notified as changed once consent was given ($backend backend, $door)', async (row) => {
    const office = await Office.open({ backend: row.backend });
    const ada = office.employee('ada');
    const client = await office.client({ client: 'legacy', door: row.door }, ada, 'never');
    const stream = await client.session?.listen();
    const { error } = await client.call(office.tool(row.door));
    await ada.person.agree(error.data.url, office.backend);
    await stream?.message(({ method }) => method === 'notifications/tools/list_changed');
    expect([...(await client.tools())].sort()).toEqual(row.has);
  });

  it.each(eras)(
    'are notified as changed to every principal that consents, not only to the first (%s backend)',
    async (era) => {
      const office = await Office.open({ backend: era });
      const first = await office.client({ client: 'legacy', door: 'merged' }, office.employee('ada'));
      expect(await first.call('files__work')).toMatchObject(done);
      const bob = office.employee('bob');
      const client = await office.client({ client: 'legacy', door: 'merged' }, bob, 'never');
      expect(await client.tools()).toEqual(['other__free']);
      const stream = await client.session?.listen();
      const { error } = await client.call('files__work');
      const before = stream?.events.length ?? 0;
      await bob.person.agree(error.data.url, office.backend);
      await stream?.event(
        (event) =>
          (stream?.events.indexOf(event) ?? 0) >= before && event.data?.includes('tools/list_changed') === true,
      );
      expect([...(await client.tools())].sort()).toEqual(['files__work', 'other__free']);
    },
  );

  it('are notified as changed to a modern subscription', async () => {
    const office = await Office.open({ backend: 'modern' });
    const ada = office.employee('ada');
    const client = await office.client(merged, ada, 'never');
    const listen = modern({
      id: 'l',
      method: 'subscriptions/listen',
      params: { notifications: { toolsListChanged: true } },
      headers: bearer(ada.key),
    });
    const stream = await open(office.gateway.url(), listen);
    onTestFinished(() => stream.close());
    await stream.message(({ method }) => method === 'notifications/subscriptions/acknowledged');
    const { error } = await client.call('files__work');
    await ada.person.agree(error.data.url, office.backend);
    await stream.message(({ method }) => method === 'notifications/tools/list_changed');
    expect([...(await client.tools())].sort()).toEqual(['files__work', 'other__free']);
  });
});

describe('the tokens of several users', verifies('gateway:credentials:one-principal'), () => {
  it('never serve another user, in any order of events', async () => {
    const step = fc.record({
      who: fc.constantFrom(...staff),
      what: fc.constantFrom('call', 'call', 'together', 'expire', 'forget'),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...eras),
        fc.array(step, { minLength: 4, maxLength: 12 }),
        async (era, steps) => {
          const time = new TestTime();
          const office = await Office.open({ backend: era, ports: { timeOfDay: time.now } });
          const clients = new Map<string, Caller>();
          for (const who of staff) {
            clients.set(who, await office.client({ client: era, door: 'single' }, office.employee(who)));
          }
          const work = async (who: string) => expect(await clients.get(who)?.call('work', { who })).toMatchObject(done);
          for (const { who, what } of steps) {
            if (what === 'call') await work(who);
            else if (what === 'together') await Promise.all(staff.map(work));
            else {
              // Refused though it looks good, and not because it was never good: refreshed, or asked for anew.
              time.move(6 * 60_000);
              for (const [token, owner] of office.backend.owners) if (owner === who) office.backend.ended.add(token);
              if (what === 'forget') office.backend.issuer.endRefreshTokens();
            }
          }
          for (const call of office.backend.inner.of('tools/call')) {
            expect(office.backend.ownerOf(call)).toBe(call.message.params.arguments.who);
          }
          for (const presented of office.backend.presented) {
            if (presented !== undefined) expect(office.backend.owners.has(tokenIn(presented))).toBe(true);
          }
          await office.gateway.close(0);
        },
      ),
      { numRuns: 8 },
    );
  }, 60_000);
});
