/**
 * Legacy HTTP backends that forget a session: its one client is told, a pooled session is opened anew, and no call runs
 * twice.
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import {
  behindLegacy,
  call,
  expectRefused,
  Held,
  refusal,
  request,
  result,
  sessionNotFound,
  text,
} from '../harness/behind.ts';
import { send, until } from '../harness/client.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import type { Turn } from '../harness/http-backend.ts';
import { answered, unavailable } from './setup.ts';

const sessionOf = (turn: Turn) => String(turn.received.headers['mcp-session-id']);
const lost = { code: -32603, message: 'Backend lost its session', reason: 'backend_session_lost' };

const ways = [
  {
    name: 'in JSON-RPC',
    forget: (turn: Turn) =>
      turn.json({ jsonrpc: '2.0', id: null, error: { code: -32001, message: 'Session not found' } }, 404),
  },
  { name: 'without a word', forget: (turn: Turn) => turn.raw(404, {}) },
  {
    // Python SDK 1.x
    name: 'with 400 and a text',
    forget: (turn: Turn) => turn.raw(400, {}, 'Bad Request: No valid session ID provided'),
  },
  {
    // The examples of the TypeScript SDK 1.x
    name: 'with 400 in JSON-RPC',
    forget: (turn: Turn) =>
      turn.json(
        { jsonrpc: '2.0', id: null, error: { code: -32000, message: 'Bad Request: No valid session ID provided' } },
        400,
      ),
  },
  { name: 'in HTML', forget: (turn: Turn) => turn.raw(404, { 'content-type': 'text/html' }, '<h1>Not Found</h1>') },
];

describe.each(ways)('a session of one client, forgotten $name', ({ forget }) => {
  it(
    'is 404 with -32001 for that client, and for no other',
    verifies('client-transport:http:404-surfaces', 'gateway:backend:call-never-twice'),
    async () => {
      const forgotten = new Set<string>();
      const { url, backend } = await behindLegacy({
        'tools/call': (turn) => (forgotten.has(sessionOf(turn)) ? forget(turn) : turn.result(text(sessionOf(turn)))),
        ping: (turn) => (forgotten.has(sessionOf(turn)) ? forget(turn) : turn.result({})),
      });
      const first = await connectLegacy(url);
      const second = await connectLegacy(url);
      const mine = (await first.post(call(1))).json().result.content[0].text;
      forgotten.add(mine);
      expectRefused(await first.post(call(2)), 404, { ...sessionNotFound, id: 2 });
      expect(backend.of('tools/call')).toHaveLength(2);
      // From now on it is gone for everything.
      expectRefused(await first.post(call(3)), 404, { ...sessionNotFound, id: 3 });
      expect(backend.of('tools/call')).toHaveLength(2);
      expect((await second.post(call(4))).status).toBe(200);
      const again = await connectLegacy(url);
      const other = (await again.post(call(5))).json().result.content[0].text;
      expect(forgotten.has(other)).toBe(false);
      // What is gone already is not ended.
      expect(
        backend.received.some(({ http, headers }) => http === 'DELETE' && headers['mcp-session-id'] === mine),
      ).toBe(false);
    },
  );

  it(
    'is opened anew if it was shared, without the old id, and repeatable requests are repeated',
    verifies('gateway:backend:session-reopened', 'client-transport:http:session-404-reinitialize'),
    async () => {
      const forgotten = new Set<string>();
      const { url, backend } = await behindLegacy({
        'tools/list': (turn) => (forgotten.has(sessionOf(turn)) ? forget(turn) : turn.result({ tools: [] })),
        ping: forget,
      });
      const list = (id: number) => send(url, modern({ id, method: 'tools/list' }));
      const answer = { resultType: 'complete', tools: [], ttlMs: 0, cacheScope: 'private' };
      expect((await list(1)).json().result).toMatchObject(answer);
      const [before] = backend.of('tools/list');
      forgotten.add(String(before?.headers['mcp-session-id']));
      backend.forget();
      expect((await list(2)).json().result).toMatchObject(answer);
      const kinds = backend.received
        .map(({ message, http }) => message?.method ?? http)
        .filter((kind) => kind !== 'GET' && kind !== 'ping');
      expect(kinds).toEqual(['tools/list', 'initialize', 'notifications/initialized', 'tools/list']);
      const [refused, repeated] = backend.of('tools/list');
      expect(refused?.headers['mcp-session-id']).toBe(before?.headers['mcp-session-id']);
      expect(repeated?.headers['mcp-session-id']).not.toBe(before?.headers['mcp-session-id']);
      expect(backend.of('initialize')[0]?.headers['mcp-session-id']).toBeUndefined();
      // The new one serves what comes.
      expect((await list(3)).json().result).toMatchObject(answer);
      expect(backend.of('initialize')).toHaveLength(1);
    },
  );
});

describe('a session in which a request got 400', verifies('gateway:backend:session-400'), () => {
  const refuse = (turn: Turn) => turn.raw(400, {}, 'Bad Request');
  const known = [
    { name: 'answers a ping', ping: (turn: Turn) => turn.result({}) },
    { name: 'knows no ping', ping: (turn: Turn) => turn.error(-32601, 'Method not found', undefined, 404) },
    { name: 'fails to answer a ping', ping: (turn: Turn) => turn.raw(500, {}) },
    { name: 'refuses a ping by its id', ping: (turn: Turn) => turn.error(-32600, 'No', undefined, 400) },
  ];
  it.each(known)('goes on where the backend $name', async ({ ping }) => {
    let calls = 0;
    const { url, backend } = await behindLegacy({
      'tools/call': (turn) => (++calls === 2 ? refuse(turn) : turn.result(text(sessionOf(turn)))),
      ping,
    });
    const client = await connectLegacy(url);
    const before = (await client.post(call(1))).json().result;
    expect((await client.post(call(2))).json().error).toMatchObject({ data: { reason: 'backend_invalid' } });
    expect((await client.post(call(3))).json().result).toEqual(before);
    expect(backend.of('ping')).toHaveLength(1);
    expect(backend.of('tools/call')).toHaveLength(3);
  });

  it('is not pinged where the response has the id of the request', async () => {
    const { url, backend } = await behindLegacy({
      'tools/call': (turn) => turn.error(-32602, 'Bad arguments', undefined, 400),
    });
    const client = await connectLegacy(url);
    expect((await client.post(call(1))).json().error).toMatchObject({ code: -32602, message: 'Bad arguments' });
    expect(backend.of('ping')).toEqual([]);
  });

  it('is pinged once for all calls that were refused together, and each of them is served anew', async () => {
    const forgotten = new Set<string>();
    const first = new Held();
    const { url, backend } = await behindLegacy({
      'tools/call': (turn) => (forgotten.size === 0 ? first.take(turn) : turn.result(text(sessionOf(turn)))),
      ping: refuse,
    });
    const params = { name: 'work', arguments: {} };
    const running = [1, 2, 3].map((id) => send(url, modern({ id, method: 'tools/call', params })));
    const turns = await Promise.all([1, 2, 3].map((n) => first.nth(n)));
    for (const turn of turns) forgotten.add(sessionOf(turn));
    expect(forgotten.size).toBe(1);
    for (const turn of turns) refuse(turn);
    for (const answer of await Promise.all(running)) {
      expect(forgotten.has(answer.json().result.content[0].text)).toBe(false);
    }
    expect(backend.of('ping')).toHaveLength(1);
  });

  it('is lost with its standalone stream, where that is not served any more and a ping is refused', async () => {
    const held = new Held();
    let gets = 0;
    const { url, backend } = await behindLegacy({
      'tools/call': held.take,
      ping: refuse,
      GET: (turn) => (++gets === 1 ? turn.stream().event('', { id: 'g1', retry: 1 }) : refuse(turn)),
    });
    const client = await connectLegacy(url);
    const running = client.post(call(1));
    await held.nth(1);
    (await backend.standing()).end();
    expectRefused(await running, 404, { ...sessionNotFound, id: 1 });
    expect(backend.of('tools/call')).toHaveLength(1);
  });
});

describe('a pooled session', () => {
  it(
    'is opened anew once for a request, not again and again',
    verifies('gateway:backend:session-reopened', 'client-transport:http:session-404-reinitialize'),
    async () => {
      const { url, backend } = await behindLegacy({ 'tools/list': (turn) => turn.raw(404, {}) });
      const answer = await send(url, modern({ id: 1, method: 'tools/list' }));
      expect(answer.json()).toEqual(refusal({ ...lost, id: 1 }));
      expect(backend.of('tools/list')).toHaveLength(2);
      // One finds out what the backend is.
      expect(backend.of('initialize')).toHaveLength(3);
    },
  );

  it(
    'repeats a call that the backend rejected unread in a new session',
    verifies('gateway:backend:session-reopened'),
    async () => {
      let calls = 0;
      const { url, backend } = await behindLegacy({
        'tools/call': (turn) => (++calls === 1 ? turn.raw(404, {}) : turn.result(text('done'))),
      });
      const params = { name: 'work', arguments: {} };
      expect((await send(url, modern({ id: 1, method: 'tools/call', params }))).json().result).toMatchObject(
        text('done'),
      );
      const [refused, served] = backend.of('tools/call');
      expect(refused?.headers['mcp-session-id']).not.toBe(served?.headers['mcp-session-id']);
    },
  );

  it(
    'that is lost while a call runs fails the call, which is not sent again',
    verifies('gateway:backend:call-never-twice'),
    async () => {
      const held = new Held();
      const streams = new Map<string, Turn>();
      const { url, backend } = await behindLegacy({
        'tools/call': held.take,
        GET: (turn) => {
          const again = streams.has(sessionOf(turn));
          streams.set(sessionOf(turn), turn);
          if (again) ways[0]?.forget(turn);
          else turn.stream().event('', { id: 'g1', retry: 1 });
        },
      });
      const running = send(url, modern({ id: 1, method: 'tools/call', params: { name: 'work', arguments: {} } }));
      const turn = (await held.nth(1)).stream();
      await until(() => streams.has(sessionOf(turn)), 'its standalone stream is open');
      streams.get(sessionOf(turn))?.end();
      expect(answered(await running)).toEqual(refusal({ ...lost, id: 1 }));
      expect(backend.of('tools/call')).toHaveLength(1);
    },
  );
});

describe('a call that may have run', verifies('gateway:backend:call-never-twice'), () => {
  const cuts = [
    { name: 'cut before any answer', cut: (turn: Turn) => turn.cut() },
    {
      name: 'cut in the middle of a body',
      cut: (turn: Turn) => {
        turn.stream({ 'content-type': 'application/json', 'content-length': '1000' }).bytes('{"jsonrpc"');
        setImmediate(() => turn.cut());
      },
    },
  ];
  it.each(cuts)('$name is answered with an error, and not sent again', async ({ cut }) => {
    const { url, backend } = await behindLegacy({ 'tools/call': cut });
    const client = await connectLegacy(url);
    expect((await client.post(call(1))).json()).toEqual(refusal({ ...unavailable, id: 1 }));
    const params = { name: 'work', arguments: {} };
    const answer = await send(url, modern({ id: 2, method: 'tools/call', params }));
    expect(answer.json()).toEqual(refusal({ ...unavailable, id: 2 }));
    expect(backend.of('tools/call')).toHaveLength(2);
    // The session is another matter: it goes on.
    expect((await client.post(request(3, 'ping'))).json()).toEqual(result(3, {}));
  });

  it('in a session that is lost through its standalone stream is answered 404, and not sent again', async () => {
    const held = new Held();
    let gets = 0;
    const { url, backend } = await behindLegacy({
      'tools/call': held.take,
      GET: (turn) => {
        if (++gets === 1) turn.stream().event('', { id: 'g1', retry: 1 });
        else turn.raw(404, {});
      },
    });
    const client = await connectLegacy(url);
    const running = client.post(call(1));
    await held.nth(1);
    (await backend.standing()).end();
    expectRefused(await running, 404, { ...sessionNotFound, id: 1 });
    await until(() => gets === 2, 'the standalone stream was tried again');
    expect(backend.of('tools/call')).toHaveLength(1);
  });
});
