import type { Claims } from './principal.ts';

/**
 * The claim with this name; if there is none, the one at the dotted path (`realm_access.roles`). Only issuers choose
 * names.
 */
export function claimAt(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let value: unknown = claims;
  for (const step of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Record<string, unknown>)[step];
  }
  return value;
}
