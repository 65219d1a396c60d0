/** The identity part of the config, validated and complete. */
import type { JSONWebKeySet } from 'jose';
import type { Claims } from './principal.ts';

/**
 * `challenge` responds with HTTP status and OAuth challenge; `envelope` inside JSON-RPC, for deployments with only
 * keys.
 */
export type FailureStyle = 'challenge' | 'envelope';

export interface IdentitySettings {
  /** Scheme, host and port that clients use, if different from where we listen. */
  readonly publicUrl?: string;
  /** An absolute path. */
  readonly keyFile?: string;
  readonly issuers: readonly IssuerSettings[];
  /** Which narrower scopes a scope implies. */
  readonly implies: Readonly<Record<string, readonly string[]>>;
  /** The scopes of the principal that starts us over stdio. Undefined: all. */
  readonly localScopes?: readonly string[];
}

export interface IssuerSettings {
  /** Compared character by character with tokens and discovery documents (RFC 8414, 3.3). */
  readonly issuer: string;
  /** Undefined: found by discovery. */
  readonly jwksUri?: string;
  /** For an issuer in this process, instead of an address. */
  readonly keys?: () => JSONWebKeySet;
  /** The groups of a token's holder, for an issuer in this process. */
  readonly groupsIn?: (claims: Claims) => readonly string[];
  readonly algorithms: readonly Algorithm[];
  readonly clockToleranceMs: number;
  /**
   * The issuer issues tokens only for us but sets no `aud`: accept a token without `aud`. One with a different `aud` is
   * always refused.
   */
  readonly audienceCheckedByVerifier: boolean;
  /** Tokens are introspected instead of read (RFC 7662). */
  readonly introspection?: IntrospectionSettings;
  /** Our client at the issuer, for signing people in on our pages. Undefined: they cannot sign in. */
  readonly signIn?: { readonly clientId: string; readonly clientSecret?: string };
}

export interface IntrospectionSettings {
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** Only asymmetric ones: whoever can verify an HS256 token can forge one, and `none` is no signature. */
export const algorithms = [
  ...(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const),
  ...(['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'] as const),
] as const;
export type Algorithm = (typeof algorithms)[number];

/**
 * What one endpoint requires of its clients. Where identity is configured, `open` is never a default: it must be set.
 */
export type GuardSettings = { readonly kind: 'open' } | GuardedSettings;

export interface GuardedSettings {
  readonly kind: 'guarded';
  readonly keys: boolean;
  readonly tokens: boolean;
  readonly style: FailureStyle;
  /** Lower case. A key is accepted as a bearer token everywhere, and in this header if set. */
  readonly keyHeader?: string;
  readonly keyQuery?: string;
  /** Audiences besides the endpoint's own addresses. */
  readonly audiences: readonly string[];
  readonly scopes: ScopeSettings;
}

export interface ScopeSettings {
  readonly required: readonly string[];
  readonly methods: Readonly<Record<string, readonly string[]>>;
  /** By the names that clients see. */
  readonly tools: Readonly<Record<string, readonly string[]>>;
}
