/**
 * Identity is decided on headers: whatever a sender without good credentials puts into a body is neither kept nor
 * scanned.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { head, RawClient } from '../../downstream/harness.ts';
import { verifies } from '../../requirements/verifies.ts';
import { send, until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { bearer } from '../harness/credentials.ts';
import { type House, launchHouse } from './house.ts';

const clock = new LeapClock();
let house: House;
beforeAll(async () => {
  house = await launchHouse({
    identity: (issuer, ring) => ({ keys: { file: ring.path, query: 'key' }, issuers: [{ issuer: issuer.url }] }),
    endpoints: [
      { path: '/mcp' },
      { path: '/servers/modern/mcp', backends: ['modern'] },
      { path: '/envelope/mcp', backends: ['legacy'], identity: { accept: ['keys'], style: 'envelope' } },
    ],
    ports: { clock },
  });
});
afterAll(() => house.close());
beforeEach(() => {
  house.legacy.forget();
  house.modern.forget();
});

const json = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
const kib = 1024;

interface Way {
  readonly name: string;
  readonly path: string;
  readonly status: 401 | 200;
}
const ways: readonly Way[] = [
  { name: 'the merged endpoint', path: '/mcp', status: 401 },
  { name: 'the endpoint of one server', path: '/servers/modern/mcp', status: 401 },
  { name: 'HTTP+SSE', path: '/messages?sessionId=x', status: 401 },
  { name: 'the envelope style', path: '/envelope/mcp', status: 200 },
];

function connect(): RawClient {
  return new RawClient(Number(new URL(house.gateway.origin).port));
}

function bodyIn(text: string): { id?: unknown; error: { data: { reason: string } } } {
  return JSON.parse(text.slice(text.indexOf('\r\n\r\n')));
}

describe('a sender without credentials', verifies('gateway:identity:headers-first'), () => {
  it.each(ways)('is answered before a body of 4 MiB is sent: $name', async ({ path, status }) => {
    const client = connect();
    client.send(head('POST', path, { ...json, 'Content-Length': 4096 * kib }));
    const text = await client.until('}}}');
    expect(text).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(bodyIn(text).error.data.reason).toBe('credentials_missing');
    house.expectNothingPassed();
  });

  it.each(ways)('is answered without an id after 64 KiB, and the rest is discarded: $name', async ({ path }) => {
    const client = connect();
    client.send(head('POST', path, { ...json, 'Transfer-Encoding': 'chunked' }));
    const part = `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"x":"${'x'.repeat(65 * kib)}`;
    client.send(`${part.length.toString(16)}\r\n${part}\r\n`);
    const text = await client.until('}}}');
    expect(bodyIn(text).id ?? undefined).toBeUndefined();
    // The connection lives: HTTP can go on behind such a body.
    client.send('4\r\n"}}}\r\n0\r\n\r\n');
    client.send(head('GET', '/healthz'));
    await client.until('"status":"ok"');
  });

  it.each(ways)('is answered without an id where the body does not come in time: $name', async ({ path, status }) => {
    const client = connect();
    client.send(head('POST', path, { ...json, 'Content-Length': 1000, Expect: '100-continue' }));
    await client.until('HTTP/1.1 100 Continue');
    client.send('{"jsonrpc":"2.0","id":7,');
    clock.leap(3000);
    const text = (await client.until('}}}')).replace('HTTP/1.1 100 Continue\r\n\r\n', '');
    expect(text).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(bodyIn(text).error.data.reason).toBe('credentials_missing');
    expect(text).toContain('Connection: close\r\n');
    await client.closed;
  });

  it.each(ways)(
    'gets its id back whatever the parameters contain, because they are not parsed: $name',
    async ({ path }) => {
      const inside = ['{"a":1,"a":2}', '[01,tru]', '['.repeat(500) + ']'.repeat(500), '{"\\ud800":"\\x"}'];
      for (const value of inside) {
        const body = `{"jsonrpc":"2.0","method":"tools/list","params":{"x":${value}},"id":7}`;
        const answer = await send(`${house.gateway.origin}${path}`, { body });
        expect({ value, id: answer.json().id }).toEqual({ value, id: 7 });
      }
      house.expectNothingPassed();
    },
  );

  it.each(ways)('gets no id back for a message whose own members are not simple: $name', async ({ path }) => {
    const crowd = Array.from({ length: 65 }, (_, at) => `"k${at}":0`).join();
    for (const members of ['"id":8', '"ID":8', '"a":01', '"a":"\\x"', '"a":"\n"', `"${'a'.repeat(5000)}":0`, crowd]) {
      const body = `{"jsonrpc":"2.0","id":7,"method":"tools/list",${members}}`;
      const answer = await send(`${house.gateway.origin}${path}`, { body });
      expect({ members, id: answer.json().id ?? 'none' }).toEqual({ members, id: 'none' });
    }
  });

  it('gets 401 before any error about size, media type and JSON', async () => {
    const wrongs = [
      { body: 'x'.repeat(5 * kib * kib) },
      { body: 'x', headers: { 'content-type': 'text/plain' } },
      { body: '{"a":1,"a":2}' },
    ];
    for (const wrong of wrongs) expect((await send(house.gateway.url(), wrong)).status).toBe(401);
    const get = { method: 'GET', headers: { accept: 'application/json' } };
    expect((await send(house.gateway.url(), get)).status).toBe(401);
  });
});

describe('a sender whose token needs the issuer to be verified', verifies('gateway:identity:headers-first'), () => {
  it('is served with its whole body, however it arrived meanwhile', async () => {
    const token = await house.issuer.token(house.gateway.url());
    const message = JSON.stringify({
      ...{ jsonrpc: '2.0', id: 'large', method: 'initialize' },
      params: {
        protocolVersion: '2025-11-25',
        capabilities: {},
        clientInfo: { name: 'x'.repeat(300 * kib), version: '1' },
      },
    });
    const answer = await send(house.gateway.url(), { body: message, headers: bearer(token) });
    expect({ status: answer.status, id: answer.json().id }).toEqual({ status: 200, id: 'large' });
  });

  it('is rejected by size, not by identity, with valid credentials', async () => {
    const body = 'x'.repeat(5 * kib * kib);
    const answer = await send(house.gateway.url(), { body, headers: bearer(house.keys.good) });
    expect(answer.status).toBe(413);
    const byQuery = await send(`${house.gateway.url()}?key=${house.keys.good}`, { body });
    expect(byQuery.status).toBe(413);
  });
});

describe('a reload while a body is being read', verifies('gateway:identity:headers-first'), () => {
  it('decides about the whole request', async () => {
    const own = await launchHouse();
    try {
      const client = new RawClient(Number(new URL(own.gateway.origin).port));
      const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'ping' });
      const credentials = { Authorization: `Bearer ${own.keys.good}`, Expect: '100-continue' };
      client.send(head('POST', '/mcp', { ...json, ...credentials, 'Content-Length': body.length }));
      await client.until('HTTP/1.1 100 Continue');
      own.gateway.reload({ ...own.config, identity: { issuers: [{ issuer: own.issuer.url }] } });
      await until(() => own.gateway.assembled.config.generation === 2, 'the next config is in force');
      client.send(body);
      const text = (await client.until('}}}')).replace('HTTP/1.1 100 Continue\r\n\r\n', '');
      expect(text).toMatch(/^HTTP\/1\.1 401 /);
      expect(bodyIn(text).id).toBe(7);
    } finally {
      await own.close();
    }
  });
});
