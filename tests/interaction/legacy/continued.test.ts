/** Sessions that outlive the process that opened them: what goes on after a restart, and what never lives again. */
import { describe, expect, it } from 'vitest';
import type { AuditRecord } from '../../../src/observe/audit.ts';
import { verifies } from '../../requirements/verifies.ts';
import {
  call,
  echo,
  expectRefused,
  messagesOf,
  refusedResume,
  request,
  result,
  resume,
  sessionNotFound,
  text,
  unknownEvent,
} from '../harness/behind.ts';
import { type Json, until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { bearer, keyRing } from '../harness/credentials.ts';
import { connectLegacy, type LegacyClient } from '../harness/eras.ts';
import type { ConfigValue, Ports } from '../harness/gateway.ts';
import { legacyBackend, modernBackend, type ScriptedBackend } from '../harness/http-backend.ts';
import { commandOf, restarted } from '../harness/restarted.ts';
import { legacyProcess, modernProcess } from '../harness/stdio-backend.ts';

/** The `initialize` requests in the client's name. The gateway looks at its backends under its own. */
function inits({ received }: ScriptedBackend): readonly Json[] {
  return received
    .map(({ message }) => message)
    .filter((message) => message?.method === 'initialize' && message.params.clientInfo.name === 'raw');
}

describe('after a restart a session goes on', verifies('gateway:legacy:continued'), () => {
  it('at a legacy backend, in a new session of the backend', async () => {
    const backend = await legacyBackend(echo);
    const gateways = await restarted({ backends: { b: { url: backend.url } } });
    const client = await gateways.connect();
    expect((await client.post(call(1, { n: 1 }))).json()).toEqual(result(1, text('{"n":1}')));
    await gateways.start();
    const again = gateways.again(client);
    expect((await again.post(call(2, { n: 2 }))).json()).toEqual(result(2, text('{"n":2}')));
    expect(inits(backend)).toHaveLength(2);
    const told = backend.received.filter(({ message }) => message?.method === 'notifications/initialized');
    expect(told).toHaveLength(2);
    expect(gateways.gateway.counters.snapshot()['session.continued']).toBe(1);
  });

  it('with what the client said of itself', async () => {
    const backend = await legacyBackend(echo);
    const gateways = await restarted({ backends: { b: { url: backend.url } } });
    const client = await gateways.connect({ revision: '2025-06-18', capabilities: { elicitation: {} } });
    await gateways.start();
    await gateways.again(client).post(call(1));
    const [first, second] = inits(backend);
    expect(second.params).toEqual(first.params);
  });

  it('at a modern backend', async () => {
    const backend = await modernBackend(echo);
    const gateways = await restarted({ backends: { b: { url: backend.url } } });
    const client = await gateways.connect();
    await gateways.start();
    expect((await gateways.again(client).post(call(2, { n: 2 }))).json()).toEqual(result(2, text('{"n":2}')));
  });

  it('at a merged endpoint', async () => {
    const [a, b] = [await legacyBackend(echo), await modernBackend(echo)];
    const backends = { a: { url: a.url }, b: { url: b.url } };
    const gateways = await restarted({ backends, endpoints: [{ path: '/mcp', names: 'always' }] });
    const client = await gateways.connect();
    await gateways.start();
    const lists = await gateways.again(client).post(request(1, 'tools/list'));
    expect(lists.status).toBe(200);
  });

  it('at processes that keep no state, by config or because they are modern', async () => {
    const [stateless, modern] = [await legacyProcess(), await modernProcess()];
    const gateways = await restarted({
      backends: { none: { ...commandOf(stateless), state: 'none' }, modern: commandOf(modern) },
      endpoints: ['none', 'modern'].map((name) => ({ path: `/${name}`, backends: [name] })),
    });
    for (const path of ['/none', '/modern']) {
      const client = await connectLegacy(`${gateways.gateway.origin}${path}`);
      await gateways.start();
      expect((await gateways.again(client, path).post(request(1, 'ping'))).json()).toEqual(result(1, {}));
    }
  });

  it('for many requests at once, with one session of the backend', async () => {
    const backend = await legacyBackend(echo);
    const gateways = await restarted({ backends: { b: { url: backend.url } } });
    const client = await gateways.connect();
    await gateways.start();
    const again = gateways.again(client);
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => again.post(call(n, { n }))));
    expect(answers.map((answer) => answer.json())).toEqual(
      answers.map((_, n) => result(n, text(JSON.stringify({ n })))),
    );
    expect(inits(backend)).toHaveLength(2);
  });

  it('with its log level and its subscriptions', async () => {
    const accept = { 'resources/subscribe': (turn: { result(value: object): void }) => turn.result({}) };
    const backend = await legacyBackend({ ...echo, ...accept, 'logging/setLevel': (turn) => turn.result({}) });
    const gateways = await restarted({ backends: { b: { url: backend.url } } });
    const client = await gateways.connect();
    await client.post(request(1, 'logging/setLevel', { level: 'error' }));
    await client.post(request(2, 'resources/subscribe', { uri: 'file:///a' }));
    await gateways.start();
    const before = backend.received.length;
    await gateways.again(client).post(call(3));
    const since = () => backend.received.slice(before).map(({ message }) => message);
    await until(() => since().some((message) => message?.method === 'resources/subscribe'), 'subscribed again');
    expect(since().find((message) => message?.method === 'logging/setLevel')?.params).toEqual({ level: 'error' });
    expect(since().find((message) => message?.method === 'resources/subscribe')?.params).toMatchObject({
      uri: 'file:///a',
    });
  });

  it('with a new standalone stream, which tells that lists may have changed', async () => {
    const backend = await legacyBackend(echo);
    const gateways = await restarted({ backends: { b: { url: backend.url } } });
    const client = await gateways.connect();
    const stream = await client.listen();
    const primed = await stream.event(({ id }) => id !== undefined);
    await gateways.start();
    const resumed = await resume(gateways.again(client), primed.id);
    expect(resumed.status).toBe(200);
    await resumed.message(({ method }) => method === 'notifications/tools/list_changed');
    resumed.close();
  });

  it('and its client is told once that each resource may have changed that it is subscribed to again', async () => {
    let refuses = '';
    const backend = await legacyBackend({
      ...echo,
      'resources/subscribe': (turn) =>
        turn.message.params.uri === refuses ? turn.error(-32002, 'gone') : turn.result({}),
    });
    const gateways = await restarted({ backends: { b: { url: backend.url } } });
    const client = await gateways.connect();
    for (const uri of ['file:///a', 'file:///gone', 'file:///b'])
      await client.post(request(1, 'resources/subscribe', { uri }));
    refuses = 'file:///gone';
    await gateways.start();
    const stream = await gateways.again(client).listen();
    const updated = () => messagesOf(stream).filter(({ method }) => method === 'notifications/resources/updated');
    await until(() => updated().length === 2, 'both are told');
    expect(updated().map(({ params }) => params)).toEqual([{ uri: 'file:///a' }, { uri: 'file:///b' }]);
    stream.close();
  });

  it('and that is recorded, with its principal and a part of its id', async () => {
    const ring = keyRing();
    const ada = bearer(ring.make('ada'));
    const backend = await legacyBackend(echo);
    const config = { backends: { b: { url: backend.url } }, identity: { keys: { file: ring.path } } };
    const records: AuditRecord[] = [];
    const audit = { write: (record: AuditRecord) => void records.push(record), close: async () => undefined };
    const gateways = await restarted({ ...config, audit: { to: 'stderr' } }, { audit });
    const client = await gateways.connect({}, ada);
    const gateway = await gateways.start();
    await gateways.again(client).post(request(1, 'ping'));
    const session = client.session.slice(-8);
    const acts = records.filter(({ action }) => action === 'continue');
    const facts = { decision: 'allow', outcome: 'result', endpoint: '/mcp', session, address: '127.0.0.1' };
    expect(acts).toMatchObject([{ ...facts, principal: { kind: 'key', key: 'ada' } }]);
    expect(gateway.log.filter(({ text: line }) => line.includes('is continued'))).toMatchObject([
      { level: 'info', facts: { principal: 'key:ada', session, endpoint: '/mcp' } },
    ]);
  });

  it('and the stream of a lost call is refused by name', async () => {
    const backend = await legacyBackend(echo);
    const gateways = await restarted({ backends: { b: { url: backend.url } }, limits: { sseAfterMs: 0 } });
    const client = await gateways.connect();
    const answered = await client.stream(call(1));
    const { id } = await answered.event((event) => event.id !== undefined);
    await gateways.start();
    expectRefused(await refusedResume(gateways.again(client), id ?? ''), 400, unknownEvent);
  });

  it('with a key that was replaced and is still accepted', async () => {
    const backend = await legacyBackend(echo);
    const [old, next] = ['o'.repeat(40), 'n'.repeat(40)];
    const gateways = await restarted({ backends: { b: { url: backend.url } }, seal: { key: old } });
    const client = await gateways.connect();
    await gateways.start({ seal: { key: next, previous: [old] } });
    expect((await gateways.again(client).post(request(1, 'ping'))).status).toBe(200);
    await gateways.start({ seal: { key: next } });
    expectRefused(await gateways.again(client).post(request(1, 'ping')), 404, { ...sessionNotFound, id: 1 });
  });
});

describe('a session never lives again', verifies('gateway:legacy:continued-bound'), () => {
  const refused = async (client: LegacyClient) =>
    expectRefused(await client.post(request(1, 'ping')), 404, { ...sessionNotFound, id: 1 });

  async function opened(config: ConfigValue = {}, ports: Ports = {}) {
    const backend = await legacyBackend(echo);
    const gateways = await restarted({ backends: { b: { url: backend.url } }, ...config }, ports);
    return { backend, gateways, client: await gateways.connect() };
  }

  it('that its client has ended', async () => {
    const { gateways, client } = await opened();
    expect((await client.end()).status).toBe(204);
    await refused(client);
    await gateways.start();
    await refused(gateways.again(client));
  });

  it('that its client has ended after a restart, before anything else', async () => {
    const { gateways, client } = await opened();
    await gateways.start();
    expect((await gateways.again(client).end()).status).toBe(204);
    await refused(gateways.again(client));
    await gateways.start();
    await refused(gateways.again(client));
  });

  it('that was idle for too long', async () => {
    const clock = new LeapClock();
    const { gateways, client } = await opened({ limits: { sessionIdleMs: 60_000 } }, { clock });
    clock.leap(70_000);
    await refused(client);
    await gateways.start({}, { clock: new LeapClock() });
    await refused(gateways.again(client));
  });

  it('that is older than the limit, whoever opened it', async () => {
    const { gateways, client } = await opened();
    await gateways.start({}, { timeOfDay: () => Date.now() + 25 * 3600_000 });
    await refused(gateways.again(client));
  });

  it('at another endpoint, at another gateway, under another key, or changed', async () => {
    const { backend, gateways, client } = await opened({ name: 'one', seal: { key: 'k'.repeat(40) } });
    const endpoints = [{ path: '/mcp' }, { path: '/other' }];
    const other = await gateways.start({ endpoints });
    await refused(gateways.again(client, '/other'));
    expect(other.counters.snapshot()['session.continued']).toBeUndefined();
    for (const more of [{ name: 'two' }, { seal: { key: 'l'.repeat(40) } }]) {
      await gateways.start(more);
      await refused(gateways.again(client));
    }
    await gateways.start();
    const flipped = client.session.slice(0, -1) + (client.session.endsWith('A') ? 'B' : 'A');
    await refused(gateways.again({ ...client, session: flipped } as LegacyClient));
    expect(inits(backend)).toHaveLength(1);
    expect((await gateways.again(client).post(request(1, 'ping'))).status).toBe(200);
  });

  it('for another principal', async () => {
    const ring = keyRing();
    const [alice, bob] = [bearer(ring.make('alice')), bearer(ring.make('bob'))];
    const backend = await legacyBackend(echo);
    const gateways = await restarted({
      backends: { b: { url: backend.url } },
      identity: { keys: { file: ring.path } },
    });
    const client = await gateways.connect({}, alice);
    await gateways.start();
    const thief = gateways.again(client);
    thief.credentials = bob;
    await refused(thief);
    expect((await gateways.again(client).post(request(1, 'ping'))).status).toBe(200);
    await refused(thief);
  });

  it('whose process kept its state', async () => {
    const process = await legacyProcess();
    const gateways = await restarted({ backends: { p: commandOf(process) } });
    const client = await gateways.connect();
    await gateways.start();
    await refused(gateways.again(client));
  });

  it('whose revision the endpoint no longer has', async () => {
    const { gateways, client } = await opened();
    await gateways.start({ endpoints: [{ path: '/mcp', profile: { revisions: ['2025-06-18'] } }] });
    await refused(gateways.again(client));
  });
});
