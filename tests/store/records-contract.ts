/** What every implementation of `Records` has to pass. */
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { StoreError } from '../../src/store/errors.ts';
import { recordLimits } from '../../src/store/limits.ts';
import type { Records } from '../../src/store/ports.ts';
import { verifies } from '../requirements/verifies.ts';

export function recordsContract(
  name: string,
  create: (now: () => number) => Promise<Records>,
  mostValueBytes: number = recordLimits.valueBytes,
): void {
  describe(`${name}: records`, verifies('gateway:store:contract', 'gateway:store:records'), () => {
    const open: Records[] = [];
    afterEach(async () => {
      for (const records of open.splice(0)) await records.close();
    });
    const start = async (now: () => number = () => 0) => {
      const records = await create(now);
      open.push(records);
      return records;
    };

    it('returns the last value, by collection and key', async () => {
      const records = await start();
      await records.put('a', 'k', 'one');
      await records.put('a', 'k', 'two');
      await records.put('b', 'k', 'other');
      expect(await records.get('a', 'k')).toBe('two');
      expect(await records.get('b', 'k')).toBe('other');
      expect(await records.get('a', 'none')).toBeUndefined();
    });

    it('distinguishes the empty text from no value', async () => {
      const records = await start();
      await records.put('a', '', '');
      expect(await records.get('a', '')).toBe('');
      expect(await records.replace('a', '', undefined, 'x')).toBe(false);
      expect(await records.keys('a', '', 9)).toEqual(['']);
    });

    it('gives back any text under any key', async () => {
      const records = await start();
      const text = fc.string({ unit: 'binary', maxLength: 200 });
      await fc.assert(
        fc.asyncProperty(text, text, async (key, value) => {
          await records.put('any', key, value);
          expect(await records.get('any', key)).toBe(value);
          expect(await records.keys('any', key, 1)).toEqual([key]);
          expect(await records.take('any', key)).toBe(value);
        }),
        { numRuns: 60 },
      );
    });

    it('has a record until its end and not from then on', async () => {
      let now = 1000;
      const records = await start(() => now);
      await records.put('a', 'k', 'v', 2000);
      now = 1999;
      expect(await records.get('a', 'k')).toBe('v');
      now = 2000;
      expect(await records.get('a', 'k')).toBeUndefined();
      expect(await records.keys('a', '', 9)).toEqual([]);
      expect(await records.take('a', 'k')).toBeUndefined();
      expect(await records.replace('a', 'k', undefined, 'next')).toBe(true);
      expect(await records.get('a', 'k')).toBe('next');
    });

    it('takes the expiry from the last write, also if it has none', async () => {
      let now = 0;
      const records = await start(() => now);
      await records.put('a', 'k', 'v', 10);
      await records.put('a', 'k', 'v');
      await records.put('a', 'l', 'v', 10);
      await records.replace('a', 'l', 'v', 'w', 30);
      now = 20;
      expect(await records.get('a', 'k')).toBe('v');
      expect(await records.get('a', 'l')).toBe('w');
      now = 30;
      expect(await records.get('a', 'l')).toBeUndefined();
    });

    const replacements = [
      { name: 'where it has the seen value', held: 'v', seen: 'v', value: 'w', expect: { done: true, after: 'w' } },
      { name: 'not where it has another', held: 'v', seen: 'x', value: 'w', expect: { done: false, after: 'v' } },
      {
        name: 'not where it has none',
        held: undefined,
        seen: 'v',
        value: 'w',
        expect: { done: false, after: undefined },
      },
      { name: 'where none was seen', held: undefined, seen: undefined, value: 'w', expect: { done: true, after: 'w' } },
      {
        name: 'not where none was seen and there is one',
        held: 'v',
        seen: undefined,
        value: 'w',
        expect: { done: false, after: 'v' },
      },
      { name: 'by none', held: 'v', seen: 'v', value: undefined, expect: { done: true, after: undefined } },
      {
        name: 'none by none',
        held: undefined,
        seen: undefined,
        value: undefined,
        expect: { done: true, after: undefined },
      },
    ];
    for (const row of replacements) {
      it(`replaces ${row.name}`, async () => {
        const records = await start();
        if (row.held !== undefined) await records.put('a', 'k', row.held);
        expect(await records.replace('a', 'k', row.seen, row.value)).toBe(row.expect.done);
        expect(await records.get('a', 'k')).toBe(row.expect.after);
      });
    }

    it('is taken by one of many, and replaced by one of many', async () => {
      const records = await start();
      await records.put('a', 'k', 'v');
      const taken = await Promise.all(Array.from({ length: 20 }, () => records.take('a', 'k')));
      expect(taken.filter((value) => value === 'v')).toHaveLength(1);
      const put = await Promise.all(Array.from({ length: 20 }, (_, i) => records.replace('a', 'k', undefined, `${i}`)));
      expect(put.filter(Boolean)).toHaveLength(1);
    });

    it('forgets deleted records, and ignores deletion of unknown ones', async () => {
      const records = await start();
      await records.put('a', 'k', 'v', 5);
      await records.delete('a', 'k');
      await records.delete('a', 'k');
      expect(await records.get('a', 'k')).toBeUndefined();
    });

    it('lists keys by their beginning, in the order of their bytes, at most so many', async () => {
      const records = await start();
      for (const key of ['b', 'a\u{1F600}', 'a\uFFEE', 'ab', 'a', 'aa']) await records.put('c', key, 'v');
      await records.put('cc', 'a', 'v');
      await records.put('', 'a', 'v');
      expect(await records.keys('c', 'a', 9)).toEqual(['a', 'aa', 'ab', 'a\uFFEE', 'a\u{1F600}']);
      expect(await records.keys('c', 'a', 2)).toEqual(['a', 'aa']);
      expect(await records.keys('c', '', 0)).toEqual([]);
      expect(await records.keys('c', '', 99)).toHaveLength(6);
    });

    it('keeps long keys apart, lists them in order and by long beginnings', async () => {
      const records = await start();
      const long = 'k'.repeat(5000);
      const keys = ['3', '1', '2', 'z'].map((end) => long + end);
      for (const key of keys) await records.put('a', key, `of ${key.at(-1)}`);
      await records.put('a', long.slice(0, 1400), 'short');
      await records.put('a', 'l', 'after');
      for (const key of keys) expect(await records.get('a', key)).toBe(`of ${key.at(-1)}`);
      const sorted = [long.slice(0, 1400), ...keys.toSorted(), 'l'];
      expect(await records.keys('a', '', 9)).toEqual(sorted);
      expect(await records.keys('a', 'k', 3)).toEqual(sorted.slice(0, 3));
      expect(await records.keys('a', long, 9)).toEqual(keys.toSorted());
      expect(await records.keys('a', `${long}2`, 9)).toEqual([`${long}2`]);
    });

    const refused = [
      { name: 'a key that is too long', collection: 'a', key: 'k'.repeat(recordLimits.keyBytes + 1), value: 'v' },
      {
        name: 'a key that is too long in bytes',
        collection: 'a',
        key: 'é'.repeat(recordLimits.keyBytes / 2 + 1),
        value: 'v',
      },
      { name: 'a value that is too long', collection: 'a', key: 'k', value: 'v'.repeat(mostValueBytes + 1) },
      { name: 'a key with half a pair', collection: 'a', key: '\ud800', value: 'v' },
      { name: 'a value with half a pair', collection: 'a', key: 'k', value: '\udc00' },
      { name: 'a collection with NUL', collection: 'a\0b', key: 'k', value: 'v' },
    ];
    for (const { name: what, collection, key, value } of refused) {
      it(`rejects ${what}, by name, and keeps nothing of it`, async () => {
        const records = await start();
        const tooLarge = { name: 'StoreError', kind: 'too_large' };
        await expect(records.put(collection, key, value)).rejects.toMatchObject(tooLarge);
        await expect(records.replace(collection, key, undefined, value)).rejects.toBeInstanceOf(StoreError);
        expect(await records.get(collection, key)).toBeUndefined();
        expect(await records.take(collection, key)).toBeUndefined();
        await records.delete(collection, key);
      });
    }

    it('takes the longest key and the longest value', async () => {
      const records = await start();
      const key = 'k'.repeat(recordLimits.keyBytes);
      const value = 'v'.repeat(mostValueBytes);
      await records.put('a', key, value);
      expect(await records.take('a', key)).toBe(value);
    });
  });
}
