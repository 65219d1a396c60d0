/**
 * How sessions end: by DELETE, by time, by shutdown, or because the backend forgot its half. Nobody is left waiting.
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import {
  behindLegacy,
  behindModern,
  call,
  echo,
  expectRefused,
  Held,
  notification,
  refusal,
  request,
  result,
  sessionEnded,
  sessionNotFound,
  streaming,
  text,
} from '../harness/behind.ts';
import { type Answer, send, until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { connectLegacy, initialize, type LegacyClient, modern } from '../harness/eras.ts';
import type { Received, ScriptedBackend, Turn } from '../harness/http-backend.ts';

/** The last message of an answer, whichever form it has. */
function lastOf({ headers, events, json }: Answer): unknown {
  return headers['content-type'] === 'text/event-stream' ? events.at(-1)?.json() : json();
}

/** Three calls in flight: one that is a stream already, one that is undecided, one that wants JSON alone. */
async function inFlight(client: LegacyClient, held: Held) {
  const before = held.turns.length;
  const streamed = client.stream(call('streamed', {}, { progressToken: 1 }));
  const first = await held.nth(before + 1);
  const { progressToken } = first.message.params._meta;
  first.stream().event(notification('notifications/progress', { progressToken, progress: 1 }));
  const stream = await streamed;
  const undecided = client.post(call('undecided'));
  const json = client.post(call('json'), { accept: 'application/json' });
  await held.nth(before + 3);
  return { stream, undecided, json };
}

async function expectAllFailed(calls: Awaited<ReturnType<typeof inFlight>>, message: string): Promise<void> {
  const failed = { ...sessionEnded, message };
  await calls.stream.ended;
  expect(calls.stream.events.at(-1)?.json()).toEqual(refusal({ ...failed, id: 'streamed' }));
  for (const [id, answer] of [
    ['undecided', await calls.undecided],
    ['json', await calls.json],
  ] as const) {
    expect(answer.status).toBe(200);
    expect(lastOf(answer)).toEqual(refusal({ ...failed, id }));
  }
}

async function expectAllCancelled(backend: ScriptedBackend, turns: readonly Turn[]): Promise<void> {
  await Promise.all(turns.map(({ closed }) => closed));
  await backend.arrival('notifications/cancelled', turns.length);
  const ids = backend.of('notifications/cancelled').map(({ message }) => message.params.requestId);
  expect(ids.sort()).toEqual(turns.map(({ message }) => message.id).sort());
}

describe('DELETE', verifies('gateway:legacy:delete-settles'), () => {
  it('is 204; running requests are cancelled at the backend and get an error', async () => {
    const held = new Held();
    const { url, backend } = await behindLegacy({ 'tools/call': held.take });
    const client = await connectLegacy(url);
    const listening = await client.listen();
    const calls = await inFlight(client, held);
    const answer = await client.end();
    expect({ status: answer.status, body: answer.body }).toEqual({ status: 204, body: '' });
    await expectAllFailed(calls, sessionEnded.message);
    await listening.ended;
    await expectAllCancelled(backend, held.turns);
    const upstream = held.turns[0]?.received.headers['mcp-session-id'];
    const isEnd = ({ http, headers }: Received) => http === 'DELETE' && headers['mcp-session-id'] === upstream;
    await until(() => backend.received.some(isEnd), 'the session upstream is ended, too');
    expectRefused(await client.post(call('late')), 404, { ...sessionNotFound, id: 'late' });
  });

  it('cancels at a modern backend by letting go of the response', async () => {
    const held = new Held();
    const { url } = await behindModern({ 'tools/call': held.take });
    const client = await connectLegacy(url);
    const running = client.post(call(1));
    const turn = await held.nth(1);
    expect((await client.end()).status).toBe(204);
    await turn.closed;
    expect((await running).json()).toEqual(refusal({ ...sessionEnded, id: 1 }));
  });

  it('answers a call that waits for the answer of its client', async () => {
    const question = request('q', 'elicitation/create', { message: '?', requestedSchema: { type: 'object' } });
    const { url } = await behindLegacy({ 'tools/call': (turn) => void turn.stream().event(question) });
    const client = await connectLegacy(url, { capabilities: { elicitation: {} } });
    const stream = await client.stream(call(1));
    await stream.message(({ method }) => method === 'elicitation/create');
    expect((await client.end()).status).toBe(204);
    await stream.ended;
    expect(stream.events.at(-1)?.json()).toEqual(refusal({ ...sessionEnded, id: 1 }));
  });
});

describe('time', () => {
  it(
    'ends a session that reached its maximum age, and fails its running requests',
    verifies('gateway:legacy:expiry-settles'),
    async () => {
      const clock = new LeapClock();
      const held = new Held();
      const limits = { sessionMaxMs: 20_000, firstByteMs: 600_000, idleMs: 600_000 };
      const { url, backend } = await behindLegacy({ 'tools/call': held.take }, { limits, ports: { clock } });
      const client = await connectLegacy(url);
      const listening = await client.listen();
      const calls = await inFlight(client, held);
      clock.leap(26_000);
      await expectAllFailed(calls, sessionEnded.message);
      await listening.ended;
      await expectAllCancelled(backend, held.turns);
      expectRefused(await client.post(call('late')), 404, { ...sessionNotFound, id: 'late' });
    },
  );

  const idle = { sessionIdleMs: 60_000, firstByteMs: 600_000, idleMs: 600_000 };

  it('ends an idle session, here and at the backend', verifies('gateway:legacy:idle-expiry'), async () => {
    const clock = new LeapClock();
    const { url, backend } = await behindLegacy(echo, { limits: idle, ports: { clock } });
    const client = await connectLegacy(url);
    for (let n = 1; n <= 3; n++) {
      clock.leap(50_000);
      expect((await client.post(call(n))).status).toBe(200);
    }
    backend.forget();
    clock.leap(66_000);
    await until(() => backend.received.some(({ http }) => http === 'DELETE'), 'the session upstream is ended');
    expectRefused(await client.post(call(4)), 404, { ...sessionNotFound, id: 4 });
  });

  it(
    'does not count while a call runs, and begins anew when it is done',
    verifies('gateway:legacy:idle-expiry'),
    async () => {
      const clock = new LeapClock();
      const held = new Held();
      const { url } = await behindLegacy({ 'tools/call': held.take }, { limits: idle, ports: { clock } });
      const client = await connectLegacy(url);
      const running = client.post(call(1));
      const turn = await held.nth(1);
      clock.leap(300_000);
      turn.result(text('it took its time'));
      expect(lastOf(await running)).toEqual(result(1, text('it took its time')));
      clock.leap(50_000);
      expect((await client.post(request(2, 'ping'))).status).toBe(200);
      clock.leap(66_000);
      expect((await client.post(request(3, 'ping'))).status).toBe(404);
    },
  );

  it('begins anew at the very moment at which a call is done', verifies('gateway:legacy:idle-expiry'), async () => {
    const clock = new LeapClock();
    const held = new Held();
    // Shorter than the time between two looks at all sessions.
    const limits = { ...idle, sessionIdleMs: 3_000 };
    const { url } = await behindLegacy({ 'tools/call': held.take }, { limits, ports: { clock } });
    const client = await connectLegacy(url);
    const running = client.post(call(1));
    const turn = await held.nth(1);
    clock.leap(4_000);
    turn.result(text('done'));
    await running;
    expect((await client.post(request(2, 'ping'))).status).toBe(200);
  });

  it('does not count while a stream is open', verifies('gateway:legacy:idle-expiry'), async () => {
    const clock = new LeapClock();
    const { url } = await behindLegacy(echo, { limits: idle, ports: { clock } });
    const client = await connectLegacy(url);
    const stream = await client.listen();
    clock.leap(300_000);
    expect(stream.over).toBe(false);
    expect((await client.post(request(1, 'ping'))).status).toBe(200);
  });
});

describe('shutting down', verifies('gateway:legacy:shutdown-settles'), () => {
  const message = 'The gateway is shutting down';

  it('waits for running requests up to the limit, and then fails them', async () => {
    const clock = new LeapClock();
    const held = new Held();
    const limits = { firstByteMs: 600_000, idleMs: 600_000 };
    const { url, backend, gateway } = await behindLegacy({ 'tools/call': held.take }, { limits, ports: { clock } });
    const client = await connectLegacy(url);
    const calls = await inFlight(client, held);
    const quick = client.post(call('quick'));
    const turn = await held.nth(4);
    const closed = gateway.close(30_000);
    // It is still served: it was there before.
    turn.result(text('in time'));
    expect(lastOf(await quick)).toEqual(result('quick', text('in time')));
    expect(calls.stream.over).toBe(false);
    const late = await client.post(call('late'));
    expectRefused(late, 503, { id: 'late', code: -32603, message: 'Shutting down', reason: 'shutting_down' });
    clock.leap(30_000);
    await expectAllFailed(calls, message);
    await expectAllCancelled(backend, held.turns.slice(0, 3));
    await closed;
  });

  it('does not wait if nothing runs', async () => {
    const { url, gateway } = await behindLegacy(echo);
    const client = await connectLegacy(url);
    const listening = await client.listen();
    await gateway.close(600_000);
    await listening.ended;
  });
});

describe('the number of sessions', verifies('gateway:legacy:session-limit'), () => {
  const full = { id: 'init', code: -32603, message: 'Too many sessions', reason: 'too_many_sessions' };

  it.each([
    { name: 'for one principal', limits: { sessionsPerPrincipal: 3 } },
    { name: 'in all', limits: { sessionsTotal: 3 } },
  ])('is limited $name, and the error says so', async ({ limits }) => {
    const { url, backend } = await behindLegacy(echo, { limits });
    const clients = [await connectLegacy(url), await connectLegacy(url), await connectLegacy(url)];
    await until(() => backend.received.filter(({ http }) => http === 'GET').length === 3, 'all of them are open');
    backend.forget();
    expectRefused(await send(url, { body: initialize() }), 429, full);
    expect(backend.bytes).toBe(0);
    // Those that are there go on, those without a session are not counted, and one that ends makes room.
    expect((await clients[0]?.post(call(1, { n: 1 })))?.json()).toEqual(result(1, text('{"n":1}')));
    expect((await send(url, modern({ method: 'server/discover' }))).status).toBe(200);
    await clients[1]?.end();
    const next = await connectLegacy(url);
    expect((await next.post(call(1))).status).toBe(200);
    expectRefused(await send(url, { body: initialize() }), 429, full);
  });

  it('is limited for concurrent requests', async () => {
    const { url } = await behindLegacy(echo, { limits: { sessionsTotal: 3 } });
    const answers = await Promise.all(Array.from({ length: 12 }, () => send(url, { body: initialize() })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, ...Array(9).fill(429)]);
  });

  it('does not count sessions that could not be opened', async () => {
    let broken = true;
    const { url } = await behindLegacy(
      {
        initialize: (turn) => {
          // The first one finds out what the backend is.
          if (turn.message.params.clientInfo.name === 'raw' && broken) turn.error(-32603, 'not today');
          else turn.json(result(turn.message.id, serverFacts), 200, { 'mcp-session-id': 'up' });
        },
      },
      { limits: { sessionsTotal: 1 } },
    );
    for (let n = 0; n < 3; n++) {
      const refused = await send(url, { body: initialize() });
      expect(refused.json().error.data.reason).toBe('backend_invalid');
    }
    broken = false;
    await connectLegacy(url);
    expectRefused(await send(url, { body: initialize() }), 429, full);
  });
});

const serverFacts = {
  protocolVersion: '2025-11-25',
  capabilities: { tools: {} },
  serverInfo: { name: 'x', version: '1' },
};

describe('a backend that lost its session', verifies('gateway:legacy:session-404-backend-lost'), () => {
  /** Forgets its sessions when it is told to. */
  async function forgetful(answerLost: (turn: Turn) => void) {
    let lost: string[] = [];
    const known: string[] = [];
    const behind = await behindLegacy({
      'tools/call': (turn) => {
        const session = String(turn.received.headers['mcp-session-id']);
        known.push(session);
        if (lost.includes(session)) answerLost(turn);
        else turn.result(text('served'));
      },
    });
    const forget = () => {
      lost = [...known];
    };
    return { ...behind, forget };
  }
  const ways = [
    {
      name: 'with a JSON-RPC error',
      answer: (turn: Turn) =>
        turn.json({ jsonrpc: '2.0', id: null, error: { code: -32001, message: 'Session not found' } }, 404),
    },
    {
      name: 'with the id of the request',
      answer: (turn: Turn) => turn.error(-32001, 'Session not found', undefined, 404),
    },
    { name: 'in plain text', answer: (turn: Turn) => turn.raw(404, { 'content-type': 'text/plain' }, 'who?') },
  ];

  it.each(ways)('and reports it $name: the client gets the same 404, and can start again', async ({ answer }) => {
    const { url, forget, backend } = await forgetful(answer);
    const client = await connectLegacy(url);
    expect((await client.post(call(1))).json()).toEqual(result(1, text('served')));
    forget();
    expectRefused(await client.post(call('x')), 404, { ...sessionNotFound, id: 'x' });
    // Not only that one request: the session is gone.
    expectRefused(await client.post(request('y', 'ping')), 404, { ...sessionNotFound, id: 'y' });
    expect(backend.of('tools/call')).toHaveLength(2);
    const again = await connectLegacy(url);
    expect((await again.post(call(2))).json()).toEqual(result(2, text('served')));
  });

  it('ends its other calls and its streams with it, and touches no other client', async () => {
    const held = new Held();
    const { url } = await behindLegacy(
      {
        'tools/call': (turn) => {
          const { arguments: given } = turn.message.params;
          if (given.lost) turn.raw(404, {});
          else if (given.wait) held.take(turn);
          else turn.result(text('served'));
        },
      },
      { limits: streaming },
    );
    const [client, other] = [await connectLegacy(url), await connectLegacy(url)];
    const listening = await client.listen();
    const running = await client.stream(call('running', { wait: true }));
    const elsewhere = await other.stream(call('elsewhere', { wait: true }));
    await held.nth(2);
    const asked = await client.post(call('asked', { lost: true }));
    // The stream had begun: its status is told, and the failure stands in it.
    expect(asked.events.at(-1)?.json()).toEqual(refusal({ ...sessionNotFound, id: 'asked' }));
    await Promise.all([listening.ended, running.ended]);
    expect(running.events.at(-1)?.json()).toMatchObject({ id: 'running', error: { code: -32001 } });
    expectRefused(await client.post(call('late')), 404, { ...sessionNotFound, id: 'late' });
    expect(elsewhere.over).toBe(false);
    expect((await other.post(call(1), { accept: 'application/json' })).json()).toEqual(result(1, text('served')));
  });

  it('is noticed on its standalone stream, too', async () => {
    let opened = 0;
    const { url } = await behindLegacy({
      GET: (turn) => {
        opened += 1;
        if (opened === 1) turn.stream().bytes('retry: 10\n\n').end();
        else turn.json({ jsonrpc: '2.0', error: { code: -32001, message: 'Session not found' } }, 404);
      },
    });
    const client = await connectLegacy(url);
    const listening = await client.listen();
    await listening.ended;
    expectRefused(await client.post(request(1, 'ping')), 404, { ...sessionNotFound, id: 1 });
  });
});
