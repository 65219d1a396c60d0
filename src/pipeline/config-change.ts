/** What a new config means for whatever outlives a request: sessions, streams, pending calls, connections. */

import type { Principal } from '../identity/principal.ts';
import type { ListKind } from '../wire/subscription-filter.ts';
import type { SharedServices } from './services.ts';

export interface ConfigChange {
  /** Backends that were removed, or replaced by a different one of the same name. */
  readonly gone: ReadonlySet<string>;
  /** Paths that are no longer served. */
  readonly closed: ReadonlySet<string>;
  /** By path: the lists that may have changed. */
  readonly lists: ReadonlyMap<string, readonly ListKind[]>;
  /** Whether the principal may still use the endpoint at this path. */
  isWelcome(path: string, principal: Principal): boolean;
}

/** Drops what is kept about backends that are gone. Their running calls continue; no new call begins there. */
export function forgetGone(shared: SharedServices, { gone, closed }: ConfigChange): void {
  const { upstreams, listCache, toolHeaders, listChanges, lists, pendingCalls } = shared;
  lists.renewed();
  pendingCalls.end('It was removed from the config', (backend, endpoint) => gone.has(backend) || closed.has(endpoint));
  if (gone.size === 0) return;
  toolHeaders.forget();
  for (const backend of gone) {
    upstreams.retire(backend);
    listCache.forget(backend);
    listChanges.retire(backend);
  }
}
