/** By what lists are kept, and what their cursors are bound to. */

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

/** As many as there are lists of endpoints, for each era of clients. */
export function standingKey({ path }: Endpoint, { method }: MethodRow, { prefers }: Reader): string {
  return `${prefers} ${method} ${path}`;
}

/** A list that is one principal's own is nobody else's on its later pages either. */
export function boundTo({ path }: Endpoint, { method }: MethodRow, scope: Scope, { principal }: Reader): CursorScope {
  return { endpoint: path, method, ...(scope === 'private' && { principal: principal.key }) };
}
