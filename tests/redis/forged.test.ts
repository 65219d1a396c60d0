/** What a party can do that may read and write in Redis, and does not have the key. */
import { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { StoreEngine } from '../../src/store/engine.ts';
import { createSeal } from '../../src/store/seal.ts';
import { SealedRecords } from '../../src/store/sealed.ts';
import { verifies } from '../requirements/verifies.ts';
import { eventually, startRedis } from './server.ts';
import { newPrefix, openTestStore } from './store.ts';

const bytes = (text: string) => new TextEncoder().encode(text);

interface World {
  readonly store: StoreEngine;
  readonly other: StoreEngine;
  /** The other party. */
  readonly intruder: Redis;
  /** The only key whose name contains this. */
  keyOf(part: string): Promise<string>;
}

async function start(): Promise<World> {
  const redis = await startRedis();
  const intruder = new Redis(redis.url);
  onTestFinished(async () => {
    intruder.disconnect();
    await redis.close();
  });
  const settings = { url: redis.url, prefix: newPrefix() };
  const [store, other] = [await openTestStore({ settings }), await openTestStore({ settings })];
  const keyOf = async (part: string) => {
    const found = await intruder.keys(`*${part}*`);
    expect(found).toHaveLength(1);
    return found[0]!;
  };
  return { store, other, intruder, keyOf };
}

describe('a party that can write to Redis', verifies('gateway:store:redis-forged'), () => {
  it('can neither read nor forge nor move a record', async () => {
    const { store, intruder, keyOf } = await start();
    const warnings: string[] = [];
    const records = new SealedRecords(store.records, createSeal('secret'), (text) => warnings.push(text));
    await records.put('a', 'mine', 'a refresh token');
    await records.put('a', 'theirs', 'another');
    const [mine, theirs] = [await keyOf('record:mine'), await keyOf('record:theirs')];
    const kept = (await intruder.get(mine)) ?? '';
    expect(kept).not.toContain('refresh');
    await intruder.set(theirs, kept);
    expect(await records.get('a', 'theirs')).toBeUndefined();
    await intruder.set(theirs, '0\nforged');
    expect(await records.take('a', 'theirs')).toBeUndefined();
    await intruder.del(theirs);
    await intruder.lpush(theirs, 'of another type');
    expect(await records.get('a', 'theirs')).toBeUndefined();
    expect(await records.replace('a', 'theirs', undefined, 'ours again')).toBe(true);
    expect(await records.get('a', 'theirs')).toBe('ours again');
    expect(warnings).toHaveLength(1);
  });

  it('can neither read nor forge nor move an event: the stream is not replayed', async () => {
    const { store, intruder } = await start();
    await store.events.append('session/one', { sequence: 1, data: bytes('one') });
    const [one = ''] = await intruder.keys('*event:*');
    expect(one).not.toContain('session');
    const sealed = (await intruder.hget(one, '1')) ?? '';
    expect(Buffer.from(sealed, 'base64url').toString('latin1')).not.toContain('one');
    await store.events.append('session/two', { sequence: 1, data: bytes('two') });
    const two = (await intruder.keys('*event:*')).find((key) => key !== one)!;
    const forgeries = [
      { at: two, fields: { 1: sealed } },
      { at: one, fields: { 2: sealed, n: '2' } },
      { at: one, fields: { 1: 'forged', n: '1' } },
    ];
    for (const { at, fields } of forgeries) {
      await intruder.hset(at, fields);
      const stream = at === one ? 'session/one' : 'session/two';
      expect(await store.events.after(stream, 0)).toBeUndefined();
    }
  });

  it('can send no message, and none again', async () => {
    const { store, other, intruder } = await start();
    const heard: string[] = [];
    other.bus.subscribe('t', (message) => heard.push(message));
    const channels = () => intruder.pubsub('CHANNELS') as Promise<string[]>;
    await eventually('both listen', async () => {
      const counts = (await intruder.pubsub('NUMSUB', ...(await channels()))) as (string | number)[];
      return Number(counts[1]) === 2;
    });
    const [channel = ''] = await channels();
    const listening = intruder.duplicate();
    onTestFinished(() => listening.disconnect());
    await listening.subscribe(channel);
    const caught: string[] = [];
    listening.on('message', (_channel: string, message: string) => caught.push(message));
    await store.bus.publish('t', 'real');
    await eventually('it was caught', () => caught.length === 1);
    expect(Buffer.from(caught[0]!, 'base64url').toString('latin1')).not.toContain('real');
    await intruder.publish(channel, JSON.stringify({ sender: 'x', number: 1, topic: 't', message: 'forged' }));
    await intruder.publish(channel, caught[0]!);
    await store.bus.publish('t', 'last');
    await eventually('the last one is heard', () => heard.includes('last'));
    expect(heard).toEqual(['real', 'last']);
  });

  it('can hold no lease', async () => {
    const { store, other, intruder, keyOf } = await start();
    const held = await store.lease.take('refresh', 60_000);
    const key = await keyOf('lease:');
    await held?.release();
    await intruder.set(key, 'forged');
    const taken = await Promise.all([store.lease.take('refresh', 60_000), other.lease.take('refresh', 60_000)]);
    expect(taken.filter((lease) => lease !== undefined)).toHaveLength(1);
    // A lease of another name is no lease here.
    const elsewhere = (await intruder.get(key)) ?? '';
    await store.lease.take('another', 60_000);
    const another = (await intruder.keys('*lease:*')).find((name) => name !== key)!;
    await intruder.set(another, elsewhere);
    expect(await other.lease.take('another', 60_000)).toBeDefined();
  });

  it('cannot choose the epoch', async () => {
    const { store, other, intruder, keyOf } = await start();
    await eventually('there is an epoch', () => store.epoch !== undefined && store.epoch === other.epoch);
    await intruder.set(await keyOf('epoch'), 'forged');
    const settings = { url: `redis://127.0.0.1:${intruder.options.port}`, prefix: (await keyOf('epoch')).slice(0, -5) };
    const later = await openTestStore({ settings });
    await eventually('there is an epoch', () => later.epoch !== undefined);
    expect(later.epoch).not.toBe('forged');
    expect(later.epoch).not.toBe(store.epoch);
  });
});
