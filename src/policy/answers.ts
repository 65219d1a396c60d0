/**
 * The permit for a client's response to a JSON-RPC service. A response has no method, so no rule can apply to it.
 * Access to the endpoint was checked before.
 */
import type { Principal } from '../identity/principal.ts';
import { mint, type Permit } from './mint.ts';

export function permitAnswer({ key }: Principal, generation: number): Permit {
  return mint(key, 'answer', generation);
}
