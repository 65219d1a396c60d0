import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FileEngine } from '../../../src/store/file/engine.ts';
import { openFileStore } from '../../../src/store/file/open.ts';
import { FileRecords } from '../../../src/store/file/records.ts';
import { RecordLease } from '../../../src/store/record-lease.ts';
import { verifies } from '../../requirements/verifies.ts';
import { leaseContract } from '../contract.ts';
import { recordsContract } from '../records-contract.ts';
import { openStore, temporaryDirectory } from './directory.ts';

recordsContract('file', async (now) => (await openStore(temporaryDirectory(), now)).records);

leaseContract('file', (now) => {
  const opening = openStore(temporaryDirectory(), now);
  return { take: async (name, ttlMs) => new RecordLease((await opening).records, now).take(name, ttlMs) };
});

const modeOf = (path: string) => statSync(path).mode & 0o777;

describe('records in a file', () => {
  it('are there when it is opened again', verifies('gateway:store:durable'), async () => {
    const dir = temporaryDirectory();
    const first = await openStore(dir);
    await first.records.put('a', 'k', 'v');
    await first.records.put('a', 'ended', 'v', Date.now() - 1);
    await first.records.close();
    const second = await openStore(dir);
    expect(await second.records.get('a', 'k')).toBe('v');
    expect(await second.records.keys('a', '', 9)).toEqual(['k']);
  });

  it('are written when the store is closed during the write', verifies('gateway:store:durable'), async () => {
    const dir = temporaryDirectory();
    const { records } = await openStore(dir);
    const puts = Array.from({ length: 1000 }, (_, i) => records.put('a', `${i}`, 'v'));
    await records.close();
    await Promise.all(puts);
    const again = await openStore(dir);
    expect(await again.records.keys('a', '', 2000)).toHaveLength(1000);
  });

  it('are rejected by name after closing', verifies('gateway:store:named-errors'), async () => {
    const { records } = await openStore(temporaryDirectory());
    await records.close();
    await records.close();
    await expect(records.get('a', 'k')).rejects.toMatchObject({ kind: 'closed' });
    await expect(records.put('a', 'k', 'v')).rejects.toMatchObject({ kind: 'closed' });
  });

  it(
    'are swept once they have ended, the earliest first, so many at a time',
    verifies('gateway:store:contract'),
    async () => {
      let now = 0;
      const engine = await FileEngine.open(join(temporaryDirectory(), 'records.mdb'));
      const records = new FileRecords(engine, () => now);
      for (let i = 0; i < 10; i++) await records.put('a', `k${i}`, 'v', 100 - i);
      await records.put('a', 'moved', 'v', 50);
      await records.put('a', 'moved', 'v', 500);
      await records.put('a', 'forever', 'v', 50);
      await records.put('a', 'forever', 'v');
      now = 100;
      const count = () => [...engine.records.getKeys()].length;
      expect(await records.sweep(4)).toBe(4);
      expect(count()).toBe(8);
      expect(await records.sweep(100)).toBe(6);
      expect(await records.sweep(100)).toBe(0);
      expect(await records.keys('a', '', 9)).toEqual(['forever', 'moved']);
      now = 500;
      expect(await records.sweep(100)).toBe(1);
      expect(count()).toBe(1);
      expect([...engine.ends.getKeys()]).toEqual([]);
      await records.close();
    },
  );

  it(
    'have a limit in number, reported by name, and existing ones can still change',
    verifies('gateway:store:named-errors'),
    async () => {
      const { records } = await openFileStore({
        dir: temporaryDirectory(),
        now: Date.now,
        warn: () => undefined,
        limits: { records: 2 },
      });
      await records.put('a', '1', 'v');
      await records.put('a', '2', 'v');
      const third = records.put('a', '3', 'v');
      const changed = records.put('a', '1', 'w');
      await expect(third).rejects.toMatchObject({ kind: 'full' });
      await changed;
      expect(await records.get('a', '1')).toBe('w');
      await records.close();
    },
  );
});

describe('the directory of a file store', () => {
  it('is made for this user alone, and so are its files', verifies('gateway:store:private'), async () => {
    const dir = join(temporaryDirectory(), 'deep', 'store');
    const { records } = await openStore(dir);
    await records.put('a', 'k', 'v');
    expect(modeOf(dir)).toBe(0o700);
    const files = readdirSync(dir);
    expect(files).toEqual(expect.arrayContaining(['records.mdb', 'records.mdb-lock']));
    for (const file of files) expect(modeOf(join(dir, file))).toBe(0o600);
    await records.close();
    expect(readdirSync(dir).toSorted()).toEqual(['records.mdb', 'records.mdb-lock']);
  });

  it('has its file closed to others when it was open to them', verifies('gateway:store:private'), async () => {
    const dir = temporaryDirectory();
    await (await openStore(dir)).records.close();
    chmodSync(join(dir, 'records.mdb'), 0o644);
    await openStore(dir);
    expect(modeOf(join(dir, 'records.mdb'))).toBe(0o600);
  });

  const unusable = [
    { name: 'below a file', make: (dir: string) => writeFileSync(join(dir, 'store'), ''), at: 'store/deeper' },
    { name: 'that is a file', make: (dir: string) => writeFileSync(join(dir, 'store'), ''), at: 'store' },
    {
      name: 'with a directory in the place of the file',
      make: (dir: string) => mkdirSync(join(dir, 'store/records.mdb'), { recursive: true }),
      at: 'store',
    },
  ];
  for (const { name, make, at } of unusable) {
    it(`is rejected by name: one ${name}`, verifies('gateway:store:named-errors'), async () => {
      const dir = temporaryDirectory();
      make(dir);
      await expect(openStore(join(dir, at))).rejects.toMatchObject({ name: 'StoreError', kind: 'unusable' });
    });
  }
});
