import { scryptSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { MemoryAttempts } from '../../../src/exchange/memory-attempts.ts';
import { authServerLimits as limits } from '../../../src/oauth/server/limits.ts';
import type { PasswordHash } from '../../../src/oauth/server/passwords.ts';
import { SignIn } from '../../../src/oauth/server/sign-in.ts';
import { verifies } from '../../requirements/verifies.ts';

/** As cheap as the algorithm has it: here it is the counting that matters. */
const cost = { n: 2, r: 1, p: 1 } as const;
const hash: PasswordHash = {
  algorithm: 'scrypt',
  ...cost,
  salt: Buffer.from('salt').toString('base64url'),
  hash: scryptSync('right', 'salt', 32, { N: cost.n, r: cost.r, p: cost.p }).toString('base64url'),
};

describe('signing in', verifies('gateway:authserver:sign-in'), () => {
  it('while too many others do is no failure, for the name, the address or both', async () => {
    const users = { find: (name: string) => ({ name, password: hash, created: '', changed: '' }) };
    const signIn = new SignIn(users, new MemoryAttempts(() => 0));
    const others = Array.from({ length: limits.passwordsAtOnce + limits.passwordsWaiting }, (_, at) =>
      signIn.try({ name: `other${at}`, password: 'right', address: `10.0.0.${at}` }),
    );
    for (let at = 0; at <= limits.failuresPerName; at += 1) {
      expect(await signIn.try({ name: 'ada', password: 'right', address: 'here' })).toEqual({
        kind: 'wait',
        ms: 5_000,
      });
    }
    for (const other of await Promise.all(others)) expect(other.kind).toBe('user');
    expect((await signIn.try({ name: 'ada', password: 'right', address: 'here' })).kind).toBe('user');
  });
});
