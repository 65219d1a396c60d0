/** The keys of cached lists, and the scopes of their cursors. */

import type { Endpoint } from '../exchange/arrival.ts';
import type { MethodRow } from '../wire/methods.ts';
import type { CursorScope } from './cursors.ts';
import type { Scope } from './entries.ts';
import type { KeptList } from './list-cache.ts';
import type { Reader } from './list-reader.ts';
import type { Missing } from './merged-list.ts';

export function mergedKey(
  { path }: Endpoint,
  { method }: MethodRow,
  lists: readonly KeptList[],
  missing: readonly Missing[] = [],
): string {
  const absent = missing.map(({ backend, reason, last }) => `${backend}:${reason}:${last?.version}`);
  return [path, method, ...lists.map(({ version }) => version), ...absent].join('\n');
}

/** As many keys as there are lists of endpoints, for each era of clients. */
export function standingKey({ path }: Endpoint, { method }: MethodRow, { prefers }: Reader): string {
  return `${prefers} ${method} ${path}`;
}

/** A private list's cursor is bound to its principal, so that its later pages are private too. */
export function boundTo({ path }: Endpoint, { method }: MethodRow, scope: Scope, { principal }: Reader): CursorScope {
  return { endpoint: path, method, ...(scope === 'private' && { principal: principal.key }) };
}
