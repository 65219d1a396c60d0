/** Sessions that have ended stay ended, whatever a party that can write to Redis does to their records. */
import { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { act, ask } from '../interaction/console/setup.ts';
import { request } from '../interaction/harness/behind.ts';
import { connectLegacy, LegacyClient } from '../interaction/harness/eras.ts';
import { startGateway, type TestGateway } from '../interaction/harness/gateway.ts';
import { legacyBackend } from '../interaction/harness/http-backend.ts';
import { accepting, expectGone } from '../interaction/harness/restarted.ts';
import { verifies } from '../requirements/verifies.ts';
import { eventually, startRedis } from './server.ts';

interface Replicas {
  /** One more gateway with the same store and the same keys. */
  start(): Promise<TestGateway>;
  /** The other party. */
  readonly intruder: Redis;
  /** The records of sessions in Redis. */
  snapshot(): Promise<ReadonlyMap<string, Buffer>>;
  /** Deletes all others. */
  putBack(snapshot: ReadonlyMap<string, Buffer>): Promise<void>;
}

async function replicas(): Promise<Replicas> {
  const redis = await startRedis();
  const intruder = new Redis(redis.url);
  onTestFinished(async () => {
    intruder.disconnect();
    await redis.close();
  });
  const backend = await legacyBackend(accepting);
  const config = {
    name: 'the same at all',
    backends: { b: { url: backend.url } },
    seal: { key: 'a key that all gateways of the tests have' },
    store: { url: redis.url },
    console: {},
  };
  // Without the record that has to be there: where it is missing, nothing is continued.
  const ofSessions = async () => (await intruder.keys('*{of:session*')).filter((key) => !key.endsWith(':everyone'));
  return {
    intruder,
    start: () => startGateway(config, { control: true }),
    snapshot: async () => {
      const dumps = (await ofSessions()).map(async (key) => [key, await intruder.dumpBuffer(key)] as const);
      return new Map(await Promise.all(dumps));
    },
    putBack: async (snapshot) => {
      for (const key of await ofSessions()) await intruder.del(key);
      for (const [key, dump] of snapshot) await intruder.restore(key, 0, dump);
    },
  };
}

const at = (gateway: TestGateway, { session, revision, initialized }: LegacyClient) =>
  new LegacyClient(gateway.url(), session, revision, initialized);

const ping = async (client: LegacyClient) => (await client.post(request(1, 'ping'))).status;

/** A message that one gateway sends reaches the other. */
async function areConnected(one: TestGateway, other: TestGateway): Promise<void> {
  await eventually('they hear each other', async () => {
    const client = await connectLegacy(one.url());
    expect(await ping(at(other, client))).toBe(200);
    await client.end();
    return (await ping(at(other, client))) === 404;
  });
}

const deleted = new Map<string, Buffer>();

/** What was not ended is continued: the others are not refused for another reason. */
async function continues(open: LegacyClient, gateways: readonly TestGateway[]): Promise<void> {
  for (const gateway of gateways) expect(await ping(at(gateway, open))).toBe(200);
}

describe('an ended session stays ended at all replicas', verifies('gateway:legacy:ended-at-replicas'), () => {
  it('when its record is deleted, at replicas that started later too', async () => {
    const { start, putBack } = await replicas();
    const [one, other] = [await start(), await start()];
    await areConnected(one, other);
    const [client, open] = [await connectLegacy(one.url()), await connectLegacy(one.url())];
    await client.end();
    const late = await start();
    await putBack(deleted);
    for (const gateway of [one, other, late]) await expectGone(at(gateway, client));
    await continues(open, [one, other, late]);
  });

  it('when its older record is put back', async () => {
    const { start, snapshot, putBack } = await replicas();
    const [one, other] = [await start(), await start()];
    await areConnected(one, other);
    const [client, open] = [await connectLegacy(one.url()), await connectLegacy(one.url())];
    await client.post(request(1, 'logging/setLevel', { level: 'error' }));
    const isStored = async () => [...(await snapshot()).keys()].some((key) => key.includes('of:session}record'));
    await eventually('its state is stored', isStored);
    const before = await snapshot();
    await client.end();
    await eventually('its state is gone', async () => !(await isStored()));
    await putBack(before);
    for (const gateway of [one, other]) await expectGone(at(gateway, client));
    await continues(open, [one, other]);
  });

  it('when an operator ended all of its principal, and the record of that is deleted or an older one', async () => {
    const { start, snapshot, putBack } = await replicas();
    const [one, other] = [await start(), await start()];
    await areConnected(one, other);
    const { people } = await ask(one, '/people');
    const revoke = () => act(one, '/sessions/revoke', { person: people[0].id });
    await revoke();
    const before = await snapshot();
    const [client, held] = [await connectLegacy(one.url()), await connectLegacy(other.url())];
    await revoke();
    await eventually('the sessions at the other replica have ended', async () => (await ping(held)) === 404);
    const open = await connectLegacy(one.url());
    for (const records of [before, deleted]) {
      await putBack(records);
      for (const gateway of [one, other]) for (const ended of [client, held]) await expectGone(at(gateway, ended));
      await continues(open, [one, other]);
    }
  });

  it('when another replica than its own was told, which has it open no longer', async () => {
    const { start } = await replicas();
    const [one, other] = [await start(), await start()];
    await areConnected(one, other);
    const client = await connectLegacy(one.url());
    expect((await at(other, client).end()).status).toBe(204);
    await eventually('it has ended at its own replica', async () => (await ping(client)) === 404);
  });

  it('when a replica that still has it open stores its state', async () => {
    const { start } = await replicas();
    const [one, other] = [await start(), await start()];
    const client = await connectLegacy(one.url());
    await client.post(request(1, 'logging/setLevel', { level: 'error' }));
    expect((await at(other, client).end()).status).toBe(204);
    await one.close();
    await expectGone(at(other, client));
    await expectGone(at(await start(), client));
  });

  it('when Redis has lost all data, and all replicas are restarted', async () => {
    const { start, intruder } = await replicas();
    const one = await start();
    const client = await connectLegacy(one.url());
    await client.end();
    await intruder.flushall();
    await one.close();
    const next = await start();
    await expectGone(at(next, client));
    const fresh = await connectLegacy(next.url());
    await next.close();
    expect(await ping(at(await start(), fresh))).toBe(200);
  });
});
