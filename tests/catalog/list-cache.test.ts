import { expect, it } from 'vitest';
import { type KeptList, ListCache, type ListKey, type ReadResult } from '../../src/catalog/list-cache.ts';

const key: ListKey = { backend: 'b', method: 'tools/list', owner: 'ada', extensions: '' };
const grace: ListKey = { ...key, owner: 'grace' };

function entry(name: string) {
  const bytes = Buffer.from(JSON.stringify({ name }));
  return { bytes, key: name, span: { start: 8, end: bytes.length - 1 } };
}

const read = (name: string, more: Partial<ReadResult> = {}): ReadResult => ({
  entries: [entry(name)],
  goodMs: 1000,
  ttlMs: 1000,
  scope: 'private',
  ...more,
});

/** A shelf, its time, and readings that end when the test says so. */
function setting(listCacheBytes = 1_000_000) {
  let now = 0;
  const shelf = new ListCache({ listCacheBytes }, () => now);
  let readings = 0;
  const reading = () => {
    let finish: (given: ReadResult) => void = () => undefined;
    let fail: (error: Error) => void = () => undefined;
    const promise = new Promise<ReadResult>((resolve, reject) => {
      finish = resolve;
      fail = reject;
    });
    return {
      finish,
      fail,
      begin: () => {
        readings += 1;
        return promise;
      },
    };
  };
  return {
    shelf,
    reading,
    readings: () => readings,
    pass: (ms: number) => {
      now += ms;
    },
    put: (at: ListKey, given: ReadResult) => shelf.take(at, async () => given),
  };
}

const nameIn = (list: KeptList | undefined) => list?.entries[0]?.key;

it('a list is fresh until its lifetime ends, and stays cached as stale', async () => {
  const { shelf, put, pass } = setting();
  await put(key, read('a'));
  pass(999);
  expect(nameIn(shelf.fresh(key))).toBe('a');
  pass(1);
  expect(shelf.fresh(key)).toBeUndefined();
  expect(nameIn(shelf.last(key))).toBe('a');
});

it('a private list is served to its owner alone, a public one to everyone', async () => {
  const { shelf, put } = setting();
  await put(key, read('a'));
  expect(shelf.fresh(grace)).toBeUndefined();
  await put(grace, read('b', { scope: 'public' }));
  expect(nameIn(shelf.fresh(grace))).toBe('b');
  expect(nameIn(shelf.fresh({ ...key, owner: 'alan' }))).toBe('b');
});

it('lists that were read with different extensions are kept apart, and change together', async () => {
  for (const scope of ['public', 'private'] as const) {
    const { shelf, put } = setting();
    const rich = { ...key, extensions: '{"x/y":{}}' };
    await put(key, read('a', { scope }));
    expect(shelf.fresh(rich)).toBeUndefined();
    await put(rich, read('b', { scope }));
    expect([nameIn(shelf.fresh(key)), nameIn(shelf.fresh(rich))]).toEqual(['a', 'b']);
    shelf.changed(key.backend, [key.method], key.owner);
    expect([shelf.fresh(key), shelf.fresh(rich)]).toEqual([undefined, undefined]);
  }
});

it('a list that became private is no longer served to others', async () => {
  const { shelf, put, pass } = setting();
  await put(key, read('a', { scope: 'public' }));
  pass(1000);
  await put(key, read('b'));
  expect(nameIn(shelf.fresh(key))).toBe('b');
  expect(shelf.last(grace)).toBeUndefined();
});

it('a reader that wants a list while it is being read waits for that read', async () => {
  const { shelf, reading, readings } = setting();
  const { begin, finish } = reading();
  const all = Promise.all(Array.from({ length: 5 }, () => shelf.take(key, begin)));
  finish(read('a'));
  expect(new Set((await all).map(({ version }) => version)).size).toBe(1);
  expect(readings()).toBe(1);
});

it('a read that fails is not cached', async () => {
  const { shelf, reading, put } = setting();
  const { begin, fail } = reading();
  const failing = shelf.take(key, begin);
  fail(new Error('no'));
  await expect(failing).rejects.toThrow('no');
  expect(shelf.readingSince(key)).toBeUndefined();
  expect(nameIn(await put(key, read('a')))).toBe('a');
});

it('it is known since when a list is being read', async () => {
  const { shelf, reading, pass } = setting();
  pass(5);
  const { begin, finish } = reading();
  const taking = shelf.take(key, begin);
  pass(5);
  expect(shelf.readingSince(key)).toBe(5);
  expect(shelf.readingSince(grace)).toBeUndefined();
  finish(read('a'));
  await taking;
  expect(shelf.readingSince(key)).toBeUndefined();
});

it('a change invalidates the cache: for one owner, with what is public, or for all', async () => {
  const cases = [
    { scope: 'private', owner: 'ada', good: false },
    { scope: 'private', owner: 'grace', good: true },
    { scope: 'private', owner: undefined, good: false },
    { scope: 'public', owner: 'grace', good: false },
  ] as const;
  for (const { scope, owner, good } of cases) {
    const { shelf, put } = setting();
    await put(key, read('a', { scope }));
    shelf.changed('b', ['prompts/list'], owner);
    shelf.changed('b2', ['tools/list'], owner);
    expect(nameIn(shelf.fresh(key))).toBe('a');
    shelf.changed(key.backend, [key.method], owner);
    expect({ scope, owner, good: shelf.fresh(key) !== undefined }).toEqual({ scope, owner, good });
  }
});

it('a change that arrives while a list is being read makes the next request read it again', async () => {
  const { shelf, reading } = setting();
  const old = reading();
  const first = shelf.take(key, old.begin);
  shelf.changed(key.backend, [key.method]);
  const fresh = reading();
  const second = shelf.take(key, fresh.begin);
  expect(shelf.readingSince(key)).toBe(0);
  fresh.finish(read('new'));
  expect(nameIn(await second)).toBe('new');
  old.finish(read('old'));
  expect(nameIn(await first)).toBe('old');
  // What was read before the change is not taken for good, whenever it comes.
  expect(nameIn(shelf.fresh(key))).not.toBe('old');
});

it('the least recently used list is evicted first', async () => {
  const { shelf, put } = setting(900);
  const at = (owner: string) => ({ ...key, owner });
  await put(at('1'), read('a'));
  await put(at('2'), read('b'));
  expect(nameIn(shelf.fresh(at('1')))).toBe('a');
  await put(at('3'), read('c'));
  expect(['1', '2', '3'].map((owner) => nameIn(shelf.last(at(owner))))).toEqual(['a', undefined, 'c']);
});

it('a list that is larger than the cache is served, and cached alone', async () => {
  const { shelf, put } = setting(10);
  expect(nameIn(await put(key, read('a')))).toBe('a');
  await put(grace, read('b'));
  expect([nameIn(shelf.last(key)), nameIn(shelf.last(grace))]).toEqual([undefined, 'b']);
});
