/**
 * The proof that a call may reach a backend. Only policy can create a `Permit`, so a function that takes one cannot be
 * called before policy has decided. The gateway's own calls carry a permit that says so.
 */

import type { Principal } from '../identity/principal.ts';
import { mint, type Permit } from './mint.ts';

export type { Permit } from './mint.ts';

/** For what the gateway does for itself. Valid for every generation: it does not depend on a config. */
export function systemPermit(purpose: 'probe' | 'list' | 'stream'): Permit {
  return mint('system', purpose, Number.POSITIVE_INFINITY);
}

/**
 * For a client's response to a JSON-RPC service. A response has no method, so no rule can apply to it. Access to the
 * endpoint was checked before.
 */
export function permitAnswer({ key }: Principal, generation: number): Permit {
  return mint(key, 'answer', generation);
}
