/** Time limits of calls to backends, each told by its name. */
import { createServer, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { behindModern, Held, notification, refusal, result, text } from '../harness/behind.ts';
import { open, send } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { eras, modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { answered, caller, pairOf, timedOut, unavailable } from './setup.ts';

/** Deadlines are looked at every quarter of a second. */
const SWEEP_MS = 250;

/** Takes connections and never says a word, so that no handshake of TLS comes to an end. */
async function mute(): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    sockets.add(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as { port: number }).port;
}

describe('a backend that cannot be connected to in time', verifies('gateway:backend:limit-connect'), () => {
  it('is unavailable', async () => {
    const url = `https://127.0.0.1:${await mute()}/mcp`;
    const gateway = await startGateway({ backends: { b: { url } }, limits: { connectMs: 50 } });
    const answer = await send(gateway.url('b'), modern({ id: 1, method: 'tools/list' }));
    expect(answer.status).toBe(200);
    expect(answer.json()).toEqual(refusal({ ...unavailable, id: 1 }));
    const why = gateway.log.map(({ facts }) => String(facts.cause)).join('\n');
    expect(why).toContain('ConnectTimeoutError');
  });
});

describe.each(eras)('a %s backend', (era) => {
  const done = { ...(era === 'modern' && { resultType: 'complete' }), ...text('done') };

  it(
    'that accepts a call and does not answer fails it in time',
    verifies('gateway:backend:limit-first-byte'),
    async () => {
      const clock = new LeapClock();
      const held = new Held();
      const pair = await pairOf(
        era,
        { 'tools/call': held.take },
        { ports: { clock }, limits: { firstByteMs: 40_000 } },
      );
      const running = pair.ask(1);
      const turn = await held.nth(1);
      clock.leap(39_000);
      const other = pair.ask(2);
      (await held.nth(2)).result(done);
      expect(answered(await other)).toEqual(result(2, done));
      clock.leap(1_000 + SWEEP_MS);
      expect(answered(await running)).toEqual(refusal({ ...timedOut('firstByteMs'), id: 1 }));
      await turn.closed;
      if (era === 'legacy') {
        const frame = await pair.backend.arrival('notifications/cancelled');
        expect(frame.message.params.requestId).toBe(turn.message.id);
      }
    },
  );

  it('that stops sending in the middle fails its call in time', verifies('gateway:backend:limit-idle'), async () => {
    const clock = new LeapClock();
    const held = new Held();
    const pair = await pairOf(
      era,
      { 'tools/call': held.take },
      { ports: { clock }, limits: { firstByteMs: 10_000, idleMs: 40_000 } },
    );
    const stream = pair.begin(1, 'tools/call', { name: 'work', _meta: { progressToken: 't' } });
    const turn = await held.nth(1);
    const { progressToken } = turn.message.params._meta;
    turn.stream();
    for (const progress of [1, 2, 3]) {
      turn.event(notification('notifications/progress', { progressToken, progress }));
      await (await stream).message(({ params }) => params?.progress === progress);
      // Each word gives it the whole time again.
      clock.leap(39_000);
    }
    expect((await stream).over).toBe(false);
    clock.leap(1_000 + SWEEP_MS);
    const answer = await (await stream).message(({ id }) => id === 1);
    expect(answer).toEqual(refusal({ ...timedOut('idleMs'), id: 1 }));
    await turn.closed;
  });

  it(
    'that keeps its stream alive with comments does not time out',
    verifies('gateway:backend:limit-first-byte', 'gateway:backend:limit-idle'),
    async () => {
      const clock = new LeapClock();
      const held = new Held();
      const pair = await pairOf(
        era,
        { 'tools/call': held.take, 'prompts/list': (turn) => turn.result({ ...done, prompts: [] }) },
        { ports: { clock }, limits: { firstByteMs: 20_000, idleMs: 40_000 } },
      );
      const running = pair.ask(1);
      const turn = (await held.nth(1)).stream();
      for (const after of [19_000, 39_000, 39_000]) {
        clock.leap(after);
        turn.bytes(': ping\n\n');
        // What was written before a whole round trip has arrived after it.
        await pair.ask(2, 'prompts/list', {});
      }
      turn.event(result(turn.message.id, done)).end();
      expect(answered(await running)).toEqual(result(1, done));
    },
  );

  it('that never finishes fails its call in time', verifies('gateway:backend:long-lived-exempt'), async () => {
    const clock = new LeapClock();
    const held = new Held();
    const pair = await pairOf(
      era,
      { 'tools/call': held.take },
      { ports: { clock }, limits: { idleMs: 40_000, totalMs: 60_000 } },
    );
    const stream = pair.begin(1, 'tools/call', { name: 'work', _meta: { progressToken: 't' } });
    const turn = await held.nth(1);
    const { progressToken } = turn.message.params._meta;
    turn.stream();
    for (const progress of [1, 2]) {
      turn.event(notification('notifications/progress', { progressToken, progress }));
      await (await stream).message(({ params }) => params?.progress === progress);
      clock.leap(30_000 + SWEEP_MS);
    }
    const answer = await (await stream).message(({ id }) => id === 1);
    expect(answer).toEqual(refusal({ ...timedOut('totalMs'), id: 1 }));
  });
});

describe('a request without a timeout while its client listens', verifies('gateway:backend:long-lived-exempt'), () => {
  it('has neither a total limit nor one of silence', async () => {
    const clock = new LeapClock();
    const held = new Held();
    const { url, backend } = await behindModern(
      { 'subscriptions/listen': held.take },
      { ports: { clock }, limits: { firstByteMs: 10_000, idleMs: 20_000, totalMs: 60_000 } },
    );
    const listen = modern({
      id: 'mine',
      method: 'subscriptions/listen',
      params: { notifications: { toolsListChanged: true } },
    });
    const stream = await open(url, listen);
    const turn = await held.nth(1);
    const tagged = { _meta: { 'io.modelcontextprotocol/subscriptionId': turn.message.id } };
    turn.stream().event(
      notification('notifications/subscriptions/acknowledged', {
        notifications: { toolsListChanged: true },
        ...tagged,
      }),
    );
    await stream.message(({ method }) => method === 'notifications/subscriptions/acknowledged');
    // Hour by hour: a day of keep-alive comments at once is more than a client can take in no time.
    for (let hour = 0; hour < 24; hour++) {
      clock.leap(3_600_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
    turn.event(notification('notifications/tools/list_changed', tagged));
    const heard = await stream.message(({ method }) => method === 'notifications/tools/list_changed');
    expect(heard.params).toEqual({ _meta: { 'io.modelcontextprotocol/subscriptionId': 'mine' } });
    expect(backend.of('subscriptions/listen')).toHaveLength(1);
  });
});

describe('a limit', verifies('gateway:backend:limit-first-byte'), () => {
  it('that one call exceeds does not affect other clients of the backend', async () => {
    const clock = new LeapClock();
    const held = new Held();
    const pair = await pairOf(
      'legacy',
      { 'tools/call': held.take },
      { ports: { clock }, limits: { firstByteMs: 60_000 } },
    );
    const running = pair.ask(1);
    await held.nth(1);
    clock.leap(60_000 + SWEEP_MS);
    expect(answered(await running)).toEqual(refusal({ ...timedOut('firstByteMs'), id: 1 }));
    for (const other of [pair, await caller('legacy', pair.url), await caller('modern', pair.url)]) {
      const calls = held.turns.length;
      const next = other.ask(2);
      (await held.nth(calls + 1)).result(text('done'));
      expect(answered(await next)).toMatchObject(result(2, text('done')));
    }
  });
});
