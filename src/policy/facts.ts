/**
 * The facts that a condition may read. The client chooses the arguments, and an expression can iterate a list once for
 * each of its entries, so each value has a limit. A value over the limit exists, but a condition that reads it fails.
 * Objects become maps, so that no member's name can be taken for one of the language's own.
 */
import type { Principal } from '../identity/principal.ts';
import { groupsIn } from './who.ts';

/** Enough for a path or a sentence. For the size of a text there is `maxBytes`. */
const TEXT_LENGTH = 4_096;
const ENTRIES = 256;
const DEPTH = 16;
/** The most values in total, at all depths. */
const VALUES = 4_096;

/**
 * Placeholder for a value over a limit. Any use of it throws: a placeholder that could be compared or iterated would
 * look like a small value, and a client could make a condition true by sending too much.
 */
const refuse = (): never => {
  throw new RangeError('Too large to be looked at');
};
const tooLarge: object = new Proxy(Object.freeze({}), {
  get: refuse,
  has: refuse,
  ownKeys: refuse,
  getPrototypeOf: refuse,
  getOwnPropertyDescriptor: refuse,
});

export { tooLarge as unseen };

export function bounded(value: unknown): unknown {
  let left = VALUES;
  const copy = (item: unknown, depth: number): unknown => {
    left -= 1;
    if (left < 0 || depth > DEPTH) return tooLarge;
    if (typeof item === 'string') return item.length > TEXT_LENGTH ? tooLarge : item;
    if (typeof item === 'number') return Math.abs(item) > Number.MAX_SAFE_INTEGER ? tooLarge : item;
    if (typeof item === 'boolean' || item === null) return item;
    if (Array.isArray(item)) return item.length > ENTRIES ? tooLarge : item.map((one) => copy(one, depth + 1));
    if (typeof item !== 'object') return tooLarge;
    if (Object.keys(item).length > ENTRIES) return tooLarge;
    return new Map(Object.entries(item).map(([name, member]) => [name, copy(member, depth + 1)]));
  };
  return copy(value, 0);
}

export function principalFacts(principal: Principal, groupsClaim: string): ReadonlyMap<string, unknown> {
  const { kind, issuer, subject, clientId, keyName, scopes, claims } = principal;
  return new Map<string, unknown>([
    ['kind', kind],
    ['issuer', issuer ?? ''],
    ['subject', subject ?? ''],
    ['clientId', clientId ?? ''],
    ['key', keyName ?? ''],
    ['allScopes', scopes === 'all'],
    ['scopes', bounded(scopes === 'all' ? [] : [...scopes])],
    ['groups', bounded(groupsIn(claims, groupsClaim))],
    ['claims', bounded(claims)],
  ]);
}
