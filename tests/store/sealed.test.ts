import { describe, expect, it } from 'vitest';
import { RecordLease } from '../../src/store/record-lease.ts';
import { createSeal } from '../../src/store/seal.ts';
import { SealedRecords, sealedValueBytes } from '../../src/store/sealed.ts';
import { MemoryRecords } from '../kit/memory-records.ts';
import { verifies } from '../requirements/verifies.ts';
import { leaseContract } from './contract.ts';
import { openStore, temporaryDirectory } from './file/directory.ts';
import { recordsContract } from './records-contract.ts';

const seal = createSeal('a secret');
const unexpected = (text: string) => {
  throw new Error(text);
};

recordsContract(
  'sealed memory',
  async (now) => new SealedRecords(new MemoryRecords(now), seal, unexpected),
  sealedValueBytes,
);
recordsContract(
  'sealed file',
  async (now) => new SealedRecords((await openStore(temporaryDirectory(), now)).records, seal, unexpected),
  sealedValueBytes,
);
leaseContract('sealed', (now) => new RecordLease(new SealedRecords(new MemoryRecords(now), seal, unexpected), now));

describe('sealed records', verifies('gateway:store:sealed'), () => {
  const start = () => {
    const inner = new MemoryRecords(() => 0);
    const warnings: unknown[] = [];
    const records = new SealedRecords(inner, seal, (text, facts) => warnings.push({ text, facts }));
    return { inner, records, warnings };
  };

  it('reveal nothing of their values to a reader of the store', async () => {
    const { inner, records } = start();
    await records.put('a', 'k', 'a very secret token');
    const kept = await inner.get('a', 'k');
    expect(kept).toBeDefined();
    expect(Buffer.from(kept ?? '', 'base64url').toString('latin1')).not.toContain('secret');
  });

  const moves = [
    { name: 'another key', collection: 'a', key: 'other' },
    { name: 'another collection', collection: 'b', key: 'k' },
    { name: 'a collection whose name concatenates to the same', collection: '', key: 'a\0k' },
  ];
  for (const { name, collection, key } of moves) {
    it(`do not open in ${name}, count as absent there, and are reported once`, async () => {
      const { inner, records, warnings } = start();
      await records.put('a', 'k', 'v');
      await inner.put(collection, key, (await inner.get('a', 'k')) ?? '');
      expect(await records.get(collection, key)).toBeUndefined();
      expect(await records.get(collection, key)).toBeUndefined();
      expect(await records.get('a', 'k')).toBe('v');
      expect(warnings).toHaveLength(1);
      expect(warnings).toMatchObject([{ facts: { collection } }]);
    });
  }

  it('can be replaced if they do not open, as if absent', async () => {
    const { inner, records } = start();
    await inner.put('a', 'k', 'in the clear');
    expect(await records.replace('a', 'k', 'in the clear', 'v')).toBe(false);
    expect(await records.replace('a', 'k', undefined, 'v')).toBe(true);
    expect(await records.take('a', 'k')).toBe('v');
  });

  it('do not open with another key', async () => {
    const { inner, records, warnings } = start();
    await new SealedRecords(inner, createSeal('another'), unexpected).put('a', 'k', 'v');
    expect(await records.take('a', 'k')).toBeUndefined();
    expect(warnings).toHaveLength(1);
  });
});
