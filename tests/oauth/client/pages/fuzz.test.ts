/** Whatever a browser sends: a page that says no, never a fault of ours, and never a way through. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../../requirements/verifies.ts';
import { bench, consentFor, keys, people } from './support.ts';

const path = fc.oneof(
  fc.constantFrom('/connect/c1', '/connect/c2', '/connect/c3', '/oauth/callback', '/oauth/signed-in'),
  fc.string({ unit: 'binary' }).map((text) => `/connect/${text}`),
);
const name = fc.oneof(fc.constantFrom('state', 'code', 'error', 'iss', 'token', 'key'), fc.string());
const value = fc.oneof(
  fc.constantFrom('c1.s3cret', 'c2.s3cret', 'c1', 'c1.', '.', '', '__proto__', keys.other),
  fc.string({ unit: 'binary', maxLength: 200 }),
);
const fields = fc.array(fc.record({ name, value }), { maxLength: 6 });
const asQuery = (pairs: readonly { name: string; value: string }[]) =>
  new URLSearchParams(pairs.map((pair): [string, string] => [pair.name, pair.value])).toString();
const cookieName = fc.oneof(
  fc.constantFrom('__Host-bascule-browser', '__Host-bascule-consent-x', 'session'),
  fc.string(),
);

describe('any input', verifies('gateway:consent:any-input'), () => {
  it('gets 400, 403, 404, 405, a page or a prompt, and never completes a flow', async () => {
    const { consents, browser } = bench();
    for (const [id, person] of [
      ['c1', people.key],
      ['c2', people.local],
      ['c3', people.foreign],
    ] as const)
      consents.pending.set(id, consentFor(person));
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          method: fc.oneof(fc.constantFrom('GET', 'POST', 'HEAD'), fc.string()),
          path,
          query: fields,
          cookies: fc.array(fc.record({ name: cookieName, value }), { maxLength: 4 }),
          type: fc.constantFrom(
            'application/x-www-form-urlencoded',
            'text/plain',
            'multipart/form-data; boundary=x',
            '',
          ),
          body: fc.oneof(fields.map(asQuery), fc.string({ unit: 'binary' })),
        }),
        async ({ method, path: where, query, cookies, type, body }) => {
          const cookie = cookies.map((pair) => `${pair.name}=${pair.value}`).join(';');
          const headers = { cookie, 'content-type': type };
          const address = `${where.replaceAll('?', '')}?${asQuery(query)}`;
          const { status } = await browser().send({ method, address, headers, body });
          expect([200, 400, 403, 404, 405]).toContain(status);
          if (status === 200) expect(where).toMatch(/^\/connect\/c[13]$/);
        },
      ),
      { numRuns: 1500 },
    );
    expect(consents.completed).toEqual([]);
  });

  it('in a browser that started a flow, only the right state completes it', async () => {
    await fc.assert(
      fc.asyncProperty(fields, fc.constantFrom('/oauth/callback', '/oauth/signed-in'), async (query, where) => {
        const { consents, browser } = bench();
        consents.pending.set('c1', consentFor(people.key));
        const visitor = browser();
        await visitor.submit('/connect/c1', { key: keys.laptop });
        const { status } = await visitor.get(`${where}?${asQuery(query)}`);
        const states = query.filter((pair) => pair.name === 'state');
        const isOnce = new Set(query.map((pair) => pair.name)).size === query.length;
        const finishes = where === '/oauth/callback' && isOnce && states[0]?.value === 'c1.s3cret';
        expect(status === 200).toBe(finishes);
        expect(status).toBeLessThan(500);
        expect(consents.completed).toHaveLength(finishes ? 1 : 0);
      }),
      { numRuns: 300 },
    );
  });
});
