/** Credentials to a principal. Where no identity is configured everybody on this machine is the same local one. */
import type { Credentials, Principal } from './principal.ts';

const local: Principal = { key: 'local' };

export function identify(_credentials: Credentials): Principal {
  return local;
}
