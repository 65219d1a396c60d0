/** What the gateway has to know about tools on its own account. */

import { listAll } from '../catalog/read-whole-list.ts';
import type { ListTools } from '../exchange/tool-headers.ts';
import type { Principal } from '../identity/principal.ts';
import { systemPermit } from '../policy/permit.ts';
import type { UpstreamLease } from '../upstream/upstream-pool.ts';
import type { SharedServices } from './services.ts';

/** Reads a backend's tools on a lane that is held anyway, under a permit of the gateway's own. */
export function listTools({ limits }: Pick<SharedServices, 'limits'>, upstream: UpstreamLease): ListTools {
  return () => listAll(systemPermit('list'), 'tools/list', upstream, limits.listCacheBytes);
}

/** Whose view of a backend's tools it is. Where nobody is asked who they are, there is one. */
export function toolsAt(backend: string, { kind, key }: Principal): string {
  return kind === 'local' ? backend : JSON.stringify([backend, key]);
}
