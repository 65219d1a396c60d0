/** Whether a backend has such a thing at all. */
import type { MethodRow } from '../wire/methods.ts';

/** A method exists where its capability does: `resources.subscribe` is a member of `resources`. */
export function offers(capabilities: Readonly<Record<string, unknown>>, row: MethodRow): boolean {
  const { capability } = row;
  if (capability === undefined) return true;
  // Asked of every backend at every call, and nearly always of a name without parts.
  if (!capability.includes('.')) return isDeclared(capabilities[capability]);
  let at: unknown = capabilities;
  for (const key of capability.split('.')) {
    at = typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[key] : undefined;
  }
  return isDeclared(at);
}

function isDeclared(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false;
}
