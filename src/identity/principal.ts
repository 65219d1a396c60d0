/** Who is calling. Sessions, parked calls, caches and event logs belong to a principal and to nobody else. */

/** What a client presented, before anybody looked at it; or nothing, because whoever started us needs to present nothing. */
export type Credentials = 'local' | PresentedCredentials;

export interface PresentedCredentials {
  /** Names and values in turns: only here can it be seen that a header came twice. */
  readonly rawHeaders: readonly string[];
  /** As it stands in the request line. */
  readonly url?: string | undefined;
  /** Whence it came, for the log and the audit trail. */
  readonly socket?: { readonly remoteAddress?: string | undefined } | undefined;
  readonly headersDistinct?: Readonly<Record<string, string[] | undefined>> | undefined;
}

/** `all` is whoever holds the config in hand: nobody could withhold a scope from them. */
export type Scopes = ReadonlySet<string> | 'all';

export type Claims = Readonly<Record<string, unknown>>;

export interface Principal {
  /**
   * Equal for the same principal, different for any other: of issuer and subject, or of the name of a key, so that a
   * refreshed token goes on where the old one ended. Safe to use as a key, never shown to peers.
   */
  readonly key: string;
  readonly kind: 'local' | 'key' | 'token';
  readonly scopes: Scopes;
  readonly issuer?: string;
  readonly subject?: string;
  /** The OAuth client that acts for the subject. */
  readonly clientId?: string;
  readonly keyName?: string;
  /** Which of the keys of that name; the secret is not in it. */
  readonly keyId?: string;
  /** What the issuer said, for policy alone. Frozen. */
  readonly claims: Claims;
  /** When what was presented stops being good, in milliseconds since 1970. Streams that it opened end then. */
  readonly expiresAt?: number;
}

const noClaims: Claims = Object.freeze({});

export function localPrincipal(scopes: Scopes = 'all'): Principal {
  return Object.freeze({ key: 'local', kind: 'local', scopes, claims: noClaims });
}

export interface KeyFacts {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly expiresAt?: number | undefined;
}

export function keyPrincipal({ id, name, scopes, expiresAt }: KeyFacts): Principal {
  return Object.freeze({
    key: JSON.stringify(['key', name]),
    kind: 'key',
    scopes: new Set(scopes),
    keyName: name,
    keyId: id,
    claims: noClaims,
    ...(expiresAt === undefined ? {} : { expiresAt }),
  });
}

export interface TokenFacts {
  readonly issuer: string;
  readonly claims: Claims;
  readonly expiresAt?: number | undefined;
}

/**
 * RFC 9068, 2.2 has `sub` in every token. Where an issuer leaves it out for clients that act for themselves, the client
 * is the principal, under a key that no subject can have. Undefined where the token speaks of nobody.
 */
export function tokenPrincipal({ issuer, claims, expiresAt }: TokenFacts): Principal | undefined {
  const subject = textIn(claims, 'sub');
  const clientId = textIn(claims, 'client_id') ?? textIn(claims, 'azp');
  if (subject === undefined && clientId === undefined) return undefined;
  return Object.freeze({
    key: JSON.stringify(subject === undefined ? ['client', issuer, clientId] : ['token', issuer, subject]),
    kind: 'token',
    scopes: scopesIn(claims),
    issuer,
    ...(subject === undefined ? {} : { subject }),
    ...(clientId === undefined ? {} : { clientId }),
    claims,
    ...(expiresAt === undefined ? {} : { expiresAt }),
  });
}

function textIn(claims: Claims, name: string): string | undefined {
  const value = claims[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** RFC 9068, 2.2.3 has `scope`, divided by spaces; large providers say `scp`, as text or as a list. */
function scopesIn(claims: Claims): ReadonlySet<string> {
  const said = claims.scope ?? claims.scp;
  const items = typeof said === 'string' ? said.split(' ') : Array.isArray(said) ? said : [];
  return new Set(items.filter((item): item is string => typeof item === 'string' && item !== ''));
}

/** What is to be done; nothing for a GET or a DELETE, which need what the endpoint needs. */
export interface ScopedOperation {
  readonly method?: string | undefined;
  /** The name of the tool, as the client says it. */
  readonly tool?: string | undefined;
}

/** What was asked, as far as it decides how a refusal is told. */
export interface AuthContext {
  readonly kind: 'request' | 'unreadable' | 'other';
  readonly operation?: ScopedOperation;
}
