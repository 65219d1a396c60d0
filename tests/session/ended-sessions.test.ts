/** What a process remembers of ended sessions, within its bounds. */
import { describe, expect, it } from 'vitest';
import { EndedSessions, EVERYONE } from '../../src/session/ended-sessions.ts';
import { verifies } from '../requirements/verifies.ts';

const end = (principal: string, issuedAt: number, until = 1000) => ({
  ...{ session: `${principal}-${issuedAt}`, principal, issuedAt, until },
});

const knowing = (endedSessions: number, endedSessionsPerPrincipal: number, now = () => 100) => {
  const known = new EndedSessions({ endedSessions, endedSessionsPerPrincipal }, now);
  const add = (principal: string, issuedAt: number, until?: number) => {
    known.add(end(principal, issuedAt, until));
    return known.excess(principal);
  };
  return { known, add };
};

describe('ended sessions', verifies('gateway:legacy:ended-bounded'), () => {
  it('too many of one principal: the older half becomes one time of issue', () => {
    const { known, add } = knowing(10, 3);
    for (const issuedAt of [4, 2, 3]) expect(add('a', issuedAt)).toBeUndefined();
    const excess = add('a', 1);
    expect(excess).toEqual({ principal: 'a', issuedUntil: 2, until: 1000 });
    expect(known.revoke(excess!).map(({ issuedAt }) => issuedAt)).toEqual([2, 1]);
    expect(known.size).toBe(2);
    for (const issuedAt of [0, 1, 2, 3, 4]) expect(known.has(end('a', issuedAt))).toBe(true);
    expect(known.has(end('a', 5))).toBe(false);
    expect(known.has(end('b', 1))).toBe(false);
  });

  it('too many of all: the principal with the most of them pays', () => {
    const { add } = knowing(4, 4);
    for (const issuedAt of [1, 2, 3]) add('a', issuedAt);
    add('b', 1);
    expect(add('c', 1)).toMatchObject({ principal: 'a', issuedUntil: 2 });
  });

  it('of too many principals: nothing that was issued before is continued', () => {
    const { known, add } = knowing(2, 2);
    for (const principal of ['a', 'b']) {
      add(principal, 1);
      known.revoke({ principal, issuedUntil: 1, until: 900 });
    }
    const excess = add('c', 120, 950);
    expect(excess).toEqual({ principal: EVERYONE, issuedUntil: 120, until: 950 });
    known.revoke(excess!);
    expect(known.size).toBe(0);
    expect(known.excess('c')).toBeUndefined();
    expect(known.has(end('someone else', 120))).toBe(true);
    expect(known.has(end('someone else', 121))).toBe(false);
  });

  it('are forgotten when their ids have expired', () => {
    let now = 100;
    const { known, add } = knowing(5000, 5000, () => now);
    for (let n = 1; n < 1000; n++) add('a', n, 200);
    now = 300;
    add('a', 1000, 1000);
    expect(known.size).toBe(1);
  });

  it('an earlier time of issue does not replace a later one', () => {
    const { known } = knowing(5, 5);
    known.revoke({ principal: 'a', issuedUntil: 50, until: 1000 });
    known.revoke({ principal: 'a', issuedUntil: 20, until: 1000 });
    expect(known.has(end('a', 50))).toBe(true);
  });
});
