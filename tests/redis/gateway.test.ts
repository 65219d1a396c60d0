/** Whole gateways with a store in Redis. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/app/clock.ts';
import { Storage } from '../../src/app/storage.ts';
import { configOf } from '../config/loading.ts';
import {
  call,
  echo,
  expectRefused,
  Held,
  log,
  messagesOf,
  refusedResume,
  replay,
  result,
  text,
} from '../interaction/harness/behind.ts';
import { send } from '../interaction/harness/client.ts';
import { connectLegacy, LegacyClient, modern } from '../interaction/harness/eras.ts';
import { startGateway } from '../interaction/harness/gateway.ts';
import { legacyBackend, modernBackend, type Script } from '../interaction/harness/http-backend.ts';
import { verifies } from '../requirements/verifies.ts';
import { eventually, startRedis, type TestRedis } from './server.ts';
import { newPrefix, openTestStore } from './store.ts';

const KEY = 'a key that all gateways of the tests have';

async function start(): Promise<TestRedis> {
  const redis = await startRedis();
  onTestFinished(() => redis.close());
  return redis;
}

async function gatewayAt(redis: TestRedis, script: Script) {
  const [legacy, current] = [await legacyBackend(script), await modernBackend(echo)];
  const config = {
    name: 'the same after a restart',
    backends: { legacy: { url: legacy.url }, modern: { url: current.url } },
    endpoints: [
      { path: '/legacy', backends: ['legacy'] },
      { path: '/modern', backends: ['modern'] },
    ],
    limits: { sseAfterMs: 0 },
    seal: { key: KEY },
    store: { url: redis.url },
  };
  const gateway = await startGateway(config);
  const restart = async () => {
    await gateway.close();
    return startGateway(config);
  };
  return { gateway, restart, legacyUrl: `${gateway.origin}/legacy`, modernUrl: `${gateway.origin}/modern` };
}

const storeUnavailable = {
  code: -32603,
  message: 'The store cannot be used at the moment',
  reason: 'store_unavailable',
};

const modernCall = () => modern({ method: 'tools/call', params: { name: 'echo', arguments: { a: 1 } } });

/** Operations by what Redis ran inside of the scripts. A record with an end has two entries in sorted sets. */
async function operations(redis: TestRedis): Promise<Readonly<Record<string, number>>> {
  const stats = await redis.cli('info', 'commandstats');
  const countOf = (name: string) => Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
  return {
    append: countOf('hset') / 2,
    drop: countOf('del'),
    publish: countOf('publish'),
    record: countOf('zadd') / 2,
  };
}

describe('a gateway with a store in Redis', verifies('gateway:store:redis-gateways'), () => {
  it('replays a stream from Redis, and leaves nothing of an ended session there', async () => {
    const redis = await start();
    const held = new Held();
    const { legacyUrl } = await gatewayAt(redis, { 'tools/call': held.take });
    const client = await connectLegacy(legacyUrl);
    const stream = await client.stream(call('c'));
    const turn = await held.nth(1);
    turn.stream().event(log('one')).event(log('two'));
    await stream.message(({ params }) => params?.data === 'two');
    stream.close();
    turn.event(result(turn.message.id, text('done'))).end();
    const rest = await replay(client, stream.events.find(({ data }) => data)?.id);
    expect(messagesOf(rest)).toEqual([log('two'), result('c', text('done'))]);
    expect(await redis.cli('keys', 'bascule:event:*')).not.toBe('');
    await client.end();
    await eventually('its events are gone', async () => (await redis.cli('keys', 'bascule:event:*')) === '');
  });

  it('serves calls and open sessions without Redis, refuses a resumption by name, and heals', async () => {
    const redis = await start();
    const held = new Held();
    const { gateway, legacyUrl, modernUrl } = await gatewayAt(redis, { 'tools/call': held.take });
    const client = await connectLegacy(legacyUrl);
    const before = client.post(call('before'));
    (await held.nth(1)).result(text('before'));
    const { id = '' } = (await before).events[0]!;
    const running = await client.stream(call('running'));
    const turn = await held.nth(2);
    turn.stream().event(log('one'));
    await running.message(({ params }) => params?.data === 'one');
    await redis.kill();
    await eventually('it is noticed', () => gateway.log.some(({ text: line }) => line.includes('the store is away')));
    turn.event(result(turn.message.id, text('done'))).end();
    await running.ended;
    expect(messagesOf(running)).toEqual([log('one'), result('running', text('done'))]);
    expect((await send(modernUrl, modernCall())).status).toBe(200);
    const again = client.post(call('again'));
    (await held.nth(3)).result(text('again'));
    expect(messagesOf(await again)).toEqual([result('again', text('again'))]);
    expectRefused(await refusedResume(client, id), 503, storeUnavailable);
    await redis.start();
    await eventually('it is noticed', () => gateway.log.some(({ text: line }) => line.includes('the store is back')));
    const later = client.post(call('later'));
    (await held.nth(4)).result(text('later'));
    const { events } = await later;
    expect(messagesOf(await replay(client, events[0]?.id))).toEqual([result('later', text('later'))]);
  });

  it('keeps a session from before a restart until Redis is back, and refuses it by name meanwhile', async () => {
    const redis = await start();
    const { legacyUrl, restart } = await gatewayAt(redis, echo);
    const client = await connectLegacy(legacyUrl);
    await redis.kill();
    const { origin } = await restart();
    const next = new LegacyClient(`${origin}/legacy`, client.session, client.revision, client.initialized);
    expectRefused(await next.post(call(1)), 503, { ...storeUnavailable, id: 1 });
    await redis.start();
    await eventually('it is continued', async () => (await next.post(call(2))).status === 200);
  });

  it('serves calls and ends sessions for good while Redis has no memory left', async () => {
    const redis = await start();
    const { gateway, legacyUrl, modernUrl, restart } = await gatewayAt(redis, echo);
    const [client, other] = [await connectLegacy(legacyUrl), await connectLegacy(legacyUrl)];
    await redis.cli('config', 'set', 'maxmemory', '1');
    expect((await send(modernUrl, modernCall())).status).toBe(200);
    expect((await client.post(call(1))).status).toBe(200);
    expect((await client.end()).status).toBe(204);
    expect((await client.post(call(2))).status).toBe(404);
    expect((await other.post(call(3))).status).toBe(200);
    const why = expect.stringContaining('has no memory left: raise its `maxmemory`');
    expect(gateway.log).toContainEqual(expect.objectContaining({ facts: { why } }));
    await redis.cli('config', 'set', 'maxmemory', '0');
    const next = await restart();
    const at = ({ session, revision, initialized }: LegacyClient) =>
      new LegacyClient(`${next.origin}/legacy`, session, revision, initialized);
    expect((await at(client).post(call(4))).status).toBe(404);
    expect((await at(other).post(call(5))).status).toBe(200);
  });

  it('causes as many operations as docs/scaling.md says', async () => {
    const redis = await start();
    const { legacyUrl, modernUrl } = await gatewayAt(redis, {
      'tools/call': (turn) =>
        void turn
          .stream()
          .event(log('a'))
          .event(result(turn.message.id, text('b')))
          .end(),
    });
    const none = await operations(redis);
    for (let n = 0; n < 10; n++) expect((await send(modernUrl, modernCall())).status).toBe(200);
    expect(await operations(redis)).toEqual(none);
    const client = await connectLegacy(legacyUrl);
    const opened = await operations(redis);
    // Two events, and the one that every stream begins with.
    for (let n = 1; n <= 10; n++) await client.post(call(n));
    await eventually('all are stored', async () => (await operations(redis)).append === opened.append! + 30);
    await client.end();
    await eventually('all are dropped', async () => (await operations(redis)).drop! >= opened.drop! + 10);
    expect(none).toMatchObject(opened);
    // That the session has ended.
    expect(await operations(redis)).toMatchObject({ publish: opened.publish! + 1, record: opened.record! + 1 });
  });

  it('shares records with gateways that have the same key, and with no others', async () => {
    const redis = await start();
    const settings = { url: redis.url, prefix: newPrefix() };
    const warnings: string[] = [];
    const recordsWith = async (key: string) => {
      const config = configOf(`backends: {}\nseal: { key: '${key}' }\nstore: { url: ${redis.url} }\n`);
      const store = await openTestStore({ settings, secret: key });
      const warn = (line: string) => warnings.push(line);
      const storage = new Storage(config, { now: Date.now, after: systemClock.after, warn, store });
      onTestFinished(() => storage.close());
      return (await storage.open()).records;
    };
    const [one, other, foreign] = [await recordsWith(KEY), await recordsWith(KEY), await recordsWith(`${KEY}, or not`)];
    await one.put('grants', 'k', 'a token');
    expect(await other.get('grants', 'k')).toBe('a token');
    expect(await foreign.get('grants', 'k')).toBeUndefined();
    expect(warnings).toEqual([expect.stringContaining('cannot be decrypted')]);
    expect(await other.take('grants', 'k')).toBe('a token');
    expect(await one.get('grants', 'k')).toBeUndefined();
  });
});
