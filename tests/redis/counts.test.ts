/** Gateways that share a store count together: three processes of the program, and one Redis. */
import { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { lotOf } from '../../src/policy/lots.ts';
import { echo } from '../interaction/harness/behind.ts';
import { send } from '../interaction/harness/client.ts';
import { modern } from '../interaction/harness/eras.ts';
import { startGateway } from '../interaction/harness/gateway.ts';
import { legacyBackend, modernBackend } from '../interaction/harness/http-backend.ts';
import { aCall, openSessions, spend, userFile, wrongPasswords } from '../interaction/harness/limits.ts';
import { configFile, serve } from '../interaction/harness/program.ts';
import { verifies } from '../requirements/verifies.ts';
import { startProxy } from './proxy.ts';
import { eventually, startRedis, type TestRedis } from './server.ts';
import { newPrefix, openTestStore } from './store.ts';

const REPLICAS = 3;
const shared = (url: string) => ({ seal: { key: 'a key that all gateways of the tests have' }, store: { url } });
const calls = (perSecond: number, burst: number) => [{ id: 'calls', what: ['call'], perSecond, burst }];

async function start(): Promise<TestRedis> {
  const redis = await startRedis();
  onTestFinished(() => redis.close());
  return redis;
}

async function replicas(redis: TestRedis, config: object): Promise<readonly { url: string; origin: string }[]> {
  const backend = await modernBackend(echo);
  const file = configFile({ backends: { b: { url: backend.url } }, ...shared(redis.url), ...config });
  const served = await Promise.all(Array.from({ length: REPLICAS }, () => serve([], file)));
  return served.map((one) => ({ url: one.url(), origin: one.origin }));
}

describe('three gateways with one store', verifies('gateway:counts:replicas', 'gateway:counts:lots'), () => {
  it('allow a low rate exactly', async () => {
    const all = await replicas(await start(), { rates: calls(0.001, 20) });
    expect(
      (
        await spend(
          all.map(({ url }) => url),
          60,
        )
      ).admitted,
    ).toBe(20);
  });

  it('keep a high rate within one lot for each of them', async () => {
    const [perSecond, capacity] = [50, 60];
    const all = await replicas(await start(), { rates: calls(perSecond, capacity) });
    const { admitted, seconds } = await spend(
      all.map(({ url }) => url),
      300,
    );
    expect(admitted).toBeGreaterThanOrEqual(capacity);
    expect(admitted).toBeLessThanOrEqual(capacity + perSecond * seconds + REPLICAS * lotOf({ perSecond, capacity }));
  });

  it('open as many sessions for a principal as one does', async () => {
    const backend = await legacyBackend(echo);
    const limits = { sessionsPerPrincipal: 7 };
    const all = await replicas(await start(), { backends: { b: { url: backend.url } }, limits });
    expect(
      await openSessions(
        all.map(({ url }) => url),
        12,
      ),
    ).toBe(7);
  });

  it('allow as many wrong passwords as one does', async () => {
    const redis = await start();
    const all = await replicas(redis, { identity: { authServer: { users: await userFile() } } });
    const statuses = await wrongPasswords(
      all.map(({ origin }) => origin),
      8,
    );
    expect(statuses).toEqual([400, 400, 400, 400, 400, 429, 429, 429]);
    const found = await redis.cli('keys', 'bascule:{attempts}:*');
    expect(found.split('\n')).toHaveLength(3);
    expect(found).not.toMatch(/ada|127/);
  });
});

async function gatewayAt(url: string, config: object = {}) {
  const [current, legacy] = [await modernBackend(echo), await legacyBackend(echo)];
  const gateway = await startGateway({
    backends: { current: { url: current.url }, legacy: { url: legacy.url } },
    endpoints: [
      { path: '/modern', backends: ['current'] },
      { path: '/legacy', backends: ['legacy'] },
    ],
    ...shared(url),
    ...config,
  });
  return { gateway, url: `${gateway.origin}/modern`, legacyUrl: `${gateway.origin}/legacy` };
}

describe('a gateway', () => {
  it(
    'counts by itself while Redis is away, says so once, and counts with the others again',
    verifies('gateway:counts:fallback'),
    async () => {
      const redis = await start();
      const { gateway, url } = await gatewayAt(redis.url, { rates: calls(0.001, 5) });
      const other = await gatewayAt(redis.url, { rates: calls(0.001, 5) });
      expect((await spend([url], 3)).admitted).toBe(3);
      await redis.kill();
      const said = (what: string) => gateway.log.filter(({ text }) => text.includes(what)).length;
      await eventually('it is noticed', () => said('the store is away') === 1);
      // A bucket of its own, which is full.
      expect((await spend([url], 10)).admitted).toBe(5);
      expect(said('counted by this process alone')).toBe(1);
      await redis.start();
      await eventually('it is noticed', () => said('the store is back') === 1);
      await eventually('it counts with the others', async () => {
        await send(url, aCall());
        return said('over all processes again') === 1;
      });
      // Of five, three were used before, and one or two since.
      expect((await spend([url, other.url], 10)).admitted).toBeLessThanOrEqual(1);
      expect(said('counted by this process alone')).toBe(1);
    },
  );

  it('does not wait for a Redis that is slow', verifies('gateway:counts:fallback'), async () => {
    const redis = await start();
    const proxy = await startProxy(redis.port);
    const { url, gateway } = await gatewayAt(proxy.url, { rates: calls(0.001, 5), limits: { storeCommandMs: 60_000 } });
    expect((await spend([url], 1)).admitted).toBe(1);
    proxy.stall();
    expect((await spend([url], 10)).admitted).toBe(5);
    expect(gateway.log.some(({ text }) => text.includes('counted by this process alone'))).toBe(true);
    proxy.resume();
  });

  it('causes as many operations as docs/scaling.md says', verifies('gateway:counts:replicas'), async () => {
    const redis = await start();
    const rates = [{ id: 'x', what: ['call'], on: { tools: ['echo'] }, perSecond: 0.1, burst: 100 }];
    const fast = [{ id: 'x', what: ['call'], on: { tools: ['echo'] }, perSecond: 100, burst: 100 }];
    const [slow, quick] = [await gatewayAt(redis.url, { rates }), await gatewayAt(redis.url, { rates: fast })];
    const takes = async () => {
      const stats = await redis.cli('info', 'commandstats');
      return Number(/cmdstat_time:calls=(\d+)/.exec(stats)?.[1] ?? 0);
    };
    // Each script of rates and slots reads the time once.
    const none = await takes();
    expect(await openSessions([slow.legacyUrl], 20)).toBe(20);
    const uncounted = { name: 'other', arguments: {} };
    for (let times = 0; times < 10; times++) {
      await send(slow.url, modern({ method: 'tools/call', params: uncounted }));
    }
    expect(await takes()).toBe(none);
    for (let times = 0; times < 10; times++) expect((await send(slow.url, aCall())).status).toBe(200);
    expect(await takes()).toBe(none + 10);
    for (let times = 0; times < 20; times++) expect((await send(quick.url, aCall())).status).toBe(200);
    expect(await takes()).toBeLessThanOrEqual(none + 10 + 3);
  });
});

describe('counts in Redis', verifies('gateway:store:redis-forged'), () => {
  it('that others have written loosen or tighten a limit, and do no other harm', async () => {
    const redis = await start();
    const intruder = new Redis(redis.url);
    onTestFinished(() => intruder.disconnect());
    const { counts } = await openTestStore({ settings: { url: redis.url, prefix: newPrefix() } });
    const bucket = { perSecond: 1, capacity: 5 };
    const slots = { limit: 5, used: 0, wanted: 5, ttlMs: 60_000 };
    const counter = { kind: 'k', name: 'ada', most: 5, withinMs: 60_000, names: 10 };
    const use = async () => [
      await counts.take('a', bucket, 9),
      await counts.hold('a', slots),
      await counts.attempt([counter]),
    ];
    await use();
    const keys = await intruder.keys('*:{attempts}:*');
    keys.push(...(await intruder.keys('*:rate:*')), ...(await intruder.keys('*:slots:*')));
    expect(keys).toHaveLength(3);
    for (const key of keys) expect(await intruder.pttl(key)).toBeGreaterThan(0);
    for (const value of ['', 'nan 1', '1e999 1', '-5.0 99999999999999999999', '999999999.000000 1', '\u0000', '{}']) {
      for (const key of keys) await intruder.set(key, value);
      const [taken, held, wait] = (await use()) as [{ tokens: number }, number, number];
      expect(taken.tokens).toBeLessThanOrEqual(5);
      expect([held, wait]).toEqual([5, 0]);
    }
    for (const key of keys) await intruder.del(key);
    for (const key of keys) await intruder.lpush(key, 'of another type');
    expect(await use()).toEqual([{ tokens: 5, waitMs: expect.any(Number) }, 5, 0]);
  });
});
