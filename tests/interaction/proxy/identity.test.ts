/** `Proxy-Authorization` says who a client of the proxy is, and goes nowhere else. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { keyRing } from '../harness/credentials.ts';
import { modern } from '../harness/eras.ts';
import { openProxy, type ProxyHouse, sendRaw, trustBackends, tunnelTo, ways } from './setup.ts';

trustBackends();

const read = modern({ method: 'tools/call', params: { name: 'work' } });
const challenge = 'Basic realm="bascule", Bearer realm="bascule"';

async function openGuarded(more: object = {}): Promise<ProxyHouse & { readonly key: string; revoke(): void }> {
  const ring = keyRing();
  const key = ring.make('alice');
  const house = await openProxy({ more: { identity: { keys: { file: ring.path } }, ...more } });
  return Object.assign(house, { key, revoke: () => ring.revoke('alice') });
}

const basic = (user: string, password: string) => `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

describe.each(ways)('by $name', verifies('gateway:proxy:identity'), ({ send, to }) => {
  it.each([
    { name: 'Basic', header: (key: string) => basic('whoever', key) },
    { name: 'Bearer', header: (key: string) => `Bearer ${key}` },
  ])('a key is accepted with $name, and never passed on, logged or recorded', async ({ header }) => {
    const house = await openGuarded();
    const forProxy = { 'proxy-authorization': header(house.key), 'proxy-connection': 'keep-alive' };
    const answer = await send(house, { ...read, forProxy });
    expect(answer.json().result.content).toEqual([{ type: 'text', text: 'work' }]);
    expect(house.records).toMatchObject([
      { decision: 'allow', principal: { kind: 'key', key: 'alice' }, endpoint: `/servers/${to}/mcp` },
    ]);
    const seen = JSON.stringify([house.plain.received, house.tls.received, house.records, house.gateway.log]);
    expect(seen).not.toContain(house.key);
    expect(seen).not.toContain(Buffer.from(`whoever:${house.key}`).toString('base64'));
    expect(seen.toLowerCase()).not.toContain('proxy-authorization');
  });

  it.each([
    { name: 'none', headers: {}, reason: 'credentials_missing' },
    { name: 'another scheme', headers: { 'proxy-authorization': 'Negotiate abc' }, reason: 'credentials_missing' },
    { name: 'a wrong key', headers: { 'proxy-authorization': 'Bearer bsc_no_no' }, reason: 'key_unknown' },
    { name: 'a broken header', headers: { 'proxy-authorization': 'Basic %%%' }, reason: 'credentials_missing' },
    // The header is the backend's.
    { name: 'a key in Authorization', headers: { authorization: 'Bearer KEY' }, reason: 'credentials_missing' },
  ])('$name: 407 with a challenge, and no byte upstream', async ({ headers, reason }) => {
    const house = await openGuarded();
    house.forget();
    const filled = Object.entries(headers).map(([name, value]) => [name, value.replace('KEY', house.key)]);
    const answer = await send(house, { ...read, forProxy: Object.fromEntries(filled) });
    expect([answer.status, answer.headers['proxy-authenticate'], answer.headers['www-authenticate']]).toEqual([
      ...[407, challenge, undefined],
    ]);
    expect(answer.json().error.data.reason).toBe(reason);
    expect(house[to].of('tools/call')).toEqual([]);
    expect(house.records).toMatchObject([{ decision: 'deny', reason, endpoint: `/servers/${to}/mcp` }]);
  });
});

describe('who asks', verifies('gateway:proxy:identity'), () => {
  it('a sender without credentials does not learn which hosts are listed', async () => {
    const house = await openGuarded();
    const listed = await tunnelTo(house.gateway.proxy, new URL(house.tls.url).host);
    const other = await tunnelTo(house.gateway.proxy, 'example.com:443');
    if ('socket' in listed || 'socket' in other) throw new Error('a tunnel without credentials');
    expect([listed.status, listed.body]).toEqual([other.status, other.body]);
    const known = await tunnelTo(house.gateway.proxy, 'example.com:443', {
      'proxy-authorization': basic('x', house.key),
    });
    expect('status' in known && known.status).toBe(403);
  });

  it('two headers are refused', async () => {
    const house = await openGuarded();
    const { host } = new URL(house.plain.url);
    const twice = `Proxy-Authorization: Bearer ${house.key}\r\n`.repeat(2);
    const answer = await sendRaw(house.gateway.proxy, `CONNECT ${host} HTTP/1.1\r\nHost: ${host}\r\n${twice}\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 400 .*credentials_ambiguous/s);
  });

  it('a key that is revoked ends what an open tunnel may do', async () => {
    const house = await openGuarded();
    const { host } = new URL(house.plain.url);
    const opened = await tunnelTo(house.gateway.proxy, host, { 'proxy-authorization': `Bearer ${house.key}` });
    if (!('socket' in opened)) throw new Error('no tunnel');
    house.revoke();
    await expect
      .poll(() => house.gateway.assembled.currentGeneration.now.authenticator.holderOf(house.key), {
        timeout: 8_000,
      })
      .toBeUndefined();
    house.forget();
    opened.socket.write(`GET /mcp HTTP/1.1\r\nHost: ${host}\r\nAccept: text/event-stream\r\n\r\n`);
    const answer = await new Promise<string>((resolve) => opened.socket.once('data', (data) => resolve(String(data))));
    expect(answer).toMatch(/^HTTP\/1\.1 407 .*key_unknown/s);
    expect(house.plain.bytes).toBe(0);
  });

  it('a key in the header of the endpoint’s own way is not one at the proxy', async () => {
    const ring = keyRing();
    const key = ring.make('alice');
    const identity = { keys: { file: ring.path, header: 'x-api-key' } };
    const house = await openProxy({ more: { identity } });
    const answer = await ways[0]?.send(house, { ...read, forProxy: { 'x-api-key': key } });
    expect(answer?.status).toBe(407);
  });
});
