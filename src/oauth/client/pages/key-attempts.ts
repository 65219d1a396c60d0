/** Counts wrong keys by link. At the limit even the right key is refused, and the person needs a new link. */
import { Attempts } from '../../../web/attempts.ts';
import { pageLimits } from './limits.ts';

/**
 * Counts in one replica. Several replicas allow several times as many attempts, which is harmless for secrets of this
 * length.
 */
export function keyAttempts(now: () => number): Attempts {
  const { wrongKeys, wrongKeysMs, triedLinks } = pageLimits;
  return new Attempts({ most: wrongKeys, withinMs: wrongKeysMs, names: triedLinks }, now);
}
