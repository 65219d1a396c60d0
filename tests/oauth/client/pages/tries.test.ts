import { describe, expect, it } from 'vitest';
import { Attempts } from '../../../../src/exchange/attempts.ts';
import { keyAttempts, pageLimits } from '../../../../src/oauth/client/pages/limits.ts';

function full(now: () => number): Attempts {
  const tries = new Attempts(keyAttempts, now);
  for (let count = 0; count < pageLimits.wrongKeys; count += 1) tries.count('a');
  return tries;
}

describe('wrong attempts', () => {
  it('are counted from the first, and forgotten all at once', () => {
    let now = 0;
    const tries = full(() => now);
    expect(tries.waitFor('a')).toBe(pageLimits.wrongKeysMs);
    expect(tries.waitFor('b')).toBe(0);
    now = pageLimits.wrongKeysMs;
    expect(tries.waitFor('a')).toBe(0);
  });

  it('lock no one out because the clock was set back', () => {
    let now = 1_000_000;
    const tries = full(() => now);
    now = 0;
    expect(tries.waitFor('a')).toBe(0);
  });

  it('are remembered of so many links, the oldest of which goes', () => {
    const tries = full(() => 0);
    for (let count = 0; count < pageLimits.triedLinks; count += 1) tries.count(`link ${count}`);
    expect(tries.waitFor('a')).toBe(0);
  });
});
