/**
 * What an approval is bound to. The same call with another argument, by another principal or client, or under other
 * rules is another call.
 */
import { createHash } from 'node:crypto';
import { canonicalAt, canonicalMembers } from '../wire/canonical.ts';
import { membersAt } from '../wire/skim.ts';
import type { CallRounds, CallToApprove } from './ports.ts';

/** Parameters that an approval is not bound to: the rounds of one call differ in them, and so do its repetitions. */
const unbound: Readonly<Record<CallRounds, ReadonlySet<string>>> = {
  retries: new Set(['_meta', 'inputResponses', 'requestState']),
  session: new Set(['_meta']),
  none: new Set(),
};
const PRINCIPAL_DIGITS = 12;
const CALL_DIGITS = 32;

/** The parts of the key in the store: a prefix for each principal, so that its questions can be counted. */
export interface Binding {
  readonly principal: string;
  readonly key: string;
}

export function bindingOf(call: CallToApprove): Binding {
  const { principal, client = '', endpoint, backend, method, name = '', own = '', demand } = call;
  const bound = [principal.key, principal.clientId ?? '', client, endpoint, backend, method, name, own, demand.text];
  // Another credential for a backend is no other person.
  const digits = digest((principal.holder ?? principal).key).slice(0, PRINCIPAL_DIGITS);
  const key = `${digits}-${digest(JSON.stringify([...bound, paramsOf(call)])).slice(0, CALL_DIGITS)}`;
  return { principal: digits, key };
}

/** Numbers stay as they are spelled: a backend may tell numbers apart that are equal here. */
function paramsOf({ bytes, params, rounds }: CallToApprove): string {
  if (params === undefined) return '';
  const object = membersAt(bytes, params);
  return object === undefined ? canonicalAt(bytes, params) : canonicalMembers(bytes, object, unbound[rounds]);
}

export function isBound(key: string, { rounds }: CallToApprove): boolean {
  return !unbound[rounds].has(key);
}

export function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
