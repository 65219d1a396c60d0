/** Redis in trouble: what needs it fails by name, and works again without a restart. */
import { describe, expect, it, onTestFinished } from 'vitest';
import type { StoreEngine } from '../../src/store/engine.ts';
import type { StoreErrorKind } from '../../src/store/errors.ts';
import { verifies } from '../requirements/verifies.ts';
import { startProxy } from './proxy.ts';
import { eventually, startRedis, type TestRedis } from './server.ts';
import { newPrefix, openTestStore } from './store.ts';

const bytes = (text: string) => new TextEncoder().encode(text);

async function start(...args: readonly string[]): Promise<TestRedis> {
  const redis = await startRedis(...args);
  onTestFinished(() => redis.close());
  return redis;
}

/** The name of the failure of a write; undefined where it works. */
async function writing({ records }: StoreEngine): Promise<StoreErrorKind | undefined> {
  return records.put('a', 'written', 'v').then(
    () => undefined,
    (error: { kind?: StoreErrorKind }) => error.kind,
  );
}

const works = (store: StoreEngine) => eventually('it works', async () => (await writing(store)) === undefined);
const fails = (store: StoreEngine, kind: StoreErrorKind) =>
  eventually(`it fails as ${kind}`, async () => (await writing(store)) === kind);

interface Trouble {
  readonly name: string;
  readonly kind: StoreErrorKind;
  begin(redis: TestRedis): Promise<unknown>;
  end(redis: TestRedis): Promise<unknown>;
}

const troubles: readonly Trouble[] = [
  { name: 'killed', kind: 'away', begin: (redis) => redis.kill(), end: (redis) => redis.start() },
  {
    name: 'a read-only replica',
    kind: 'read_only',
    begin: async (redis) => redis.cli('replicaof', '127.0.0.1', String((await start()).port)),
    end: (redis) => redis.cli('replicaof', 'no', 'one'),
  },
  {
    name: 'out of memory',
    kind: 'full',
    begin: (redis) => redis.cli('config', 'set', 'maxmemory', '1'),
    end: (redis) => redis.cli('config', 'set', 'maxmemory', '0'),
  },
];

describe('a store in Redis', verifies('gateway:store:redis-degraded'), () => {
  for (const { name, kind, begin, end } of troubles) {
    it(`fails by name while Redis is ${name}, and heals`, async () => {
      const redis = await start();
      const store = await openTestStore({ settings: { url: redis.url } });
      await works(store);
      await begin(redis);
      await fails(store, kind);
      await end(redis);
      await works(store);
    });
  }

  it('is opened while Redis is away, says so once, and heals', async () => {
    const redis = await start();
    await redis.kill();
    const warnings: string[] = [];
    const settings = { url: redis.url, connectMs: 100 };
    const store = await openTestStore({ settings, warn: (text) => warnings.push(text) });
    expect(await writing(store)).toBe('away');
    expect(store.epoch).toBeUndefined();
    await redis.start();
    await works(store);
    expect(warnings).toEqual([
      expect.stringContaining(`the store is away: Redis at 127.0.0.1:${redis.port} cannot be reached`),
      expect.stringContaining('the store is back'),
    ]);
  });

  it('is refused with a wrong password, which no error and no warning shows, and heals', async () => {
    const redis = await start();
    await redis.cli('config', 'set', 'requirepass', 'the-right-one');
    const warnings: string[] = [];
    const settings = { url: redis.url.replace('//', '//:the-wrong-one@'), connectMs: 100 };
    const store = await openTestStore({ settings, warn: (text) => warnings.push(text) });
    await fails(store, 'denied');
    const error = await store.records.get('a', 'k').catch((thrown: unknown) => thrown);
    expect(JSON.stringify([warnings, error, String(error), (error as Error).cause])).not.toContain('wrong-one');
    await redis.cli('-a', 'the-right-one', 'config', 'set', 'requirepass', 'the-wrong-one');
    await works(store);
  });

  it('needs no more permissions than docs/scaling.md says', async () => {
    const redis = await start();
    const prefix = newPrefix();
    const commands = ['-@all', '+@connection', '+@read', '+@write', '+@scripting', '+@pubsub', '-@dangerous', '+info'];
    await redis.cli('acl', 'setuser', 'ada', 'on', '>secret', `~${prefix}*`, `&${prefix}*`, ...commands);
    const settings = { url: redis.url.replace('//', '//ada:secret@'), prefix };
    const [store, other] = [await openTestStore({ settings }), await openTestStore({ settings })];
    await works(store);
    expect(await (await store.lease.take('a', 1000))?.release()).toBeUndefined();
    await store.events.append('s', { sequence: 1, data: bytes('e') });
    expect(await store.events.after('s', 0)).toHaveLength(1);
    const heard: string[] = [];
    other.bus.subscribe('t', (message) => heard.push(message));
    await eventually('the message is heard', async () => {
      await store.bus.publish('t', 'm');
      return heard.length > 0;
    });
  });

  it('names a server that does not answer in time, is not blocked by it, and heals', async () => {
    const redis = await start();
    const proxy = await startProxy(redis.port);
    const store = await openTestStore({ settings: { url: proxy.url, commandMs: 100, connectMs: 1000 } });
    await works(store);
    proxy.stall();
    expect(await writing(store)).toBe('slow');
    // The connection is given up: from then on, commands fail at once.
    await fails(store, 'away');
    proxy.resume();
    await works(store);
  });

  it(
    'loses no record, lease or event that was stored before Redis was killed',
    verifies('gateway:store:redis-restart'),
    async () => {
      const redis = await start();
      const store = await openTestStore({ settings: { url: redis.url } });
      await store.records.put('a', 'k', 'v', Date.now() + 3_600_000);
      await store.lease.take('l', 3_600_000);
      await store.events.append('s', { sequence: 1, data: bytes('e1') });
      await eventually('there is an epoch', () => store.epoch !== undefined);
      const { epoch } = store;
      await redis.kill();
      await fails(store, 'away');
      await redis.start();
      await works(store);
      expect(await store.records.get('a', 'k')).toBe('v');
      expect(await store.records.keys('a', 'k', 9)).toEqual(['k']);
      expect(await store.lease.take('l', 1000)).toBeUndefined();
      expect(await store.events.after('s', 0)).toEqual([{ sequence: 1, data: Buffer.from('e1') }]);
      expect(store.epoch).toBe(epoch);
    },
  );

  it('has another epoch when Redis was restarted empty', verifies('gateway:store:redis-restart'), async () => {
    const redis = await start();
    const warnings: string[] = [];
    const store = await openTestStore({ settings: { url: redis.url }, warn: (text) => warnings.push(text) });
    await store.records.put('a', 'k', 'v');
    await store.lease.take('l', 3_600_000);
    await store.events.append('s', { sequence: 1, data: bytes('e1') });
    await eventually('there is an epoch', () => store.epoch !== undefined);
    const { epoch } = store;
    await redis.kill();
    await redis.start({ empty: true });
    await eventually('the epoch changes', () => store.epoch !== epoch);
    expect(warnings.join('\n')).toContain('Redis has lost its data');
    expect(await store.records.get('a', 'k')).toBeUndefined();
    expect(await store.lease.take('l', 1000)).toBeDefined();
    expect(await store.events.after('s', 0)).toBeUndefined();
    await store.events.append('s', { sequence: 2, data: bytes('e2') });
    expect(await store.events.after('s', 0)).toBeUndefined();
    expect(await store.events.after('s', 1)).toHaveLength(1);
  });

  it('replays no stream over an event that was emitted while Redis was away, at any process', async () => {
    const redis = await start();
    const settings = { url: redis.url, prefix: newPrefix() };
    const [store, other] = [await openTestStore({ settings }), await openTestStore({ settings })];
    await store.events.append('s', { sequence: 1, data: bytes('e1') });
    expect(await other.events.after('s', 0)).toHaveLength(1);
    await redis.kill();
    await fails(store, 'away');
    await store.events.append('s', { sequence: 2, data: bytes('e2') });
    await redis.start();
    await works(other);
    await eventually('no process replays it', async () => (await other.events.after('s', 1)) === undefined);
    expect(await store.events.after('s', 1)).toBeUndefined();
    await store.events.append('s', { sequence: 3, data: bytes('e3') });
    expect(await other.events.after('s', 1)).toBeUndefined();
    expect(await other.events.after('s', 2)).toHaveLength(1);
  });

  it('passes messages to this process while Redis is away, and to others again afterwards, in order', async () => {
    const redis = await start();
    const settings = { url: redis.url, prefix: newPrefix() };
    const [store, other] = [await openTestStore({ settings }), await openTestStore({ settings })];
    const here: string[] = [];
    const there: string[] = [];
    store.bus.subscribe('t', (message) => here.push(message));
    other.bus.subscribe('t', (message) => there.push(message));
    await redis.kill();
    await fails(store, 'away');
    await store.bus.publish('t', 'lost');
    expect(here).toEqual(['lost']);
    await redis.start();
    await eventually('messages pass again', async () => {
      await store.bus.publish('t', 'first');
      return there.length > 0;
    });
    for (let n = 0; n < 50; n++) void store.bus.publish('t', `${n}`);
    await eventually('all are heard', () => there.at(-1) === '49');
    expect(there.slice(-50)).toEqual(Array.from({ length: 50 }, (_, n) => `${n}`));
    expect(there).not.toContain('lost');
  });
});
