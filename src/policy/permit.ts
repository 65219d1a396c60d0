/**
 * The proof that a call may reach a backend. A function that takes a `Permit` cannot be called by code that has not asked
 * policy first: the type cannot be made anywhere else. What the gateway does for itself carries one that says so.
 */
import { mint, type Permit } from './mint.ts';

export type { Permit } from './mint.ts';

/** What the gateway does on its own account: probing, refreshing lists, re-opening streams. */
export type SystemPurpose = 'probe' | 'list' | 'stream';

/** Good for every generation: it does what any config would have done. */
export function systemPermit(purpose: SystemPurpose): Permit {
  return mint('system', purpose, Number.POSITIVE_INFINITY);
}
