/**
 * Which scopes to request.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#scope-selection-strategy
 */
import { credentialLimits } from './limits.ts';

/** RFC 6749, 3.3. Invalid scopes are dropped: no server can grant them. */
const scopeToken = /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/;

export const offlineAccess = 'offline_access';

export function scopesOf(text: string): readonly string[] {
  return tidy(text.split(' '));
}

export function tidy(scopes: Iterable<unknown>): readonly string[] {
  const good = [...new Set(scopes)].filter(
    (scope): scope is string => typeof scope === 'string' && scopeToken.test(scope),
  );
  return good.slice(0, credentialLimits.scopes);
}

export interface ScopeSources {
  /** From the challenge, which is authoritative for the current operation. */
  readonly challenged?: readonly string[] | undefined;
  /**
   * `scopes_supported` of the resource's metadata. The authorization server's list is never used: it covers all its
   * resources.
   */
  readonly resource?: readonly string[] | undefined;
  readonly configured?: readonly string[] | undefined;
  /** Requested before: a step-up without these would lose them. */
  readonly asked?: readonly string[] | undefined;
}

/** If empty, the parameter is left out, and the authorization server chooses. */
export function scopesToAsk({ challenged, resource, configured, asked = [] }: ScopeSources): readonly string[] {
  return tidy([...asked, ...(challenged ?? resource ?? configured ?? [])].filter((scope) => scope !== offlineAccess));
}

/**
 * Requests a refresh token if the authorization server offers them. As the only scope it would replace the server's
 * default scopes, so it is only added to others.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#refresh-tokens
 */
export function withOfflineAccess(
  scopes: readonly string[],
  offered: readonly string[] | undefined,
): readonly string[] {
  return scopes.length > 0 && offered?.includes(offlineAccess) === true ? [...scopes, offlineAccess] : scopes;
}

export function covers(held: readonly string[], wanted: readonly string[]): boolean {
  const set = new Set(held);
  return wanted.every((scope) => set.has(scope));
}
