/** Who sends a request. Sessions, pending calls, caches and event logs each belong to exactly one principal. */

/** What a client presented, not yet verified. `local` over stdio: whoever started the process presents nothing. */
export type Credentials = 'local' | PresentedCredentials;

export interface PresentedCredentials {
  /** Names and values alternate: only here is it visible that a header came twice. */
  readonly rawHeaders: readonly string[];
  /** As in the request line. */
  readonly url?: string | undefined;
  readonly method?: string | undefined;
  /** The connection. Its address is for the log and the audit trail. */
  readonly socket?: { readonly remoteAddress?: string | undefined } | undefined;
  readonly headersDistinct?: Readonly<Record<string, string[] | undefined>> | undefined;
  /** `Authorization` that the client meant for the backend; empty where it sent none. Set by the proxy alone. */
  readonly forBackend?: string | undefined;
}

/** `all` is for the principal that controls the config: it could grant itself any scope. */
export type Scopes = ReadonlySet<string> | 'all';

export type Claims = Readonly<Record<string, unknown>>;

export interface Principal {
  /**
   * Equal for the same principal, different for any other: made of issuer and subject, or of a key's name, so that a
   * refreshed token continues where the old one ended. Safe to use as a key, never shown to peers.
   */
  readonly key: string;
  readonly kind: 'local' | 'key' | 'token';
  readonly scopes: Scopes;
  readonly issuer?: string;
  readonly subject?: string;
  /** The OAuth client that acts for the subject. */
  readonly clientId?: string;
  readonly keyName?: string;
  /** Which of the keys with that name. Does not contain the secret. */
  readonly keyId?: string;
  /** Groups that our own files give to a key or a user. Absent: those of a token are among its claims. */
  readonly groups?: readonly string[];
  /** The issuer's claims, for policy only. Frozen. */
  readonly claims: Claims;
  /** When the credentials expire, in milliseconds since 1970. Streams opened with them end then. */
  readonly expiresAt?: number;
  /**
   * Who it is, where this is a principal with a credential of its own for a backend (client-credential.ts). Limits and
   * rates count the holder: another credential is no other person.
   */
  readonly holder?: Principal;
}

/** How the log and the console name a principal: as rules do (`who.principals`). */
export function shownPrincipal({ kind, keyName, subject, clientId }: Principal): string {
  if (kind === 'key') return `key:${keyName}`;
  return subject ?? (clientId === undefined ? kind : `client:${clientId}`);
}

const noClaims: Claims = Object.freeze({});

export function localPrincipal(scopes: Scopes = 'all'): Principal {
  return Object.freeze({ key: 'local', kind: 'local', scopes, claims: noClaims });
}

export interface KeyFacts {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly groups?: readonly string[] | undefined;
  readonly expiresAt?: number | undefined;
}

export function keyPrincipal({ id, name, scopes, groups, expiresAt }: KeyFacts): Principal {
  return Object.freeze({
    key: JSON.stringify(['key', name]),
    kind: 'key',
    scopes: new Set(scopes),
    keyName: name,
    keyId: id,
    claims: noClaims,
    ...(groups === undefined ? {} : { groups: Object.freeze([...groups]) }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
  });
}

export interface TokenFacts {
  readonly issuer: string;
  readonly claims: Claims;
  /** Of a user of the bundled authorization server. */
  readonly groups?: readonly string[] | undefined;
  readonly expiresAt?: number | undefined;
}

/**
 * RFC 9068, 2.2 requires `sub` in every token. If an issuer omits it for clients that act for themselves, the client is
 * the principal, under a key that no subject can have. Undefined if the token names neither.
 */
export function tokenPrincipal({ issuer, claims, groups, expiresAt }: TokenFacts): Principal | undefined {
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
    ...(groups === undefined ? {} : { groups: Object.freeze([...groups]) }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
  });
}

function textIn(claims: Claims, name: string): string | undefined {
  const value = claims[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** RFC 9068, 2.2.3 has `scope`, separated by spaces; large providers use `scp`, as text or as a list. */
function scopesIn(claims: Claims): ReadonlySet<string> {
  const said = claims.scope ?? claims.scp;
  const items = typeof said === 'string' ? said.split(' ') : Array.isArray(said) ? said : [];
  return new Set(items.filter((item): item is string => typeof item === 'string' && item !== ''));
}

/** What is to be done. Empty for a GET or a DELETE, which need the endpoint's scopes. */
export interface ScopedOperation {
  readonly method?: string | undefined;
  /** The tool's name, as the client uses it. */
  readonly tool?: string | undefined;
}

/** The parts of a request that determine how its refusal is written. */
export interface AuthContext {
  /** `unreadable`: a POST whose body or id could not be read. `other`: whatever expects no JSON-RPC response. */
  readonly kind: 'request' | 'unreadable' | 'other';
  readonly operation?: ScopedOperation | undefined;
}
