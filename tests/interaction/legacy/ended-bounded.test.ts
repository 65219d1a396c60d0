/** Who opens and ends sessions in a loop: the store keeps its room, and only their own sessions are affected. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { request } from '../harness/behind.ts';
import { type Headers, until } from '../harness/client.ts';
import { bearer, keyRing } from '../harness/credentials.ts';
import type { LegacyClient } from '../harness/eras.ts';
import { legacyBackend } from '../harness/http-backend.ts';
import { FullRecords, HeldRecords } from '../harness/kept-records.ts';
import { accepting, expectGone, restarted } from '../harness/restarted.ts';

async function setting(limits: object, records: HeldRecords | FullRecords = new HeldRecords(Date.now)) {
  const ring = keyRing();
  const [ada, bob] = [bearer(ring.make('ada')), bearer(ring.make('bob'))];
  const backend = await legacyBackend(accepting);
  const config = { backends: { b: { url: backend.url } }, identity: { keys: { file: ring.path } }, limits };
  // Each session is issued later than the one before.
  let now = Date.now();
  const gateways = await restarted(config, { records, timeOfDay: () => now++ });
  const open = (by: Headers) => gateways.connect({}, by);
  const endMany = async (by: Headers, many: number) => {
    const ended: LegacyClient[] = [];
    for (let n = 0; n < many; n++) {
      const client = await open(by);
      ended.push(client);
      await client.end();
    }
    return ended;
  };
  const stored = async () => (await records.keys('session-ended', '', 1000)).length;
  const goesOn = async (client: LegacyClient) =>
    expect((await gateways.again(client).post(request(1, 'ping'))).status).toBe(200);
  return { gateways, records, ada, bob, open, endMany, stored, goesOn };
}

describe('a principal who ends more sessions than are stored', verifies('gateway:legacy:ended-bounded'), () => {
  it.each([
    { name: 'for one', limits: { endedSessionsPerPrincipal: 8 } },
    { name: 'for all', limits: { endedSessions: 10 } },
  ])('loses older sessions of their own at a restart: the limit $name', async ({ limits }) => {
    const { gateways, records, ada, bob, open, endMany, goesOn } = await setting(limits);
    const [adas, bobs] = [await open(ada), await open(bob)];
    const endedByBob = await endMany(bob, 2);
    const endedByAda = await endMany(ada, 40);
    await until(() => records.size <= 12, 'records are removed');
    const last = await open(ada);
    await goesOn(adas);
    await gateways.start();
    for (const ended of [...endedByAda, ...endedByBob, adas]) await expectGone(gateways.again(ended));
    await goesOn(bobs);
    await goesOn(last);
  });

  it('is counted on after a restart', async () => {
    const { gateways, records, ada, endMany } = await setting({ endedSessionsPerPrincipal: 8 });
    const ended = [];
    for (let n = 0; n < 5; n++) {
      ended.push(...(await endMany(ada, 3)));
      await gateways.start();
    }
    await until(() => records.size <= 10, 'records are removed');
    for (const client of ended) await expectGone(gateways.again(client));
  });

  it('loses them where nothing can be stored, and it is stored later', async () => {
    const records = new FullRecords(Date.now);
    const { gateways, ada, open, endMany, stored } = await setting({ endedSessionsPerPrincipal: 8 }, records);
    const first = await open(ada);
    const ended = await endMany(ada, 20);
    records.isFull = false;
    await gateways.start();
    expect(await stored()).toBeLessThanOrEqual(8);
    for (const client of [first, ...ended]) await expectGone(gateways.again(client));
  });
});
