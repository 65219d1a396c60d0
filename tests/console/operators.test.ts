/** Sessions of operators are bounded, and no principal takes the place of another. */

import { expect, it } from 'vitest';
import { Operators } from '../../src/console/operators.ts';
import { MemoryAttempts } from '../../src/exchange/memory-attempts.ts';
import type { Generation } from '../../src/pipeline/generation.ts';
import type { PageRequest } from '../../src/web/request.ts';
import { verifies } from '../requirements/verifies.ts';

/** Each secret is the key of a principal of the same name. */
const generation = {
  config: { identity: { keyFile: 'keys.json', issuers: [] }, operators: {} },
  authenticator: {
    anywhere: async ({ rawHeaders: [, header = ''] }: { rawHeaders: readonly string[] }) => ({
      key: header.replace('Bearer ', ''),
      kind: 'key',
    }),
    stillGood: () => true,
  },
} as unknown as Generation;

it(
  'a principal that signs in again and again ends no session of others',
  verifies('gateway:console:sign-in'),
  async () => {
    const operators = new Operators({
      currentGeneration: { now: generation },
      now: () => 0,
      attempts: new MemoryAttempts(() => 0),
      publicUrl: 'http://127.0.0.1:8809',
      userOf: async () => undefined,
      refused: () => undefined,
    });
    const signIn = async (secret: string): Promise<string> => {
      const outcome = await operators.signIn(secret, '127.0.0.1');
      return 'cookie' in outcome ? (outcome.cookie.split(';')[0] ?? '') : '';
    };
    const whoHas = async (cookie: string) =>
      (await operators.of({ headers: { cookie } } as unknown as PageRequest))?.principal.key;
    const first = await signIn('ada');
    let last = '';
    for (let times = 0; times < 1_100; times++) last = await signIn('eve');
    expect(await whoHas(first)).toBe('ada');
    expect(await whoHas(last)).toBe('eve');
  },
);
