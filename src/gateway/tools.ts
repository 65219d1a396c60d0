/** What the gateway has to know about tools on its own account. */
import type { HeldLane } from '../exchange/lanes.ts';
import { listAll } from '../exchange/listing.ts';
import type { ListTools } from '../exchange/tool-headers.ts';
import type { Principal } from '../identity/principal.ts';
import { systemPermit } from '../policy/permit.ts';
import type { Rooms } from './rooms.ts';

/** Reads a backend's tools on a lane that is held anyway, under a permit of the gateway's own. */
export function listTools({ limits }: Pick<Rooms, 'limits'>, lane: HeldLane): ListTools {
  return () => listAll(systemPermit('list'), 'tools/list', lane, limits.listCacheBytes);
}

/** Whose view of a backend's tools it is. Where nobody is asked who they are, there is one. */
export function toolsAt(backend: string, { kind, key }: Principal): string {
  return kind === 'local' ? backend : JSON.stringify([backend, key]);
}
