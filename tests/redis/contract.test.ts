/** The contracts of all stores, at one server and at a cluster. */
import { afterAll, beforeAll, describe } from 'vitest';
import { createSeal } from '../../src/store/seal.ts';
import { SealedRecords, sealedValueBytes } from '../../src/store/sealed.ts';
import { busContract, eventLogContract, leaseContract } from '../store/contract.ts';
import { countsContract } from '../store/counts-contract.ts';
import { recordsContract } from '../store/records-contract.ts';
import { eventually, startCluster, startRedis, type TestRedis } from './server.ts';
import { newPrefix, openTestStore, usualLimits } from './store.ts';

const kinds = [
  { name: 'Redis', start: async () => [await startRedis()], isCluster: false },
  { name: 'a Redis cluster', start: startCluster, isCluster: true },
];

for (const { name, start, isCluster } of kinds) {
  describe(name, () => {
    let nodes: readonly TestRedis[] = [];
    beforeAll(async () => {
      nodes = await start();
    });
    afterAll(async () => {
      await Promise.all(nodes.map((node) => node.close()));
    });
    const settings = () => ({ url: nodes[0]!.url, ...(isCluster && { cluster: [nodes[1]!.url] }) });
    const seconds = async () => {
      const [whole, fraction] = (await nodes[0]!.cli('time')).split('\n').map(Number);
      return whole! * 1000 + fraction! / 1000;
    };

    recordsContract(name, async (now) => (await openTestStore({ settings: settings(), now })).records);
    recordsContract(
      `${name}, sealed`,
      async (now) => {
        const { records } = await openTestStore({ settings: settings(), now });
        return new SealedRecords(records, createSeal('secret'), (text) => {
          throw new Error(text);
        });
      },
      sealedValueBytes,
    );
    eventLogContract(name, async ({ events, bytes }) => {
      const limits = { ...usualLimits, eventsPerStream: events, eventBytesPerStream: bytes };
      return (await openTestStore({ settings: settings(), limits })).events;
    });
    const passedAtRedis = async (ms: number) => {
      const begun = await seconds();
      await eventually('the time has passed at Redis', async () => (await seconds()) > begun + ms);
    };
    countsContract(
      name,
      async () => {
        const prefix = newPrefix();
        return async () => (await openTestStore({ settings: { ...settings(), prefix } })).counts;
      },
      passedAtRedis,
    );
    busContract(name, async () => (await openTestStore({ settings: settings() })).bus);
    leaseContract(name, async () => (await openTestStore({ settings: settings() })).lease, passedAtRedis);
  });
}
