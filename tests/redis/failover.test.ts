/** A replica is promoted, and the address leads to it: the gateway goes on with what was replicated. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../requirements/verifies.ts';
import { type StallingProxy, startProxy } from './proxy.ts';
import { eventually, startRedis, type TestRedis } from './server.ts';
import { newPrefix, openTestStore } from './store.ts';

const bytes = (text: string) => new TextEncoder().encode(text);

async function start(): Promise<TestRedis> {
  const redis = await startRedis();
  onTestFinished(() => redis.close());
  return redis;
}

interface Failover {
  readonly name: string;
  happen(old: TestRedis, promoted: TestRedis, address: StallingProxy): Promise<void>;
}

const failovers: readonly Failover[] = [
  {
    name: 'the old primary is gone',
    happen: async (old, promoted, address) => {
      await old.kill();
      await promoted.cli('replicaof', 'no', 'one');
      address.leadTo(promoted.port, { cuts: true });
    },
  },
  {
    name: 'the old primary still answers, as a read-only replica, on connections that stay open',
    happen: async (old, promoted, address) => {
      await promoted.cli('replicaof', 'no', 'one');
      address.leadTo(promoted.port, { cuts: false });
      await old.cli('replicaof', '127.0.0.1', String(promoted.port));
    },
  },
];

describe('after a failover', verifies('gateway:store:redis-failover'), () => {
  for (const { name, happen } of failovers) {
    it(`records, leases, events and messages go on where ${name}`, async () => {
      const [old, promoted] = [await start(), await start()];
      await promoted.cli('replicaof', '127.0.0.1', String(old.port));
      const address = await startProxy(old.port);
      const settings = { url: address.url, prefix: newPrefix() };
      const [store, other] = [await openTestStore({ settings }), await openTestStore({ settings })];
      await eventually('there is an epoch', () => store.epoch !== undefined);
      const { epoch } = store;
      await store.records.put('a', 'before', 'v');
      await store.lease.take('l', 3_600_000);
      await store.events.append('s', { sequence: 1, data: bytes('e1') });
      await eventually('all is replicated', async () => (await old.cli('wait', '1', '1000')) === '1');
      await happen(old, promoted, address);
      const isWritten = () =>
        store.records.put('a', 'after', 'v').then(
          () => true,
          () => false,
        );
      await eventually('writes work', async () => (await isWritten()) && promotedHas(promoted, settings.prefix));
      await eventually('the other process reads them', async () => {
        return (await other.records.get('a', 'after').catch(() => undefined)) === 'v';
      });
      expect(await other.records.get('a', 'before')).toBe('v');
      expect(await other.lease.take('l', 1000)).toBeUndefined();
      expect(await other.events.after('s', 0)).toHaveLength(1);
      expect(store.epoch).toBe(epoch);
      const heard: string[] = [];
      other.bus.subscribe('t', (message) => heard.push(message));
      await eventually('messages are heard', async () => {
        await store.bus.publish('t', 'm');
        return heard.length > 0;
      });
    });
  }
});

async function promotedHas(promoted: TestRedis, prefix: string): Promise<boolean> {
  return (await promoted.cli('keys', `${prefix}*record:after`)) !== '';
}
