import { describe, expect, it } from 'vitest';
import { RecordLease } from '../../src/store/record-lease.ts';
import { MemoryRecords } from '../kit/memory-records.ts';
import { verifies } from '../requirements/verifies.ts';
import { leaseContract } from './contract.ts';
import { recordsContract } from './records-contract.ts';

recordsContract('memory', async (now) => new MemoryRecords(now));
leaseContract('memory records', (now) => new RecordLease(new MemoryRecords(now), now));

describe('records in memory', verifies('gateway:store:records'), () => {
  it('never hold more than their limit, and fail by name', async () => {
    const records = new MemoryRecords(() => 0, { totalBytes: 1000 });
    const put = async () => {
      for (let i = 0; i < 100; i++) await records.put('a', `k${i}`, 'v'.repeat(50));
    };
    await expect(put()).rejects.toMatchObject({ kind: 'full' });
    await records.delete('a', 'k0');
    await records.put('a', 'next', 'v');
    expect(await records.get('a', 'next')).toBe('v');
  });

  it('make room by dropping expired ones', async () => {
    let now = 0;
    const records = new MemoryRecords(() => now, { totalBytes: 1000 });
    for (let i = 0; i < 5; i++) await records.put('a', `k${i}`, 'v'.repeat(50), 10);
    now = 10;
    await records.put('a', 'large', 'v'.repeat(600));
    expect(records.size).toBe(1);
  });

  it('hold few expired ones, however many come and go', async () => {
    let now = 0;
    const records = new MemoryRecords(() => now);
    for (; now < 10_000; now++) await records.put('a', `k${now}`, 'v', now + 10);
    expect(records.size).toBeLessThan(50);
  });
});
