/**
 * The proof that a call may reach a backend. Only policy can create a `Permit`, so a function that takes one cannot be
 * called before policy has decided. The gateway's own calls carry a permit that says so.
 */
import { mint, type Permit } from './mint.ts';

export type { Permit } from './mint.ts';

/** What the gateway does for itself: probing, refreshing lists, reopening streams. */
export type SystemPurpose = 'probe' | 'list' | 'stream';

/** Valid for every generation: it does not depend on a config. */
export function systemPermit(purpose: SystemPurpose): Permit {
  return mint('system', purpose, Number.POSITIVE_INFINITY);
}
