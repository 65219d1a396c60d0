/** Whether a backend offers a method. */
import type { MethodRow } from '../wire/methods.ts';
import { atLeast, type Revision } from '../wire/revisions.ts';

interface Declared {
  readonly revision: Revision;
  readonly capabilities: Readonly<Record<string, unknown>>;
}

/** A method exists if its capability does: `resources.subscribe` is a member of `resources`. */
export function offers({ revision, capabilities }: Declared, row: MethodRow): boolean {
  const { capability, capabilitySince } = row;
  if (capability === undefined) return true;
  if (capabilitySince !== undefined && !atLeast(revision, capabilitySince)) return true;
  // Called for every backend at every call, and nearly always for a name without dots.
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
