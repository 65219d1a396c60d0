import { describe, expect, it } from 'vitest';
import { FairTurns } from '../../src/downstream/turns.ts';
import { verifies } from '../requirements/verifies.ts';

/** A gateway on whose clock each request takes a fifth of a millisecond. */
function gateway() {
  let now = 10_000;
  const due: (() => void)[] = [];
  const begun: string[] = [];
  const turns = new FairTurns({ now: () => now, later: (run) => void due.push(run) });
  return {
    begun,
    begin: (principal: string, mark: string, bytes = 100) =>
      turns.begin(principal, bytes, () => {
        now += 0.2;
        begun.push(mark);
      }),
    pass: (ms: number) => {
      now += ms;
    },
    /** Everything that came was read. False where nobody waits for that. */
    turn: () => {
      const run = due.shift();
      run?.();
      return run !== undefined;
    },
  };
}

const marks = (name: string, count: number) => Array.from({ length: count }, (_, at) => `${name}${at}`);

describe('fair scheduling', verifies('gateway:ingress:turns'), () => {
  it('begins all requests immediately for a principal that sends alone', () => {
    const { begin, begun } = gateway();
    for (const mark of marks('a', 500)) begin('a', mark);
    expect(begun).toEqual(marks('a', 500));
  });

  it('begins a request of another principal after a few of this one, however many wait', () => {
    const { begin, begun, turn } = gateway();
    begin('b', 'before');
    turn();
    for (const mark of marks('a', 500)) begin('a', mark);
    begin('b', 'b0');
    turn();
    const place = begun.indexOf('b0');
    expect(place).toBeGreaterThan(0);
    expect(place).toBeLessThanOrEqual(4);
    while (turn());
    expect(begun.filter((mark) => mark.startsWith('a'))).toEqual(marks('a', 500));
  });

  it('serves principals round-robin, and each in its own order', () => {
    const { begin, begun, turn } = gateway();
    for (const name of ['a', 'b', 'c', 'a']) begin(name, 'first');
    for (const name of ['a', 'b', 'c']) for (const mark of marks(name, 4)) begin(name, mark);
    while (turn());
    expect(begun.slice(4)).toEqual(['a0', 'b0', 'c0', 'a1', 'b1', 'c1', 'a2', 'b2', 'c2', 'a3', 'b3', 'c3']);
  });

  it('begins no more in one event-loop tick than it has time for, of however many principals', () => {
    const { begin, begun, turn } = gateway();
    for (const name of marks('p', 100)) for (const mark of marks(name, 2)) begin(name, mark);
    for (let before = begun.length; before < 200; before = begun.length) {
      turn();
      expect(begun.length - before).toBeLessThanOrEqual(5);
    }
  });

  it('begins all immediately again when the others have been idle for a second', () => {
    const { begin, begun, turn, pass } = gateway();
    begin('b', 'b');
    begin('a', 'a');
    while (turn());
    pass(1_000);
    for (const mark of marks('a', 100)) begin('a', mark);
    expect(begun).toHaveLength(102);
  });

  it('begins at least one request in a tick', () => {
    const { begin, begun, turn, pass } = gateway();
    begin('b', 'b');
    for (const mark of marks('a', 50)) begin('a', mark);
    for (let before = begun.length; before < 51; before = begun.length) {
      pass(0);
      expect(turn()).toBe(true);
      expect(begun.length).toBeGreaterThan(before);
    }
  });

  it.each([
    { what: 'requests', bytes: 1, kept: 1_024 },
    { what: 'bytes', bytes: 1024 * 1024, kept: 16 },
  ])('keeps no more than a bounded number of $what waiting', ({ bytes, kept }) => {
    const { begin, begun } = gateway();
    begin('b', 'b');
    for (const mark of marks('a', 3_000)) begin('a', mark, bytes);
    expect(3_001 - begun.length).toBe(kept);
  });
});
