/** What the gateway has to know about tools on its own account. */
import { listAll } from '../exchange/listing.ts';
import { ourselves } from '../exchange/own-call.ts';
import type { ListTools } from '../exchange/tool-headers.ts';
import type { Principal } from '../identity/principal.ts';
import { systemPermit } from '../policy/permit.ts';
import type { Rooms } from './rooms.ts';

/** What the gateway does for itself, it does as nobody's principal. */
const ourPrincipal: Principal = { key: 'system' };

/** Reads a backend's tools, under a permit of the gateway's own. */
export function listTools({ lanes }: Rooms, backend: string): ListTools {
  const permit = systemPermit('list');
  return () => listAll(permit, 'tools/list', (row) => lanes.forModern(permit, backend, ourPrincipal, ourselves, row));
}
