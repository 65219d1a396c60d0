/** Which replicas there are, as one of them sees them. */
import { describe, expect, it } from 'vitest';
import { Members } from '../../src/cluster/members.ts';
import { MemoryBus } from '../../src/store/memory.ts';
import { MemoryRecords } from '../kit/memory-records.ts';
import { verifies } from '../requirements/verifies.ts';
import { ManualClock } from '../upstream/support/clock.ts';

const LEASE_MS = 5_000;

/** All members of one store and one clock. */
function store() {
  const clock = new ManualClock();
  const records = new MemoryRecords(() => clock.now());
  const state = { isAway: false };
  const open = async () => {
    if (state.isAway) throw new Error('the store is away');
    return records;
  };
  const bus = new MemoryBus();
  const warned: string[] = [];
  const member = (name: string, timeOfDay: () => number = () => clock.now(), config = 'one') =>
    new Members(name, {
      ...{ records: open, bus, clock, timeOfDay, leaseMs: LEASE_MS },
      warn: (text) => void warned.push(text),
      config: () => config,
    });
  /** Beats, one after the other. */
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 500) {
      clock.advance(500);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  /** A process of another version says it of itself. */
  const say = (name: string, record: object) => records.put('member', name, JSON.stringify(record), undefined);
  return { member, pass, state, warned, say };
}

describe('a replica', verifies('gateway:replicas:members'), () => {
  it('sees others that have joined, and their addresses', async () => {
    const { member } = store();
    const [a, b] = [member('a'), member('b')];
    await a.join('host-a:1');
    await b.join('host-b:2');
    await a.refresh();
    expect([a.stateOf('b'), a.addressOf('b'), a.size]).toEqual(['alive', 'host-b:2', 2]);
    expect([b.stateOf('a'), b.stateOf('nobody')]).toEqual(['alive', 'gone']);
  });

  it('speaks to one of a later version that says more of itself', async () => {
    const { member, say } = store();
    const a = member('a');
    await a.join('host-a:1');
    await say('b', { format: 2, address: 'host-b:2', isLeaving: false, config: 'one', beat: 1, zone: 'north' });
    await a.refresh();
    expect([a.stateOf('b'), a.addressOf('b')]).toEqual(['alive', 'host-b:2']);
  });

  it.each([1, 3])('does not speak to one of format %d, does not believe it gone, and says so once', async (format) => {
    const { member, say, warned, pass } = store();
    const a = member('a');
    await a.join('host-a:1');
    for (let beat = 1; beat < 30; beat++) {
      await say('b', { format, address: 'host-b:2', isLeaving: false, beat });
      await pass(500);
    }
    expect([a.stateOf('b'), a.addressOf('b'), a.another()]).toEqual(['foreign', undefined, undefined]);
    expect(warned).toEqual([expect.stringContaining('of a version that cannot be spoken to')]);
    await pass(2 * LEASE_MS);
    expect(a.stateOf('b')).toBe('gone');
  });

  it('believes one gone that has not been heard of for a lease, and still knows where it was', async () => {
    const { member, pass } = store();
    const [a, b] = [member('a'), member('b')];
    await a.join('host-a:1');
    await b.join('host-b:2');
    await pass(2 * LEASE_MS);
    expect(a.stateOf('b')).toBe('alive');
    // As a process that was killed: its record stays.
    b.silence();
    await pass(LEASE_MS - 1_500);
    expect(a.stateOf('b')).toBe('alive');
    await pass(3_000);
    expect([a.stateOf('b'), a.addressOf('b'), a.size]).toEqual(['gone', 'host-b:2', 1]);
  });

  it('knows at once that one leaves, and where one has been that has left', async () => {
    const { member } = store();
    const [a, b] = [member('a'), member('b')];
    await a.join('host-a:1');
    await b.join('host-b:2');
    await b.leave();
    await a.refresh();
    expect([a.stateOf('b'), a.another()]).toEqual(['leaving', undefined]);
    await b.close();
    await a.refresh();
    expect([a.stateOf('b'), a.addressOf('b'), a.lastAddressOf('b')]).toEqual(['gone', undefined, 'host-b:2']);
  });

  it('believes nobody gone while the store is away', async () => {
    const { member, pass, state } = store();
    const [a, b] = [member('a'), member('b')];
    await a.join('host-a:1');
    await b.join('host-b:2');
    await a.refresh();
    let lapses = 0;
    a.onLapse = () => {
      lapses += 1;
    };
    state.isAway = true;
    await pass(4 * LEASE_MS);
    expect(a.stateOf('b')).toBe('alive');
    state.isAway = false;
    await pass(2_000);
    expect([a.stateOf('b'), lapses]).toEqual(['alive', 1]);
  });

  it('does not compare clocks', async () => {
    const { member, pass } = store();
    const [a, b] = [member('a'), member('b', () => -30 * 60_000)];
    await a.join('host-a:1');
    await b.join('host-b:2');
    await pass(2 * LEASE_MS);
    expect([a.stateOf('b'), b.stateOf('a')]).toEqual(['alive', 'alive']);
  });

  it('is told once that another has another config', async () => {
    const { member, pass, warned } = store();
    const [a, b] = [member('a'), member('b', undefined, 'two')];
    await a.join('host-a:1');
    await b.join('host-b:2');
    await pass(LEASE_MS);
    expect(warned).toHaveLength(2);
  });
});
