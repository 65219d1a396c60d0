/** Nothing that a client sends may end the process, or get anything but HTTP in return. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ask, eventually, head, ping, posting, RawClient, type Running, start } from './harness.ts';

const seed = 20260728;

const fragments = [
  posting(ping),
  posting(ping, { Accept: 'text/event-stream' }),
  posting('[1,2'),
  head('GET', '/sse'),
  head('GET', '/mcp', { Accept: 'text/event-stream', 'Last-Event-ID': '\u00ff\u0080' }),
  head('OPTIONS', '/mcp', { Origin: 'http://localhost', 'Access-Control-Request-Headers': '\u00ff,{},:' }),
  head('POST', '/messages?sessionId=%ff%00&sessionId=', { 'Content-Length': 2, 'Content-Type': 'application/json' }),
  head('POST', '/mcp', { 'Transfer-Encoding': 'chunked', 'Content-Type': 'application/json' }),
  head('GET', 'http://', { Host: '\u00e9' }),
  head('GET', '*'),
  'ffffffffffffffff\r\n',
  '5;x=y\r\nhello\r\n0\r\n\r\n',
  '\r\n\r\n',
  'HTTP/1.1 200 OK\r\n\r\n',
  'GET / HTTP/9.9\r\n\r\n',
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
];

const piece = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...fragments).map((text) => Buffer.from(text, 'latin1')) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)) },
  {
    weight: 2,
    arbitrary: fc
      .record({ text: fc.constantFrom(...fragments), at: fc.nat(400), byte: fc.integer({ min: 0, max: 255 }) })
      .map(({ text, at, byte }) => {
        const bytes = Buffer.from(text, 'latin1');
        bytes[at % bytes.length] = byte;
        return bytes;
      }),
  },
);

async function throwAt(running: Running, pieces: readonly Buffer[], leave: 'end' | 'destroy'): Promise<void> {
  const client = new RawClient(running.port);
  for (const bytes of pieces) {
    client.send(bytes);
    await new Promise((resolve) => setImmediate(resolve));
  }
  if (leave === 'end') client.socket.end();
  else client.socket.destroy();
  await client.closed;
  if (client.received !== '') expect(client.received).toMatch(/^HTTP\/1\.1 \d{3} /);
}

describe('any bytes on a socket', () => {
  it('leave the server running, and no connection open', async () => {
    const running = await start();
    const property = fc.asyncProperty(
      fc.array(piece, { minLength: 1, maxLength: 6 }),
      fc.constantFrom('end' as const, 'destroy' as const),
      (pieces, leave) => throwAt(running, pieces, leave),
    );
    await fc.assert(property, { seed, numRuns: 300 });
    const answer = await ask(running, { body: ping });
    expect(answer.status).toBe(200);
    expect(running.notes.faults).toEqual([]);
    // Every line that was opened was closed with its connection.
    await eventually(() => running.gateway.line.closes === running.gateway.connected.length);
    await running.server.close({ drainMs: 60_000 });
  });
});
