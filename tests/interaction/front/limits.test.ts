/** How much a client may send, and how slowly. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { head, RawClient } from '../../downstream/harness.ts';
import { verifies } from '../../requirements/verifies.ts';
import { refusal } from '../harness/behind.ts';
import { LeapClock } from '../harness/clock.ts';
import { modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { type House, launchHouse } from './house.ts';

const limits = { bodyBytes: 2048, headerBytes: 4096, bodyMs: 30_000 };
const clock = new LeapClock();
const path = '/modern/mcp';

let house: House;
beforeAll(async () => {
  house = await launchHouse({ limits, ports: { clock } });
});
afterAll(() => house.close());
beforeEach(() => house.forget());

function connect(): RawClient {
  return new RawClient(Number(new URL(house.gateway.origin).port));
}

const { headers: mirrored = {}, body } = modern({ id: 7, method: 'tools/list' });
const listing = JSON.stringify(body);
const json = { 'Content-Type': 'application/json', Accept: 'application/json', ...mirrored };

function posting(text: string, more: Record<string, string | number> = {}): string {
  return `${head('POST', path, { ...json, 'Content-Length': Buffer.byteLength(text), ...more })}${text}`;
}

/** The one answer that came so far: its status, and its body. */
function answerIn(text: string): { status: string; body: unknown } {
  const [start = '', body = ''] = text.replace('HTTP/1.1 100 Continue\r\n\r\n', '').split('\r\n\r\n');
  const status = /^HTTP\/1\.1 (\d{3}) /.exec(start)?.[1] ?? '';
  return { status, body: JSON.parse(body) };
}

const tooLarge = refusal({ code: -32600, message: 'The body is over 2048 bytes', reason: 'body_too_large' });
const tooLate = refusal({ code: -32600, message: 'Request not received in time', reason: 'request_timeout' });

describe('a body over the limit', verifies('gateway:http:body-too-large'), () => {
  it('is rejected before any of it has come, if it has a Content-Length', async () => {
    const client = connect();
    client.send(head('POST', path, { ...json, 'Content-Length': 2049 }));
    expect(answerIn(await client.until('body_too_large"}}}'))).toEqual({ status: '413', body: tooLarge });
    expect(house.modern.bytes).toBe(0);
  });

  it('is rejected as soon as it exceeds the limit, without a Content-Length', async () => {
    const client = connect();
    client.send(head('POST', path, { ...json, 'Transfer-Encoding': 'chunked' }));
    client.send(`801\r\n${'x'.repeat(2049)}\r\n`);
    expect(answerIn(await client.until('body_too_large"}}}'))).toEqual({ status: '413', body: tooLarge });
    expect(house.modern.bytes).toBe(0);
  });

  it('leaves its connection to the next request', async () => {
    const client = connect();
    client.send(posting('x'.repeat(2049)));
    await client.until('body_too_large"}}}');
    client.send(posting(listing));
    expect(await client.until('"tools":[{"name":"work"')).toContain('HTTP/1.1 200 OK');
    expect(house.modern.of('tools/list')).toHaveLength(1);
  });

  it('is not read without end: a client that continues to send is disconnected', async () => {
    const client = connect();
    client.send(head('POST', path, { ...json, 'Content-Length': 1e9 }));
    await client.until('body_too_large"}}}');
    client.send('x'.repeat(64 * 1024));
    await client.closed;
    expect(house.modern.bytes).toBe(0);
  });

  it('is not one of exactly the limit', async () => {
    const client = connect();
    client.send(posting(listing.padEnd(2048)));
    await client.until('"tools":[{"name":"work"');
  });
});

describe('headers over the limit', verifies('gateway:http:headers-too-large'), () => {
  it('are refused, once', async () => {
    const client = connect();
    client.send(posting(listing, { 'X-Large': 'x'.repeat(5000) }));
    const text = await client.until('headers_too_large"}}}');
    expect(answerIn(text)).toEqual({
      status: '431',
      body: refusal({ code: -32600, message: 'Headers too large', reason: 'headers_too_large' }),
    });
    expect(text).toContain('Content-Type: application/json\r\n');
    client.socket.end();
    await client.closed;
    expect(client.received).toBe(text);
    expect(house.modern.bytes).toBe(0);
  });

  it('are refused in many small ones, too', async () => {
    const many = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`X-Small-${n}`, 'x'.repeat(20)]));
    const client = connect();
    client.send(posting(listing, many));
    await client.until('HTTP/1.1 431 ');
    expect(house.modern.bytes).toBe(0);
  });

  it('are accepted below it', async () => {
    const client = connect();
    client.send(posting(listing, { 'X-Large': 'x'.repeat(3000) }));
    await client.until('"tools":[{"name":"work"');
  });
});

describe('a body that does not come in time', verifies('gateway:http:slow-body'), () => {
  it('is refused, and its connection closed', async () => {
    const client = connect();
    client.send(head('POST', path, { ...json, 'Content-Length': 1000, Expect: '100-continue' }));
    await client.until('HTTP/1.1 100 Continue');
    client.send('{"jsonrpc":"2.0","id":7,');
    clock.leap(limits.bodyMs - 1000);
    expect(client.received).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    // A body that trickles is timed as a whole.
    client.send('"method":"tools/list"');
    clock.leap(limits.bodyMs / 4);
    const text = await client.until('request_timeout"}}}');
    expect(answerIn(text)).toEqual({ status: '408', body: tooLate });
    expect(text).toContain('Connection: close\r\n');
    await client.closed;
    expect(house.modern.bytes).toBe(0);
  });
});

describe('headers that do not come in time', verifies('gateway:http:slow-headers'), () => {
  it.each([
    { name: 'half of them', bytes: `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-` },
    { name: 'all but the end', bytes: posting('').slice(0, -2) },
    { name: 'none', bytes: '' },
  ])('are refused, and their connection closed: $name', async ({ bytes }) => {
    // A gateway of its own: the other tests have all the time that they need.
    const impatient = await startGateway({ backends: {}, limits: { headersMs: 200 } });
    const client = new RawClient(Number(new URL(impatient.origin).port));
    if (bytes !== '') client.send(bytes);
    const text = await client.until('request_timeout"}}}');
    expect(answerIn(text)).toEqual({ status: '408', body: tooLate });
    await client.closed;
  });
});
