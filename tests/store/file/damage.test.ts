import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { FileStore } from '../../../src/store/file/open.ts';
import { verifies } from '../../requirements/verifies.ts';
import { openStore, temporaryDirectory } from './directory.ts';

async function someRecords(): Promise<{ readonly dir: string; readonly path: string }> {
  const dir = temporaryDirectory();
  const { records } = await openStore(dir);
  await Promise.all(Array.from({ length: 300 }, (_, i) => records.put('a', `${i}`, `${i}`.repeat(100))));
  await records.close();
  return { dir, path: join(dir, 'records.mdb') };
}

describe('a file that is no store', verifies('gateway:store:named-errors'), () => {
  const foreign = [
    { name: 'a short text', bytes: Buffer.from('hello') },
    { name: 'a long text', bytes: Buffer.from('hello '.repeat(10_000)) },
    { name: 'zeros', bytes: Buffer.alloc(100_000) },
    { name: 'ones', bytes: Buffer.alloc(100_000, 0xff) },
  ];
  for (const { name, bytes } of foreign) {
    it(`is rejected by name, and not changed: ${name}`, async () => {
      const dir = temporaryDirectory();
      const path = join(dir, 'records.mdb');
      writeFileSync(path, bytes);
      await expect(openStore(dir)).rejects.toMatchObject({ name: 'StoreError', kind: 'foreign' });
      expect(readFileSync(path).equals(bytes)).toBe(true);
    });
  }

  it('is begun when it is empty', async () => {
    const dir = temporaryDirectory();
    writeFileSync(join(dir, 'records.mdb'), '');
    const { records } = await openStore(dir);
    await records.put('a', 'k', 'v');
    expect(await records.get('a', 'k')).toBe('v');
  });
});

describe('a file that ends early', { ...verifies('gateway:store:named-errors'), timeout: 60_000 }, () => {
  for (const share of [0.9, 0.5, 0.2, 0.1, 0.03, 0.001]) {
    it(`is rejected by name, unless nothing is missing, at ${share} of its length`, async () => {
      const { dir, path } = await someRecords();
      truncateSync(path, Math.floor(statSync(path).size * share));
      for (let time = 0; time < 2; time++) {
        const outcome = await openStore(dir).catch((error: unknown) => error);
        if (outcome instanceof Error) expect(outcome).toMatchObject({ name: 'StoreError', kind: 'foreign' });
        else expect(await (outcome as FileStore).records.keys('a', '', 999)).toHaveLength(300);
      }
      expect(readdirSync(dir).filter((file) => file.startsWith('open-')).length).toBeLessThanOrEqual(2);
    });
  }
});

describe('a file that crashed its process', { ...verifies('gateway:store:named-errors'), timeout: 60_000 }, () => {
  /** The number of a process that was, and is no more. */
  const gone = spawnSync(process.execPath, ['-e', '']).pid;
  const lost = (dir: string) => writeFileSync(join(dir, `open-${gone}-0`), '');

  it('is checked before it is opened again, and rejected by name as often as that is tried', async () => {
    const { dir, path } = await someRecords();
    const bytes = readFileSync(path);
    // Everything but the two first pages, which say what the file is.
    bytes.fill(0xa5, 8192);
    writeFileSync(path, bytes);
    lost(dir);
    for (let time = 0; time < 2; time++)
      await expect(openStore(dir)).rejects.toMatchObject({ name: 'StoreError', kind: 'foreign' });
  });

  it('is opened if it is intact, and not reported any more', async () => {
    const { dir } = await someRecords();
    lost(dir);
    const { records } = await openStore(dir);
    expect(await records.keys('a', '', 999)).toHaveLength(300);
    await records.close();
    expect(readdirSync(dir).toSorted()).toEqual(['records.mdb', 'records.mdb-lock']);
  });
});
