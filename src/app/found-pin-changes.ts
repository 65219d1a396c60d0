/** Says that a backend offers something that is not pinned: in the log, the metrics and the audit trail. */
import type { Counters } from '../observe/counters.ts';
import type { Warn } from '../observe/ports.ts';
import { shownThing } from '../pins/pin.ts';
import type { PinChange, PinGuard, PinMode } from '../pins/ports.ts';
import type { Authorizer } from '../policy/authorizer.ts';

/** A backend chooses the name, of any length. */
const CHARACTERS = 256;

export interface FoundChanges {
  readonly warn: Warn;
  readonly counters: Counters;
  /** Of the current generation. */
  readonly authorizer: () => Pick<Authorizer, 'trail'>;
}

export function tellPinChange({ warn, counters, authorizer }: FoundChanges, change: PinChange, mode: PinMode): void {
  const { backend, kind, hash, classes } = change;
  const name = change.name.slice(0, CHARACTERS);
  const isHeld = mode === 'hold';
  counters.count(isHeld ? 'pins.held' : 'pins.changed');
  const thing = shownThing({ backend, kind, name });
  warn(
    `${thing} is not as it was pinned (${classes.join(', ')}): ${isHeld ? 'it is held' : 'it passes'}; ` +
      'look at it with `bascule pins diff`, and accept it with `bascule pins approve`',
    { backend, kind, name, classes, hash },
  );
  authorizer().trail.pinChanged({ backend, name: kind === 'instructions' ? kind : name, isHeld });
}

export function tellSilencedPins({ warn }: Pick<FoundChanges, 'warn'>, backend: string): void {
  warn('a backend offers too much that is not pinned: its further changes are judged, but not reported', { backend });
}

/** Once for each pin file that cannot be used. */
export function tellPinProblem({ warn }: Pick<FoundChanges, 'warn'>, { problem, file, mode }: PinGuard): void {
  if (problem === undefined) return;
  const effect = mode === 'hold' ? 'everything that backends offer is held' : 'nothing counts as pinned';
  warn(`the pin file cannot be used, so ${effect}: make it with \`bascule pins approve\``, { file, why: problem });
}
