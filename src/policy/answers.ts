/**
 * What a client answers to a service has no method, so that there is no rule which could speak of it. That somebody may come
 * to the endpoint at all was found out before.
 */
import type { Principal } from '../identity/principal.ts';
import { mint, type Permit } from './mint.ts';

export function permitAnswer({ key }: Principal, generation: number): Permit {
  return mint(key, 'answer', generation);
}
