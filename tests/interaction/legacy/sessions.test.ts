/** Sessions: how they begin, what they are known by, and what is answered where there is none. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import {
  behindLegacy,
  behindModern,
  call,
  echo,
  expectRefused,
  legacyRevisions,
  notification,
  request,
  result,
  sessionNotFound,
  sessionRequired,
  text,
} from '../harness/behind.ts';
import { type Call, send, until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { connectLegacy, initialize, LegacyClient } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { legacyBackend } from '../harness/http-backend.ts';

const get: Call = { method: 'GET', headers: { accept: 'text/event-stream' } };
const del: Call = { method: 'DELETE' };

describe('the session id', () => {
  it('is in the response to initialize', verifies('hosting:session:create'), async () => {
    const { url } = await behindLegacy();
    const answer = await send(url, { body: initialize() });
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toBe('application/json');
    expect(answer.headers['mcp-session-id']).toMatch(/^[\x21-\x7e]+$/);
    expect(answer.json()).toEqual(
      result('init', {
        protocolVersion: '2025-11-25',
        capabilities: {
          tools: { listChanged: true },
          prompts: { listChanged: true },
          resources: { subscribe: true, listChanged: true },
          logging: {},
          completions: {},
        },
        serverInfo: { name: 'legacy', version: '1' },
      }),
    );
  });

  it('is in no other response', verifies('hosting:session:create'), async () => {
    const { url } = await behindLegacy(echo);
    const client = await connectLegacy(url);
    expect((await client.post(call(1))).headers['mcp-session-id']).toBeUndefined();
  });

  it(
    'is visible ASCII, never the same, and has 128 random bits or more',
    verifies('gateway:legacy:session-id', 'hosting:session:id-charset'),
    async () => {
      const { url } = await behindModern();
      const ids: string[] = [];
      for (let i = 0; i < 48; i++) ids.push((await connectLegacy(url)).session);
      expect(new Set(ids).size).toBe(ids.length);
      for (const id of ids) expect(id).toMatch(/^[\x21-\x7e]+$/);
      // A bit that is left to chance has both values among 48 ids, but for one time in 10^14.
      const samples = ids.map((id) => Buffer.from(id, 'base64url'));
      const bits = Math.min(...samples.map((bytes) => bytes.length)) * 8;
      const bitOf = (bytes: Buffer, at: number) => ((bytes[at >> 3] as number) >> (at & 7)) & 1;
      const changing = Array.from({ length: bits }, (_, at) => new Set(samples.map((bytes) => bitOf(bytes, at))).size);
      expect(changing.filter((values) => values === 2).length).toBeGreaterThanOrEqual(128);
    },
  );
});

describe('without a session id', verifies('gateway:legacy:session-required', 'hosting:session:missing-id'), () => {
  const cases: { name: string; call: Call; id?: number }[] = [
    { name: 'a request', call: { body: request(7, 'tools/list') }, id: 7 },
    { name: 'a ping', call: { body: request(7, 'ping') }, id: 7 },
    {
      name: 'a request with a version header',
      call: { body: call(7), headers: { 'mcp-protocol-version': '2025-06-18' } },
      id: 7,
    },
    { name: 'a notification', call: { body: notification('notifications/initialized') } },
    { name: 'a response', call: { body: result(1, {}) } },
    { name: 'GET', call: get },
    { name: 'DELETE', call: del },
  ];

  it.each(cases)('$name is 400 with -32600, and no byte goes to the backend', async ({ call: sent, id }) => {
    const { url, backend } = await behindLegacy();
    expectRefused(await send(url, sent), 400, { ...sessionRequired, ...(id === undefined ? {} : { id }) });
    expect(backend.bytes).toBe(0);
  });
});

describe('a session that is not there', () => {
  const ways: { name: string; call: Call; id?: string }[] = [
    { name: 'a request', call: { body: request('a', 'tools/list') }, id: 'a' },
    { name: 'initialize', call: { body: { ...initialize(), id: 'b' } }, id: 'b' },
    { name: 'a notification', call: { body: notification('notifications/initialized') } },
    { name: 'a response', call: { body: result(1, {}) } },
    { name: 'GET', call: get },
    { name: 'GET that resumes', call: { ...get, headers: { ...get.headers, 'last-event-id': 'x.1-1' } } },
    { name: 'DELETE', call: del },
  ];
  const with404 = verifies('gateway:legacy:session-404', 'hosting:session:unknown-id');

  it.each(ways)('$name with an unknown id is 404 with -32001', with404, async ({ call: sent, id }) => {
    const { url, backend } = await behindLegacy();
    const answer = await send(url, { ...sent, headers: { ...sent.headers, 'mcp-session-id': 'no-such-session' } });
    expectRefused(answer, 404, { ...sessionNotFound, ...(id === undefined ? {} : { id }) });
    expect(backend.bytes).toBe(0);
  });

  it(
    'an ended one gets 404 with -32001 for every method',
    verifies('gateway:legacy:session-404', 'hosting:session:post-termination-404', 'hosting:session:delete'),
    async () => {
      const { url, backend } = await behindLegacy(echo);
      const client = await connectLegacy(url);
      expect((await client.post(call(1, { n: 1 }))).json()).toEqual(result(1, text('{"n":1}')));
      const ended = await client.end();
      expect(ended).toMatchObject({ status: 204, body: '' });
      for (const { call: sent, id } of ways) {
        const answer = await send(url, { ...sent, headers: { ...client.headers, ...sent.headers } });
        expectRefused(answer, 404, { ...sessionNotFound, ...(id === undefined ? {} : { id }) });
      }
      expect(backend.of('tools/call')).toHaveLength(1);
    },
  );

  it('an expired one is 404 with -32001', verifies('gateway:legacy:session-404'), async () => {
    const clock = new LeapClock();
    const { url } = await behindLegacy(echo, { limits: { sessionIdleMs: 60_000 }, ports: { clock } });
    const client = await connectLegacy(url);
    clock.leap(61_000);
    expectRefused(await client.post(call('late')), 404, { ...sessionNotFound, id: 'late' });
  });

  it('one of another endpoint is 404 with -32001', verifies('gateway:legacy:session-404'), async () => {
    const backend = await legacyBackend(echo);
    const gateway = await startGateway({ backends: { a: { url: backend.url }, b: { url: backend.url } } });
    const client = await connectLegacy(gateway.url('a'));
    const elsewhere = new LegacyClient(gateway.url('b'), client.session, client.revision, undefined);
    expectRefused(await elsewhere.post(call(3)), 404, { ...sessionNotFound, id: 3 });
    expect((await client.post(call(4))).status).toBe(200);
    expect(backend.of('tools/call')).toHaveLength(1);
  });
});

describe('several sessions', () => {
  it(
    'have upstream sessions of their own, and requests of one share its own',
    verifies('hosting:session:reuse'),
    async () => {
      // A server with state: it counts the calls of each session.
      const counts = new Map<string, number>();
      const { url, backend } = await behindLegacy({
        'tools/call': (turn) => {
          const session = String(turn.received.headers['mcp-session-id']);
          counts.set(session, (counts.get(session) ?? 0) + 1);
          turn.result(text(`${session} ${counts.get(session)}`));
        },
      });
      const [first, second] = [await connectLegacy(url), await connectLegacy(url)];
      const texts: string[] = [];
      for (const client of [first, second, first, second, first]) {
        texts.push((await client.post(call(1))).json().result.content[0].text);
      }
      const [a, b] = [texts[0]?.split(' ')[0], texts[1]?.split(' ')[0]];
      expect(a).not.toBe(b);
      expect(texts).toEqual([`${a} 1`, `${b} 1`, `${a} 2`, `${b} 2`, `${a} 3`]);
      // One for finding out what the backend is, one for each client.
      expect(backend.of('initialize')).toHaveLength(3);
    },
  );

  it('go on when one of them ends', verifies('hosting:session:isolation'), async () => {
    const { url, backend } = await behindLegacy(echo);
    const [first, second] = [await connectLegacy(url), await connectLegacy(url)];
    backend.forget();
    expect((await first.end()).status).toBe(204);
    await until(() => backend.received.some(({ http }) => http === 'DELETE'), 'the backend is told');
    expect((await first.post(call(1))).status).toBe(404);
    expect((await second.post(call(1, { n: 2 }))).json()).toEqual(result(1, text('{"n":2}')));
    const ended = backend.received
      .filter(({ http }) => http === 'DELETE')
      .map(({ headers }) => headers['mcp-session-id']);
    const serving = backend.of('tools/call').map(({ headers }) => headers['mcp-session-id']);
    expect(ended).toHaveLength(1);
    expect(serving).toHaveLength(1);
    expect(ended[0]).not.toBe(serving[0]);
  });

  it(
    'get nothing that is sent to another',
    verifies('hosting:session:isolation', 'flow:multi-client:stateful-isolation'),
    async () => {
      const streams = new Map<string, (message: object) => void>();
      const { url } = await behindLegacy({
        GET: (turn) => {
          turn.stream();
          streams.set(String(turn.received.headers['mcp-session-id']), (message) => void turn.event(message));
        },
        'tools/call': (turn) => turn.result(text(String(turn.received.headers['mcp-session-id']))),
      });
      const clients = [await connectLegacy(url), await connectLegacy(url)];
      const listening = await Promise.all(clients.map((client) => client.listen()));
      const upstream: string[] = [];
      for (const client of clients) upstream.push((await client.post(call(1))).json().result.content[0].text);
      const note = (data: string) => notification('notifications/message', { level: 'info', data });
      const say = async (session: string, data: string) => {
        await until(() => streams.has(session), 'the gateway listens');
        streams.get(session)?.(note(data));
      };
      await say(upstream[0] as string, 'for the first');
      await say(upstream[1] as string, 'for the second');
      await listening[0]?.message(({ params }) => params.data === 'for the first');
      await listening[1]?.message(({ params }) => params.data === 'for the second');
      const heard = listening.map((stream) => stream.events.filter(({ data }) => data).map((event) => event.json()));
      expect(heard).toEqual([[note('for the first')], [note('for the second')]]);
    },
  );
});

describe.each(legacyRevisions)('%s', (revision) => {
  it(
    'ends its session, and opens another',
    verifies('flow:session:terminate-then-reconnect', 'hosting:session:delete'),
    async () => {
      const endpoint = { profile: { revisions: legacyRevisions, batches: 'allow' } };
      const { url, backend } = await behindLegacy(echo, { endpoint });
      const first = await connectLegacy(url, { revision });
      expect((await first.end()).status).toBe(204);
      const second = await connectLegacy(url, { revision });
      expect(second.session).not.toBe(first.session);
      expect((await second.post(call(1, { again: true }))).json()).toEqual(result(1, text('{"again":true}')));
      expect((await first.post(call(2))).status).toBe(404);
      expect(backend.of('tools/call')).toHaveLength(1);
    },
  );
});
