/** Wrong keys are counted by link. A right one does not help any more when the count is full: ask for a new link. */
import { Attempts } from '../../../web/attempts.ts';
import { pageLimits } from './limits.ts';

/** Of one replica: several let in several times as many tries, which changes nothing for secrets of this length. */
export function keyAttempts(now: () => number): Attempts {
  const { wrongKeys, wrongKeysMs, triedLinks } = pageLimits;
  return new Attempts({ most: wrongKeys, withinMs: wrongKeysMs, names: triedLinks }, now);
}
