/** What the config says about a backend's `auth`, checked and complete. */

export const grants = ['authorization_code', 'client_credentials', 'token_exchange', 'identity_assertion'] as const;
export type GrantType = (typeof grants)[number];

export interface BackendAuth {
  readonly grant: GrantType;
  /** Registered beforehand, at `issuer` where that is said. */
  readonly clientId?: string;
  readonly clientSecret?: string;
  /** PKCS#8, PEM: the client proves itself by a signature (RFC 7523). */
  readonly privateKey?: string;
  /** Where the client-ID metadata document is, if not at our own address. */
  readonly clientMetadataUrl?: string;
  /** Where neither the challenge nor the resource's metadata says any. */
  readonly scopes?: readonly string[];
  /** The only authorization server that is used, whatever the backend names. */
  readonly issuer?: string;
  /**
   * Origins on this machine or inside the network that may be asked where the backend names them. `:*` stands for any
   * port.
   */
  readonly authorizationServers?: readonly string[];
  /** In the place of the backend's own address. */
  readonly resource?: string;
  /** RFC 8693, 2.1: where the authorization server knows the backend by another name. */
  readonly audience?: string;
  /** Who vouches for the caller, where the grant is an identity assertion. */
  readonly identityProvider?: IdentityProvider;
  /** One for all principals, not one for each. */
  readonly shared: boolean;
  /** Nobody wrote it down: it counts where the backend demands it, and costs nothing where it does not. */
  readonly implied?: boolean;
}

/** What is made of a caller's token can do no more than that token could: another token, another account, and the same end. */
export function isDerived({ grant }: BackendAuth): boolean {
  return grant === 'token_exchange' || grant === 'identity_assertion';
}

/** The company's own authorization server, at which the caller's token is turned into an assertion for the backend's. */
export interface IdentityProvider {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret?: string;
  /** What callers present to us. */
  readonly subjectTokenType: SubjectTokenType;
}

/** RFC 8693, 3, without its prefix. */
export const subjectTokenTypes = ['access_token', 'id_token', 'jwt'] as const;
export type SubjectTokenType = (typeof subjectTokenTypes)[number];

export interface BackendAuthSettings {
  /** The backend's address. */
  readonly url: string;
  readonly auth: BackendAuth;
}

export interface CredentialSettings {
  /** Scheme, host and port by which browsers know us: links and the redirect are under it. */
  readonly publicUrl: string;
  readonly backends: Readonly<Record<string, BackendAuthSettings>>;
}

/** Where authorization servers send people back to. */
export const callbackPath = '/oauth/callback';
/** Followed by a consent's id. */
export const connectPath = '/connect/';
/** Our client-ID metadata document. */
export const clientDocumentPath = '/.well-known/oauth-client';
