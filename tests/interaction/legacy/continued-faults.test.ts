/** Sessions that are continued while something else happens to them, or while something they need is missing. */
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { MemoryRecords } from '../../kit/memory-records.ts';
import { verifies } from '../../requirements/verifies.ts';
import { act, ask } from '../console/setup.ts';
import { call, echo, expectRefused, notification, request, result, sessionNotFound, text } from '../harness/behind.ts';
import { send, until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { connectLegacy, type LegacyClient } from '../harness/eras.ts';
import type { ConfigValue, Ports } from '../harness/gateway.ts';
import { legacyBackend, modernBackend, type Turn } from '../harness/http-backend.ts';
import { commandOf, directory, restarted } from '../harness/restarted.ts';
import { modernProcess, type StdioTurn } from '../harness/stdio-backend.ts';

const refused = async (client: LegacyClient) =>
  expectRefused(await client.post(request(1, 'ping')), 404, { ...sessionNotFound, id: 1 });

const accepting = {
  ...echo,
  'logging/setLevel': (turn: Turn) => turn.result({}),
  'resources/subscribe': (turn: Turn) => turn.result({}),
};

async function opened(config: ConfigValue = {}, ports: Ports = {}) {
  const backend = await legacyBackend(accepting);
  const gateways = await restarted({ backends: { b: { url: backend.url } }, ...config }, ports);
  return { backend, gateways, client: await gateways.connect() };
}

/** A store that answers when the test lets it. */
class HeldRecords extends MemoryRecords {
  readonly #held: (() => void)[] = [];
  holds = false;

  get waiting(): number {
    return this.#held.length;
  }

  override async get(collection: string, key: string): Promise<string | undefined> {
    const value = await super.get(collection, key);
    if (this.holds) await new Promise<void>((resolve) => this.#held.push(resolve));
    return value;
  }

  override async close(): Promise<void> {
    // The same records serve the next gateway.
  }

  release(): void {
    this.holds = false;
    for (const resolve of this.#held.splice(0)) resolve();
  }
}

/** A store without room for more. */
class FullRecords extends MemoryRecords {
  isFull = true;

  override async put(...record: Parameters<MemoryRecords['put']>): Promise<void> {
    if (this.isFull) throw new Error('no space left');
    await super.put(...record);
  }

  override async close(): Promise<void> {
    // The same records serve the next gateway.
  }
}

describe('an ended session stays ended', verifies('gateway:legacy:continued-bound'), () => {
  it('where its log level was not stored yet when it ended', async () => {
    const { gateways, client } = await opened();
    await client.post(request(1, 'logging/setLevel', { level: 'error' }));
    expect((await client.end()).status).toBe(204);
    await gateways.start();
    await refused(gateways.again(client));
  });

  it('where a reload removed its backend while a request of it ran', async () => {
    const clock = new LeapClock();
    const held: Turn[] = [];
    const backend = await legacyBackend({ ...accepting, 'tools/call': (turn) => void held.push(turn) });
    const other = await legacyBackend(accepting);
    const gateways = await restarted({ backends: { b: { url: backend.url } } }, { clock });
    const client = await gateways.connect();
    const running = client.post(call(1));
    await until(() => held.length === 1, 'the call runs');
    await client.post(request(2, 'logging/setLevel', { level: 'error' }));
    gateways.gateway.reload({ backends: { c: { url: other.url } } });
    clock.leap(1000);
    held[0]?.result(text('done'));
    expect((await running).status).toBe(200);
    await refused(client);
    await gateways.start({ backends: { b: { url: other.url } } });
    await refused(gateways.again(client));
  });

  it('where the key was replaced since, and is still accepted', async () => {
    const [old, next] = ['o'.repeat(40), 'n'.repeat(40)];
    const { gateways, client } = await opened({ seal: { key: old } });
    const other = await gateways.connect();
    await client.end();
    await gateways.start({ seal: { key: next, previous: [old] } });
    await refused(gateways.again(client));
    expect((await gateways.again(other).post(request(1, 'ping'))).status).toBe(200);
  });

  it('where sessions may live longer since', async () => {
    const { gateways, client } = await opened({ limits: { sessionMaxMs: 3600_000 } });
    await client.end();
    const timeOfDay = () => Date.now() + 2 * 3600_000;
    await gateways.start({ limits: { sessionMaxMs: 24 * 3600_000 } }, { timeOfDay });
    await refused(gateways.again(client));
  });

  it('where the time of day was set back after its end was forgotten', async () => {
    let ahead = 0;
    const timeOfDay = () => Date.now() + ahead;
    const records = new HeldRecords(timeOfDay);
    const { gateways, client } = await opened({ limits: { sessionMaxMs: 3600_000 } }, { timeOfDay, records });
    await client.end();
    // Its record has expired, and is removed by later writes.
    ahead = 3600_000 + 10_000;
    for (let n = 0; n < 4; n++) await (await gateways.connect()).end();
    ahead = 3600_000 - 10_000;
    await gateways.start();
    await refused(gateways.again(client));
  });

  it('where its client ended it while it was being continued', async () => {
    const records = new HeldRecords(Date.now);
    const discoveries: StdioTurn[] = [];
    let answers = true;
    const process = await modernProcess({
      'server/discover': (turn) => {
        if (answers) answer(turn);
        else discoveries.push(turn);
      },
    });
    const gateways = await restarted({ backends: { p: commandOf(process) } }, { records });
    const client = await gateways.connect();
    answers = false;
    await gateways.start();
    const again = gateways.again(client);
    const continuing = again.post(request(1, 'ping'));
    await until(() => discoveries.length > 0, 'the backend is asked what it is');
    const ending = again.end();
    // What came before this has been taken.
    await send(`${gateways.gateway.origin}/healthz`, { method: 'GET' });
    answers = true;
    for (const turn of discoveries.splice(0)) answer(turn);
    await continuing;
    expect((await ending).status).toBe(204);
    await refused(again);
    await gateways.start();
    await refused(gateways.again(client));
  });

  it('where an operator ended all sessions of its principal, and it was not used since the restart', async () => {
    const { gateways, client } = await opened({ console: {} }, { control: true });
    const gateway = await gateways.start();
    const used = await gateways.connect();
    const { people } = await ask(gateway, '/people');
    expect((await act(gateway, '/sessions/revoke', { person: people[0].id })).body).toEqual({ ended: 1 });
    await refused(used);
    await refused(gateways.again(client));
    await gateways.start();
    await refused(gateways.again(client));
  });

  it('where its end cannot be stored at once', async () => {
    const clock = new LeapClock();
    const records = new FullRecords(Date.now);
    const { gateways, client } = await opened({}, { records, clock });
    expect((await client.end()).status).toBe(204);
    await refused(client);
    records.isFull = false;
    await gateways.start();
    await refused(gateways.again(client));
  });
});

function answer(turn: StdioTurn): void {
  turn.result({
    resultType: 'complete',
    supportedVersions: ['2026-07-28'],
    capabilities: {},
    ttlMs: 0,
    cacheScope: 'private',
    _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'modern', version: '1' } },
  });
}

describe('a session is continued', verifies('gateway:legacy:continued'), () => {
  it('by the next request, where its backend was not there for the first', async () => {
    const clock = new LeapClock();
    const { backend, gateways, client } = await opened({}, { clock });
    await gateways.start();
    await backend.close();
    const again = gateways.again(client);
    expect((await again.post(call(1))).json().error).toBeDefined();
    await backend.reopen();
    clock.leap(60_000);
    let answer = await again.post(call(2, { n: 2 }));
    while (answer.json().error?.data.reason === 'backend_unavailable') answer = await again.post(call(2, { n: 2 }));
    expect(answer.json()).toEqual(result(2, text('{"n":2}')));
  });

  it('with more subscriptions than requests may be in flight, and without harm to its first request', async () => {
    const clock = new LeapClock();
    const { backend, gateways, client } = await opened({ limits: { inFlightPerSession: 2 } }, { clock });
    for (let n = 0; n < 5; n++) await client.post(request(n, 'resources/subscribe', { uri: `file:///${n}` }));
    await gateways.start();
    backend.forget();
    expect((await gateways.again(client).post(call(9, { n: 9 }))).json()).toEqual(result(9, text('{"n":9}')));
    await until(() => backend.of('resources/subscribe').length === 5, 'all are subscribed again');
  });

  it('and counts once against the limit, however often it is tried', async () => {
    const { gateways, client } = await opened({ limits: { sessionsPerPrincipal: 2 } });
    await gateways.start();
    const again = gateways.again(client);
    await Promise.all(Array.from({ length: 10 }, (_, n) => again.post(call(n))));
    const second = await gateways.connect();
    await second.end();
    await (await gateways.connect()).end();
    await again.end();
    for (let n = 0; n < 5; n++) await again.post(request(n, 'ping'));
    await gateways.connect();
    await gateways.connect();
    await expect(gateways.connect()).rejects.toThrow('too_many');
  });
});

describe('while a session is being continued', verifies('gateway:legacy:continued'), () => {
  it('a shutdown waits for the request, or refuses it as such', async () => {
    const records = new HeldRecords(Date.now);
    const { gateways, client } = await opened({}, { records });
    await gateways.start();
    records.holds = true;
    const answering = gateways.again(client).post(call(1, { n: 1 }));
    await until(() => records.waiting > 0, 'the store is asked');
    const closing = gateways.gateway.close(5000);
    records.release();
    const answer = await answering;
    expect(answer.status === 503 || answer.json().result !== undefined).toBe(true);
    await closing;
  });

  it('a message that arrives during a shutdown does not continue it', async () => {
    const held: Turn[] = [];
    const backend = await legacyBackend({ ...accepting, 'tools/call': (turn) => void held.push(turn) });
    const gateways = await restarted({ backends: { b: { url: backend.url } } });
    const [client, busy] = [await gateways.connect(), await gateways.connect()];
    await gateways.start();
    const running = gateways.again(busy).post(call(1));
    await until(() => held.length === 1, 'the call runs');
    const closing = gateways.gateway.close(5000);
    await gateways.again(client).post(notification('notifications/cancelled', { requestId: 7 }));
    expect(gateways.gateway.counters.snapshot()['session.continued']).toBe(1);
    held[0]?.result(text('done'));
    await running;
    await closing;
  });

  it('a reload that removes its endpoint ends it', async () => {
    const records = new HeldRecords(Date.now);
    const backend = await legacyBackend(accepting);
    const config = { backends: { b: { url: backend.url } } };
    const paths = (...names: string[]) => ({ ...config, endpoints: names.map((path) => ({ path, backends: ['b'] })) });
    const gateways = await restarted(paths('/a', '/b'), { records });
    const client = await connectLegacy(`${gateways.gateway.origin}/a`);
    await gateways.start();
    records.holds = true;
    const answering = gateways.again(client, '/a').post(request(1, 'ping'));
    await until(() => records.waiting > 0, 'the store is asked');
    gateways.gateway.reload(paths('/b'));
    records.release();
    expect((await answering).status).toBe(404);
    expect(gateways.gateway.assembled.shared.sessions.size).toBe(0);
  });
});

describe('a session is not continued', verifies('gateway:legacy:continued-bound'), () => {
  it('where a process cannot be started to see whether it keeps state', async () => {
    const backend = await modernBackend(echo);
    const backends = { b: { url: backend.url }, broken: { command: '/nowhere/at/all' } };
    const gateways = await restarted({ backends });
    const client = await gateways.connect();
    await gateways.start();
    await refused(gateways.again(client));
  });
});

describe('without a store that can be written', verifies('gateway:legacy:continued-bound'), () => {
  it('sessions work and end with the process', async () => {
    const file = join(directory(), 'file');
    writeFileSync(file, '');
    const { gateways, client } = await opened({ store: { dir: join(file, 'state') } });
    expect((await client.post(request(1, 'ping'))).status).toBe(200);
    expect((await client.end()).status).toBe(204);
    const other = await gateways.connect();
    await gateways.start();
    await refused(gateways.again(other));
  });

  it('a key that other users can read is not used, and a warning says so once', async () => {
    const dir = directory();
    const { gateways } = await opened({ store: { dir } });
    chmodSync(join(dir, 'key'), 0o644);
    const gateway = await gateways.start();
    for (let n = 0; n < 3; n++) expect((await (await gateways.connect()).end()).status).toBe(204);
    expect(gateway.log.filter(({ level }) => level === 'warn')).toHaveLength(1);
  });
});
