/**
 * HTTP+SSE, the transport of 2024-11-05.
 * https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import {
  batchRefused,
  call,
  echo,
  expectRefused,
  Held,
  notification,
  refusal,
  request,
  result,
  sessionNotFound,
  text,
} from '../harness/behind.ts';
import { type Call, open, send, until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { eras, initialize, modernMeta } from '../harness/eras.ts';
import { startGateway, type TestGateway } from '../harness/gateway.ts';
import {
  agreed,
  legacyBackend,
  modernBackend,
  type Script,
  type ScriptedBackend,
  type Turn,
} from '../harness/http-backend.ts';
import { SseClient } from '../harness/sse-client.ts';

interface Place {
  readonly gateway: TestGateway;
  readonly backend: ScriptedBackend;
  readonly sse: string;
}

/** The same from a modern backend. */
const complete: Script = {
  'tools/call': (turn) =>
    turn.result({ resultType: 'complete', ...text(JSON.stringify(turn.message.params.arguments)) }),
};

async function behind(backend: ScriptedBackend): Promise<Place> {
  const gateway = await startGateway({ backends: { b: { url: backend.url } } });
  return { gateway, backend, sse: `${gateway.origin}/servers/b/sse` };
}

describe('the stream', verifies('gateway:sse:endpoint-event'), () => {
  it('begins with the address for messages', async () => {
    const { sse, gateway } = await behind(await legacyBackend(echo));
    const stream = await open(sse, { method: 'GET', headers: { accept: 'text/event-stream' } });
    expect({ status: stream.status, type: stream.headers['content-type'] }).toEqual({
      status: 200,
      type: 'text/event-stream',
    });
    const [first] = [await stream.event(() => true)];
    expect(first).toBe(stream.events[0]);
    expect(first).toMatchObject({ event: 'endpoint', id: undefined });
    expect(first?.data).toMatch(/^\/servers\/b\/messages\?sessionId=[\w-]{22,}$/);
    const address = new URL(first?.data ?? '', sse).href;
    expect(address.startsWith(`${gateway.origin}/`)).toBe(true);
    expect((await send(address, { body: initialize({ revision: '2024-11-05' }) })).status).toBe(202);
    const told = await stream.message(({ id }) => id === 'init');
    expect(told.result.protocolVersion).toBe('2024-11-05');
  });

  it('has an address that accepts only messages of its own client', async () => {
    const { sse } = await behind(await legacyBackend(echo));
    const clients = [await SseClient.connect(sse), await SseClient.connect(sse), await SseClient.connect(sse)];
    expect(new Set(clients.map(({ address }) => address)).size).toBe(3);
    for (const [n, client] of clients.entries()) {
      expect(await client.ask(call('same', { n }))).toEqual(result('same', text(`{"n":${n}}`)));
    }
    const answers = clients.map(({ heard }) => heard.filter(({ id }) => id === 'same').length);
    expect(answers).toEqual([1, 1, 1]);
  });

  it('belongs to one endpoint', async () => {
    const backends = { a: { url: (await legacyBackend(echo)).url }, b: { url: (await legacyBackend(echo)).url } };
    const gateway = await startGateway({ backends });
    const client = await SseClient.connect(`${gateway.origin}/servers/a/sse`);
    const elsewhere = client.address.replace('/servers/a/', '/servers/b/');
    expectRefused(await send(elsewhere, { body: call(7) }), 404, { ...sessionNotFound, id: 7 });
  });
});

describe.each(eras)('a message for a %s backend', (era) => {
  const backendOf = era === 'legacy' ? legacyBackend : modernBackend;

  it('gets 202, and its response arrives on the stream', verifies('gateway:sse:post-202'), async () => {
    const { sse } = await behind(await backendOf(era === 'legacy' ? echo : complete));
    const client = await SseClient.open(sse);
    const first = await client.post(initialize({ revision: '2024-11-05' }));
    expect({ status: first.status, body: first.body }).toEqual({ status: 202, body: '' });
    await client.stream.message(({ id }) => id === 'init');
    for (const body of [notification('notifications/initialized'), call(7, { n: 1 }), result('unasked', {})]) {
      const answer = await client.post(body);
      expect({ status: answer.status, body: answer.body }).toEqual({ status: 202, body: '' });
    }
    const event = await client.stream.event(({ data }) => data?.includes('"id":7') === true);
    expect(event).toMatchObject({ event: 'message', id: undefined });
    expect(event.json()).toEqual(result(7, text('{"n":1}')));
  });

  it('is answered on the stream when it fails', verifies('gateway:sse:post-202'), async () => {
    const error = { code: -32000, message: 'Out of paper' };
    const script: Script = {
      'tools/call': (turn) =>
        turn.message.params.name === 'cut' ? turn.cut() : turn.error(error.code, error.message, undefined, 400),
    };
    const { sse } = await behind(await backendOf(script));
    const client = await SseClient.open(sse);
    // Nothing answers what is no request.
    await client.post(notification('notifications/roots/list_changed'));
    const early = { code: -32600, message: 'Not initialized', reason: 'session_required', id: 1 };
    expect(await client.ask(call(1))).toEqual(refusal(early));
    await client.ask(initialize({ revision: '2024-11-05' }));
    const again = { code: -32600, message: 'Session already initialized', reason: 'session_exists', id: 'again' };
    expect(await client.ask({ ...initialize(), id: 'again' })).toEqual(refusal(again));
    expect(await client.ask(call(2))).toEqual({ jsonrpc: '2.0', id: 2, error });
    const cut = {
      code: -32603,
      message: expect.stringMatching(/^Backend unavailable/),
      reason: 'backend_unavailable',
      id: 3,
    };
    expect(await client.ask(request(3, 'tools/call', { name: 'cut' }))).toEqual(refusal(cut));
    const method = 'tools/burn';
    const unknown = { code: -32601, message: 'Method not found', reason: 'method_not_found', data: { method }, id: 4 };
    expect(await client.ask(request(4, method))).toEqual(refusal(unknown));
    // The modern era has no place on this transport.
    const discover = request(5, 'server/discover', { _meta: modernMeta() });
    expect(await client.ask(discover)).toMatchObject({ id: 5, error: { code: -32601 } });
    expect(await client.ask(request(6, 'ping'))).toEqual(result(6, {}));
    expect(client.heard.map(({ id }) => id)).toEqual([1, 'init', 'again', 2, 3, 4, 5, 6]);
  });
});

describe('a POST', () => {
  it('for a session that is not there', verifies('gateway:sse:session-404'), async () => {
    const backend = await legacyBackend();
    const { gateway } = await behind(backend);
    const messages = `${gateway.origin}/servers/b/messages`;
    for (const query of ['?sessionId=nobody', '?sessionId=0&sessionId=nobody']) {
      expectRefused(await send(`${messages}${query}`, { body: call(7) }), 404, { ...sessionNotFound, id: 7 });
      const oneWay = await send(`${messages}${query}`, { body: notification('notifications/initialized') });
      expectRefused(oneWay, 404, sessionNotFound);
    }
    expect(backend.bytes).toBe(0);
  });

  const unreadable: readonly { name: string; call: Call; status?: number; code: number; reason: string }[] = [
    { name: 'no JSON', call: { body: '{"jsonrpc"' }, code: -32700, reason: 'parse_error' },
    { name: 'no UTF-8', call: { body: Buffer.from([0x22, 0xff, 0x22]) }, code: -32700, reason: 'parse_error' },
    {
      name: 'two readings',
      call: { body: '{"jsonrpc":"2.0","method":"a","a":1,"a":2}' },
      code: -32600,
      reason: 'ambiguous_json',
    },
    { name: 'no message', call: { body: {} }, code: -32600, reason: 'invalid_request' },
  ];
  it.each(unreadable)(
    'that cannot be read: $name',
    verifies('gateway:sse:unreadable-400'),
    async ({ call: said, code, reason }) => {
      const { sse } = await behind(await legacyBackend(echo));
      const client = await SseClient.connect(sse);
      const before = client.heard.length;
      const answer = await send(client.address, said);
      expect(answer.status).toBe(400);
      expect(answer.json()).toMatchObject({ jsonrpc: '2.0', error: { code, data: { reason } } });
      expect('id' in answer.json()).toBe(false);
      // The session goes on, and has heard nothing of it.
      expect(await client.ask(call(1))).toEqual(result(1, text('{}')));
      expect(client.heard.length).toBe(before + 1);
    },
  );

  it.each([
    { name: 'calls', body: [call(1), call(2)] },
    { name: 'nothing', body: [] },
    { name: 'no JSON', body: '[{' },
  ])('with an array of $name', verifies('gateway:sse:batch-refused'), async ({ body }) => {
    const backend = await legacyBackend(echo);
    const gateway = await startGateway({
      backends: { b: { url: backend.url } },
      endpoints: [{ path: '/mcp', profile: { batches: 'allow' } }],
    });
    const client = await SseClient.connect(`${gateway.origin}/sse`);
    expectRefused(await client.post(body), 400, batchRefused);
    expect(await client.ask(call(3))).toEqual(result(3, text('{}')));
    expect(backend.of('tools/call')).toHaveLength(1);
  });
});

describe('a stream without initialize', verifies('gateway:sse:initialize-in-time'), () => {
  const initializeMs = 60_000;
  /** What is known of the backend is known beforehand: from then on it takes its time. */
  const patient = async () => {
    const clock = new LeapClock();
    const held = new Held();
    let known = false;
    const backend = await legacyBackend({
      initialize: (turn) => (known ? held.take(turn) : turn.result(agreed(turn.message))),
    });
    const config = { backends: { b: { url: backend.url } }, limits: { initializeMs } };
    const gateway = await startGateway(config, { clock });
    await gateway.assembled.backends.get('b')?.discover();
    known = true;
    backend.forget();
    return { clock, held, backend, gateway, sse: `${gateway.origin}/servers/b/sse` };
  };

  it('is closed after the limit, and leaves nothing open', async () => {
    const { clock, gateway, sse, backend } = await patient();
    const before = clock.pending;
    const idle = async () => {
      // Timers that all streams share run on for so long; the stream's own would still be there.
      clock.leap(40_000);
      await until(() => clock.pending <= before, `only ${before} timers are set`);
    };
    // One that goes by itself.
    (await SseClient.open(sse)).close();
    await idle();
    const client = await SseClient.open(sse);
    // Whatever else it says does not count.
    await client.post(request(1, 'ping'));
    clock.leap(initializeMs - 5_000);
    expect(client.stream.over).toBe(false);
    clock.leap(5_000);
    await client.stream.ended;
    expectRefused(await client.post(initialize()), 404, { ...sessionNotFound, id: 'init' });
    expect(backend.received).toEqual([]);
    expect(gateway.counters.snapshot()['line.never_initialized']).toBe(1);
    await idle();
  });

  it('stays open for a slow backend, and for a client that has a session', async () => {
    const { clock, held, sse } = await patient();
    const client = await SseClient.open(sse);
    await client.post(initialize({ revision: '2024-11-05' }));
    const opening = await held.nth(1);
    clock.leap(initializeMs);
    opening.result(agreed(opening.message));
    await client.stream.message(({ id }) => id === 'init');
    clock.leap(3 * initializeMs);
    expect((await client.ask(request(1, 'ping'))).result).toEqual({});
  });

  it('is ended, too, where the backend refused', async () => {
    const { clock, held, sse } = await patient();
    const client = await SseClient.open(sse);
    await client.post(initialize({ revision: '2024-11-05' }));
    const opening = await held.nth(1);
    clock.leap(initializeMs);
    opening.error(-32603, 'Not today');
    expect((await client.stream.message(({ id }) => id === 'init')).error).toBeDefined();
    expect(client.stream.over).toBe(false);
    clock.leap(initializeMs);
    await client.stream.ended;
  });
});

describe('the end of the stream', verifies('gateway:sse:stream-end'), () => {
  it('ends the session, whose calls are cancelled at a legacy backend', async () => {
    const held = new Held();
    const { sse, backend } = await behind(await legacyBackend({ 'tools/call': held.take }));
    const client = await SseClient.connect(sse);
    await client.post(call('a'));
    await client.post(call('b'));
    const turns = [await held.nth(1), await held.nth(2)];
    client.close();
    await backend.arrival('notifications/cancelled', 2);
    const cancelled = backend.of('notifications/cancelled').map(({ message }) => message.params.requestId);
    expect(cancelled.sort()).toEqual(turns.map(({ message }) => message.id).sort());
    // Its session upstream is ended, too.
    await until(
      () =>
        backend.received.some(
          ({ http, headers }) =>
            http === 'DELETE' && headers['mcp-session-id'] === turns[0]?.received.headers['mcp-session-id'],
        ),
      'the upstream session has ended',
    );
    expectRefused(await client.post(call(1)), 404, { ...sessionNotFound, id: 1 });
    expect(backend.of('tools/call')).toHaveLength(2);
  });

  it('cancels the calls at a modern backend', async () => {
    const held = new Held();
    const { sse } = await behind(await modernBackend({ 'tools/call': held.take }));
    const client = await SseClient.connect(sse);
    await client.post(call('a'));
    const turn = await held.nth(1);
    client.close();
    await turn.closed;
    await until(() => client.stream.over, 'the stream has ended');
    expectRefused(await client.post(call(1)), 404, { ...sessionNotFound, id: 1 });
  });

  it('leaves the sessions of others alone', async () => {
    const { sse } = await behind(await legacyBackend(echo));
    const [first, second] = [await SseClient.connect(sse), await SseClient.connect(sse)];
    first.close();
    await until(() => first.stream.over, 'the first has gone');
    expect(await second.ask(call(1))).toEqual(result(1, text('{}')));
  });
});

describe('with several clients', verifies('gateway:sse:no-broadcast'), () => {
  /** Where each upstream session can be spoken to. */
  async function scene() {
    const standing = new Map<string, Turn>();
    const script: Script = {
      ...echo,
      GET: (turn) => void standing.set(String(turn.received.headers['mcp-session-id']), turn.stream()),
    };
    const { sse, backend } = await behind(await legacyBackend(script));
    const clients: SseClient[] = [];
    for (const n of [0, 1, 2]) {
      const client = await SseClient.connect(sse, { capabilities: { roots: {} } });
      await client.ask(call(n, { n }));
      clients.push(client);
    }
    const upstream = backend.of('tools/call').map(({ headers }) => String(headers['mcp-session-id']));
    await until(() => standing.size === 3, 'all have a standing stream');
    return { clients, backend, streams: upstream.map((id) => standing.get(id) as Turn) };
  }

  it('a notification reaches the client whose backend session sent it', async () => {
    const { clients, streams } = await scene();
    const told = (n: number) => ({
      jsonrpc: '2.0',
      method: 'notifications/message',
      params: { level: 'alert', data: n },
    });
    for (const [n, stream] of streams.entries()) stream.event(told(n));
    for (const [n, client] of clients.entries()) {
      await client.stream.message(({ method }) => method === 'notifications/message');
      // Nothing but what is its own, however long one listens: the answer to a later question ends the wait.
      await client.ask(request('last', 'ping'));
      expect(client.heard.filter(({ method }) => method !== undefined)).toEqual([told(n)]);
    }
  });

  it('a server request reaches one client, and its answer the backend that sent it', async () => {
    const { clients, backend, streams } = await scene();
    streams[1]?.event({ jsonrpc: '2.0', id: 'q', method: 'roots/list' });
    const [first, second, third] = clients;
    const asked = await second?.stream.message(({ method }) => method === 'roots/list');
    await second?.post(result(asked.id, { roots: [{ uri: 'file:///mine' }] }));
    await until(() => backend.received.some(({ message }) => message?.id === 'q'), 'the backend was answered');
    const answered = backend.received.filter(({ message }) => message?.id === 'q');
    expect(answered.map(({ message }) => message)).toEqual([result('q', { roots: [{ uri: 'file:///mine' }] })]);
    expect(answered[0]?.headers['mcp-session-id']).toBe(streams[1]?.received.headers['mcp-session-id']);
    for (const client of [first, third]) {
      await client?.ask(request('last', 'ping'));
      expect(client?.heard.some(({ method }) => method === 'roots/list')).toBe(false);
    }
  });
});
