/** The authentication of one endpoint, built once from the config and the address that the endpoint really has. */
import { loopbackNames } from '../oauth/fetch/addresses.ts';
import { type Audiences, audiences, canonicalAudience } from './audience.ts';
import { type Hierarchy, ScopeRules } from './scopes.ts';
import type { GuardedSettings, GuardSettings, IdentitySettings } from './settings.ts';

export type EndpointAuth = { readonly kind: 'open' } | GuardedAuth;

export interface GuardedAuth extends Omit<GuardedSettings, 'audiences' | 'scopes'> {
  readonly scopes: ScopeRules;
  /** The audiences that a token may have. */
  readonly ours: Audiences;
  /** Scheme, host and port that clients may use for us. The first is the default in metadata. */
  readonly bases: readonly string[];
  /** The endpoint's own path first, then those of its older transports. */
  readonly paths: readonly string[];
  /** Empty if no tokens are accepted. */
  readonly authorizationServers: readonly string[];
}

export interface GuardParts {
  readonly issuers: IdentitySettings['issuers'];
  readonly hierarchy: Hierarchy;
  readonly bases: readonly string[];
  readonly paths: readonly string[];
}

export function buildGuard(settings: GuardSettings, { issuers, hierarchy, bases, paths }: GuardParts): EndpointAuth {
  if (settings.kind === 'open') return settings;
  const { scopes, audiences: more, ...rest } = settings;
  return {
    ...rest,
    scopes: new ScopeRules(scopes, hierarchy),
    ours: audiences([...bases.flatMap((base) => paths.map((path) => `${base}${path}`)), ...more]),
    bases,
    paths,
    authorizationServers: settings.tokens ? issuers.map(({ issuer }) => issuer) : [],
  };
}

/**
 * The addresses that tokens may be issued for. `listening` is the address we listen at, without a path. A loopback
 * address has several spellings, and all of them are ours.
 */
export function basesOf({ publicUrl }: Pick<IdentitySettings, 'publicUrl'>, listening: string): readonly string[] {
  if (publicUrl !== undefined) return [canonicalAudience(publicUrl) ?? publicUrl];
  const { protocol, hostname, port } = new URL(listening);
  const names = loopbackNames.includes(hostname) ? new Set([hostname, ...loopbackNames]) : [hostname];
  return Array.from(names, (name) => canonicalAudience(`${protocol}//${name}${port === '' ? '' : `:${port}`}`)!);
}
