/**
 * Which scopes are asked for.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#scope-selection-strategy
 */
import { credentialLimits } from './limits.ts';

/** RFC 6749, 3.3. What is no scope is left out: nobody could have granted it. */
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
  /** Of the challenge; it is authoritative for the operation at hand. */
  readonly challenged?: readonly string[] | undefined;
  /** `scopes_supported` of the resource's metadata; never the authorization server's, which are those of all its resources. */
  readonly resource?: readonly string[] | undefined;
  readonly configured?: readonly string[] | undefined;
  /** What was asked for before: a step-up that left it out would lose it. */
  readonly asked?: readonly string[] | undefined;
}

/** Empty: the parameter is left out, and the authorization server chooses. */
export function scopesToAsk({ challenged, resource, configured, asked = [] }: ScopeSources): readonly string[] {
  return tidy([...asked, ...(challenged ?? resource ?? configured ?? [])].filter((scope) => scope !== offlineAccess));
}

/**
 * A refresh token is asked for where the authorization server says that it has them. Alone it would turn "whatever you
 * think right" into "nothing else".
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
