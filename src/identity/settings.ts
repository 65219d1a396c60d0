/** What the config says about identity, checked and complete. */
import type { JSONWebKeySet } from 'jose';

/** `challenge` answers as HTTP and OAuth have it; `envelope` inside of the exchange, for deployments with keys alone. */
export type FailureStyle = 'challenge' | 'envelope';

export interface IdentitySettings {
  /** Scheme, host and port by which clients know us, where that is not what we listen on. */
  readonly publicUrl?: string;
  /** Absolute. */
  readonly keyFile?: string;
  readonly issuers: readonly IssuerSettings[];
  /** Which narrower scopes a scope stands for. */
  readonly implies: Readonly<Record<string, readonly string[]>>;
  /** Whoever starts us over stdio. Absent: everything. */
  readonly localScopes?: readonly string[];
}

export interface IssuerSettings {
  /** Compared character by character with what tokens and discovery documents say (RFC 8414, 3.3). */
  readonly issuer: string;
  /** Absent: found by discovery. */
  readonly jwksUri?: string;
  /** In place of an address: the issuer is in this very process. */
  readonly keys?: () => JSONWebKeySet;
  readonly algorithms: readonly Algorithm[];
  readonly clockToleranceMs: number;
  /** The issuer gives tokens for us to nobody but us and cannot show it: a token without `aud` will do. One with another `aud` never does. */
  readonly audienceCheckedByVerifier: boolean;
  /** Tokens are asked about instead of read (RFC 7662). */
  readonly introspection?: IntrospectionSettings;
  /** A client at the issuer by which people show on our pages who they are. Absent: they cannot. */
  readonly signIn?: { readonly clientId: string; readonly clientSecret?: string };
}

export interface IntrospectionSettings {
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** Asymmetric ones alone: whoever can check an HS256 token can make one, and `none` is no signature at all. */
export const algorithms = [
  ...(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const),
  ...(['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'] as const),
] as const;
export type Algorithm = (typeof algorithms)[number];

/** What one endpoint asks of its callers. `open` is never a default where identity is configured: it is said by name. */
export type GuardSettings = { readonly kind: 'open' } | GuardedSettings;

export interface GuardedSettings {
  readonly kind: 'guarded';
  readonly keys: boolean;
  readonly tokens: boolean;
  readonly style: FailureStyle;
  /** Lower case. A key comes as a bearer token everywhere, and in this header where there is one. */
  readonly keyHeader?: string;
  readonly keyQuery?: string;
  /** Besides the endpoint's own addresses. */
  readonly audiences: readonly string[];
  readonly scopes: ScopeSettings;
}

export interface ScopeSettings {
  readonly required: readonly string[];
  readonly methods: Readonly<Record<string, readonly string[]>>;
  /** By the names that clients see. */
  readonly tools: Readonly<Record<string, readonly string[]>>;
}
