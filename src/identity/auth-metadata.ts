/** What stands at the door of one endpoint, made once from the config and the address that it turned out to have. */
import { type Audiences, audiences, canonicalAudience } from './audience.ts';
import type { KeyPlaces } from './credentials.ts';
import { type Hierarchy, ScopeRules } from './scopes.ts';
import type { FailureStyle, GuardSettings, IdentitySettings } from './settings.ts';

export type EndpointAuth = { readonly kind: 'open' } | GuardedAuth;

export interface GuardedAuth extends KeyPlaces {
  readonly kind: 'guarded';
  readonly keys: boolean;
  readonly tokens: boolean;
  readonly style: FailureStyle;
  readonly scopes: ScopeRules;
  /** What a token must be for. */
  readonly ours: Audiences;
  /** Scheme, host and port by which clients may know us; the first is the one to tell those who did not say. */
  readonly bases: readonly string[];
  /** The endpoint's own path first, then those of its older transports. */
  readonly paths: readonly string[];
  /** Empty where no tokens are taken. */
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
 * The addresses that tokens may be for. `listening` is where we really listen, without a path. On this machine alone,
 * clients write the same address in several ways, and all of them are ours.
 */
export function basesOf({ publicUrl }: Pick<IdentitySettings, 'publicUrl'>, listening: string): readonly string[] {
  if (publicUrl !== undefined) return [canonicalAudience(publicUrl) ?? publicUrl];
  const { protocol, hostname, port } = new URL(listening);
  const names = loopback.includes(hostname) ? [hostname, ...loopback.filter((name) => name !== hostname)] : [hostname];
  return names.map((name) => canonicalAudience(`${protocol}//${name}${port === '' ? '' : `:${port}`}`)!);
}

const loopback: readonly string[] = ['127.0.0.1', 'localhost', '[::1]'];
