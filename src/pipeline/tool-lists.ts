/** Reads tool lists for the gateway's own use. */

import { listAll } from '../catalog/read-whole-list.ts';
import type { ListTools } from '../exchange/tool-headers.ts';
import type { Principal } from '../identity/principal.ts';
import { systemPermit } from '../policy/permit.ts';
import type { UpstreamLease } from '../upstream/upstream-pool.ts';
import type { SharedServices } from './services.ts';

/** Reads a backend's tools on an upstream session that is open anyway, under a permit of the gateway's own. */
export function listTools({ limits }: Pick<SharedServices, 'limits'>, upstream: UpstreamLease): ListTools {
  return () => listAll(systemPermit('list'), 'tools/list', upstream, limits.listCacheBytes);
}

/**
 * The key of a backend's tools as one principal sees them. The local principal is the only one, so the backend is
 * enough.
 */
export function toolsAt(backend: string, { kind, key }: Principal): string {
  return kind === 'local' ? backend : JSON.stringify([backend, key]);
}
