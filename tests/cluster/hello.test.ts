/** What opens a lane between two processes: no other party can say it, and each is good once. */
import { describe, expect, it } from 'vitest';
import { Hellos } from '../../src/cluster/lanes/hello.ts';
import { createSealFor } from '../../src/store/seal.ts';
import { verifies } from '../requirements/verifies.ts';

function hellos(secret = 'one', now = { at: 1000 }) {
  let ids = 0;
  return new Hellos({
    seal: createSealFor('forward', secret),
    timeOfDay: () => now.at,
    newId: () => `${secret}-${++ids}`,
  });
}

describe('a hello', verifies('gateway:workers:forwarded'), () => {
  it('says who opens the lane, once', () => {
    const [from, to] = [hellos(), hellos()];
    const text = from.write('0', '1');
    expect(to.open(text, '1')).toBe('0');
    expect(to.open(text, '1')).toBeUndefined();
  });

  it('is not good for another process', () => {
    expect(hellos().open(hellos().write('0', '1'), '0')).toBeUndefined();
  });

  it('expires', () => {
    const now = { at: 1000 };
    const text = hellos('one', now).write('0', '1');
    now.at += 11_000;
    expect(hellos('one', now).open(text, '1')).toBeUndefined();
  });

  it('of a gateway with another key, or that was changed, is not good', () => {
    expect(hellos().open(hellos('two').write('0', '1'), '1')).toBeUndefined();
    const text = hellos().write('0', '1');
    expect(hellos().open(`${text.slice(0, -2)}AA`, '1')).toBeUndefined();
    expect(hellos().open('made up', '1')).toBeUndefined();
  });
});
