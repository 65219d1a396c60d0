/** What an endpoint's request is for: which backend, and whether that has such a thing at all. */
import { Failure } from '../errors.ts';
import type { MethodRow } from '../wire/methods.ts';

/** The one backend behind the endpoint. */
export function route(backends: readonly string[]): string {
  const [only, ...others] = backends;
  if (only === undefined || others.length > 0) {
    throw new Failure('endpoint_needs_one_backend', {
      data: { addresses: backends.map((name) => `/servers/${encodeURIComponent(name)}/mcp`) },
    });
  }
  return only;
}

/** A method exists where its capability does: `resources.subscribe` is a member of `resources`. */
export function offers(capabilities: Readonly<Record<string, unknown>>, row: MethodRow): boolean {
  if (row.capability === undefined) return true;
  let at: unknown = capabilities;
  for (const key of row.capability.split('.')) {
    at = typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[key] : undefined;
  }
  return at !== undefined && at !== null && at !== false;
}
