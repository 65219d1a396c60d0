import { describe, expect, it } from 'vitest';
import { dispensable } from '../../../src/upstream/stdio/dispensable.ts';

const now = 1_000_000;
const stateful = { now, isStateless: false };
const stateless = { now, isStateless: true };

/** A process of somebody, idle for so many seconds. */
function idle(name: string, owner: string | undefined, seconds: number, over: object = {}) {
  return { owner, child: { name, lastActive: now - seconds * 1_000, busy: false, used: true, ...over } };
}

describe('which process makes room', () => {
  it.each([
    {
      name: 'one that belongs to no session, however short it has been idle',
      processes: [idle('a1', 'alice', 600), idle('a2', 'alice', 600), idle('lists', undefined, 0)],
      waiting: 'alice',
      expected: 'lists',
    },
    {
      name: 'none that was just assigned',
      processes: [idle('lists', undefined, 0, { used: false })],
      waiting: 'alice',
      expected: undefined,
    },
    {
      name: 'none of the sessions of the same principal',
      processes: [idle('a1', 'alice', 600), idle('a2', 'alice', 600)],
      waiting: 'alice',
      expected: undefined,
    },
    {
      name: 'of the principal that has most, the one idle for longest',
      processes: [
        idle('b1', 'bob', 900),
        idle('b2', 'bob', 900),
        idle('a1', 'alice', 100),
        idle('a2', 'alice', 200),
        idle('a3', 'alice', 90),
      ],
      waiting: 'carol',
      expected: 'a2',
    },
    {
      name: 'none of a principal that has one more only',
      processes: [idle('a1', 'alice', 600), idle('a2', 'alice', 600), idle('b1', 'bob', 0)],
      waiting: 'bob',
      expected: undefined,
    },
    {
      name: 'none that is busy, or was a moment ago',
      processes: [idle('a1', 'alice', 600, { busy: true }), idle('a2', 'alice', 59)],
      waiting: 'bob',
      expected: undefined,
    },
    {
      name: 'no session’s for the sake of a list',
      processes: [idle('a1', 'alice', 600), idle('a2', 'alice', 600)],
      waiting: undefined,
      expected: undefined,
    },
  ])('$name', ({ processes, waiting, expected }) => {
    expect(dispensable(processes, waiting, stateful)?.name).toBe(expected);
  });

  it('if nothing is kept between calls, an idle one of the principal that has most, at once', () => {
    const processes = [idle('b1', 'bob', 9), idle('a1', 'alice', 0), idle('a2', 'alice', 1)];
    expect(dispensable(processes, 'alice', stateless)?.name).toBe('a2');
  });
});
