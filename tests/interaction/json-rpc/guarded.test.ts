/**
 * A JSON-RPC endpoint asks who is calling as every other does, and needs the same scopes of a notification as of a
 * request.
 */
import { describe, expect, it } from 'vitest';
import { head, RawClient } from '../../downstream/harness.ts';
import { verifies } from '../../requirements/verifies.ts';
import { send } from '../harness/client.ts';
import { keyRing } from '../harness/credentials.ts';
import { ask, openShop, tell } from './setup.ts';

const answer = { jsonrpc: '2.0', id: 5, result: 1 };

async function guarded(identity: object = {}) {
  const ring = keyRing();
  const keys = {
    staff: ring.make('staff', { scopes: ['rpc:use', 'rpc:admin'] }),
    guest: ring.make('guest', { scopes: ['rpc:use'] }),
  };
  const shop = await openShop({
    endpoint: { identity: { scopes: { required: ['rpc:use'], methods: { wipe: ['rpc:admin'] } }, ...identity } },
    more: {
      identity: { keys: { file: ring.path } },
      policy: { rules: [{ id: 'keys', effect: 'allow', who: { keys: ['staff', 'guest'] } }] },
    },
  });
  return { shop, headers: (who: keyof typeof keys) => ({ authorization: `Bearer ${keys[who]}` }) };
}

describe('without credentials', () => {
  const bodies = [
    { name: 'a request', body: ask('get'), id: 1 },
    { name: 'a notification', body: tell('get'), id: null },
    { name: 'an answer', body: answer, id: null },
    { name: 'a batch', body: [ask('get')], id: null },
    { name: 'an unreadable body', body: '{', id: null },
    { name: 'a batch that cannot be read', body: '[{', id: null },
  ];
  it.each(bodies)(
    '$name is 401, and reveals nothing more',
    verifies('gateway:json-rpc:guarded'),
    async ({ body, id }) => {
      const { shop } = await guarded();
      for (const headers of [{}, { authorization: 'Bearer nonsense' }] as const) {
        const refused = await shop.post(body, headers);
        expect({ status: refused.status, id: refused.json().id }).toEqual({ status: 401, id });
        expect(refused.headers['www-authenticate']).toMatch(/^Bearer /);
        expect(['credentials_missing', 'token_invalid', 'key_unknown']).toContain(refused.json().error.data.reason);
      }
      expect(shop.service.bytes).toBe(0);
    },
  );
});

describe('without credentials, a body of 4 MiB', () => {
  it('is answered before it is sent', verifies('gateway:identity:headers-first'), async () => {
    const { shop } = await guarded();
    const { port, pathname } = new URL(shop.url);
    const client = new RawClient(Number(port));
    client.send(head('POST', pathname, { 'Content-Type': 'application/json', 'Content-Length': 4 * 1024 * 1024 }));
    expect(await client.until('"credentials_missing"')).toMatch(/^HTTP\/1\.1 401 /);
    expect(shop.service.bytes).toBe(0);
  });
});

describe('with credentials', () => {
  const bodies = [
    { name: 'a request', body: ask('wipe'), id: 1 },
    { name: 'a notification', body: tell('wipe'), id: null },
    { name: 'a batch', body: [ask('get'), tell('wipe')], id: 1 },
  ];
  it.each(bodies)('that do not cover it, $name is 403', verifies('gateway:json-rpc:guarded'), async ({ body, id }) => {
    const { shop, headers } = await guarded();
    const refused = await shop.post(body, headers('guest'));
    const told = [refused.json()].flat()[0];
    expect({ status: refused.status, id: told.id, reason: told.error.data.reason }).toEqual({
      status: 403,
      id,
      reason: 'scope_insufficient',
    });
    expect(shop.service.bytes).toBe(0);
    expect((await shop.post(body, headers('staff'))).status).toBeLessThan(300);
  });

  it('that cover it, it passes, and the key does not', verifies('gateway:json-rpc:guarded'), async () => {
    const { shop, headers } = await guarded();
    expect((await shop.post(ask('get'), headers('guest'))).status).toBe(200);
    expect(shop.service.visits[0]?.headers.authorization).toBeUndefined();
    expect(shop.records).toMatchObject([{ principal: { kind: 'key', key: 'guest' }, rules: ['keys'] }]);
  });
});

it('a preflight is allowed, for POST only', verifies('gateway:json-rpc:post-alone'), async () => {
  const shop = await openShop({ more: { listen: { allowedOrigins: ['https://page.example'] } } });
  const origin = 'https://page.example';
  const { status, headers } = await send(shop.url, { method: 'OPTIONS', headers: { origin } });
  expect([status, headers['access-control-allow-methods']]).toEqual([204, 'POST, OPTIONS']);
  expect((await shop.post(ask('get'), { origin })).headers['access-control-allow-origin']).toBe(origin);
});
