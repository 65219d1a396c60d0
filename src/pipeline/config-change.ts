/** What a new config means for those who are here: for sessions, streams, and whatever else stays longer than a request. */

import type { Principal } from '../identity/principal.ts';
import type { ListKind } from '../wire/subscription-filter.ts';
import type { SharedServices } from './services.ts';

export interface ConfigChange {
  /** Backends that are no longer there, or are others under the same name. */
  readonly gone: ReadonlySet<string>;
  /** Paths that lead nowhere any more. */
  readonly closed: ReadonlySet<string>;
  /** By path: the lists that may be others than before. */
  readonly lists: ReadonlyMap<string, readonly ListKind[]>;
  /** Whether somebody may still come in there. */
  isWelcome(path: string, principal: Principal): boolean;
}

/** What was kept of backends that are gone. Their calls go on; nothing new begins with them. */
export function forgetGone(shared: SharedServices, { gone, closed }: ConfigChange): void {
  const { upstreams, listCache, toolHeaders, listChanges, lists, pendingCalls } = shared;
  lists.renewed();
  pendingCalls.end('It was taken out of service', (backend, endpoint) => gone.has(backend) || closed.has(endpoint));
  if (gone.size === 0) return;
  toolHeaders.forget();
  for (const backend of gone) {
    upstreams.retire(backend);
    listCache.forget(backend);
    listChanges.retire(backend);
  }
}
