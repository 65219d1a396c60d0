import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSeal } from '../../src/store/seal.ts';
import { verifies } from '../requirements/verifies.ts';

describe('seal', verifies('gateway:bridge:state-sealed'), () => {
  const seal = createSeal('a secret');

  it('opens its own seal, for the same context', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (plain, context) => {
        expect(seal.open(seal.seal(plain, context), context)).toBe(plain);
      }),
    );
  });

  it('does not open a seal that was changed by a single bit', () => {
    const sealed = seal.seal('state', 'context');
    const bytes = Buffer.from(sealed, 'base64url');
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = Buffer.from(bytes);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(seal.open(changed.toString('base64url'), 'context')).toBeUndefined();
    }
  });

  it('does not open a seal for another context, with another key, or in another spelling', () => {
    const sealed = seal.seal('state', 'context');
    expect(seal.open(sealed, 'other')).toBeUndefined();
    expect(createSeal('another').open(sealed, 'context')).toBeUndefined();
    expect(createSeal(undefined).open(sealed, 'context')).toBeUndefined();
    for (const spelled of [`${sealed}=`, ` ${sealed}`, `${sealed}!`, '', 'x'])
      expect(seal.open(spelled, 'context')).toBeUndefined();
  });

  it('shares a key between processes that share the secret', () => {
    expect(createSeal('a secret').open(seal.seal('state', 'context'), 'context')).toBe('state');
  });
});
