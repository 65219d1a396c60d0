/** Clients that do not read their answers, and clients that are still sending when theirs comes. */
import { connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { head, RawClient } from '../../downstream/harness.ts';
import { verifies } from '../../requirements/verifies.ts';
import { behindModern, text } from '../harness/behind.ts';
import { type OpenAnswer, open, send, until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';

const MiB = 1024 * 1024;
/** More than the system takes for a reader that does not read. */
const large = 'x'.repeat(24 * MiB);
const done = { resultType: 'complete', ...text(large) };

function call(id: string, accept: string) {
  const request = modern({ id, method: 'tools/call', params: { name: 'work' } });
  return { ...request, headers: { ...request.headers, accept } };
}

describe('a client that never reads its answer', () => {
  it.each([
    { name: 'in JSON', accept: 'application/json' },
    { name: 'in a stream', accept: 'text/event-stream' },
  ])(
    'is disconnected after the configured time, whatever it sends meanwhile: $name',
    verifies('gateway:http:unread-answer'),
    async ({ accept }) => {
      const clock = new LeapClock();
      const { gateway, url } = await behindModern({ 'tools/call': (turn) => turn.result(done) }, { ports: { clock } });
      const client = new RawClient(Number(new URL(url).port));
      client.socket.pause();
      const { headers, body } = call('c', accept);
      const bytes = JSON.stringify(body);
      const lines = { ...headers, 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(bytes) };
      client.send(`${head('POST', new URL(url).pathname, lines)}${bytes}`);
      // The head has come: the answer is on its way, and the system takes no more of it.
      await until(() => client.socket.readableLength > 0, 'the answer begins');
      for (let step = 0; step < 5; step += 1) {
        client.send('G');
        clock.leap(15_000);
      }
      await until(() => (gateway.counters.snapshot()['ingress.cut_off'] ?? 0) === 1, 'it is cut off');
      expect((await send(`${gateway.origin}/healthz`, { method: 'GET' })).status).toBe(200);
    },
  );

  it(
    'does not use up the shared memory: the client that read nothing for longest is disconnected first',
    verifies('gateway:http:slow-readers-bounded'),
    async () => {
      const { gateway, url } = await behindModern(
        { 'tools/call': (turn) => turn.result(done) },
        { limits: { slowReaderBytes: 40 * MiB } },
      );
      const opened: OpenAnswer[] = [];
      for (const id of ['first', 'second', 'third']) {
        const stalled = (await open(url, call(id, 'application/json'))).stall();
        opened.push(stalled);
      }
      const cuts = () => gateway.counters.snapshot()['ingress.cut_off'] ?? 0;
      await until(() => cuts() > 0, 'one of them is cut off');
      expect(cuts()).toBeLessThan(3);
      const last = opened.at(-1)?.read();
      await last?.ended;
      expect(last?.complete).toBe(true);
      expect(JSON.parse(last?.text() ?? '').id).toBe('third');
      opened[0]?.read();
      await opened[0]?.ended;
      expect(opened[0]?.complete).toBe(false);
    },
  );
});

describe('a client that closes after its request', verifies('gateway:http:refused-while-sending'), () => {
  it.each([
    { name: 'a body that is too large', path: '/mcp', bytes: 2 * MiB, status: 413 },
    { name: 'a path that does not exist', path: '/nowhere', bytes: 2 * MiB, status: 404 },
  ])('gets its answer while it is still sending: $name', async ({ path, bytes, status }) => {
    const gateway = await startGateway({ backends: {}, limits: { bodyBytes: MiB } });
    const socket = connect(Number(new URL(gateway.origin).port), '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    const errors: Error[] = [];
    socket.on('error', (error) => errors.push(error));
    const type = { 'Content-Type': 'application/json', Accept: 'application/json' };
    socket.write(head('POST', path, { ...type, Connection: 'close', 'Content-Length': bytes }));
    // Sends first and reads afterwards, as simple clients do.
    const piece = Buffer.alloc(64 * 1024, 'x');
    for (let sent = 0; sent < bytes; sent += piece.byteLength) {
      await new Promise<void>((resolve) => socket.write(piece, () => resolve()));
      await new Promise((resolve) => setImmediate(resolve));
    }
    const chunks: Buffer[] = [];
    for await (const chunk of socket) chunks.push(chunk);
    expect(errors).toEqual([]);
    expect(Buffer.concat(chunks).toString()).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  });
});
