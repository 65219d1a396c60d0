/** The config of a backend's `auth`, validated and complete. */

export const grants = ['authorization_code', 'client_credentials', 'token_exchange', 'identity_assertion'] as const;
export type GrantType = (typeof grants)[number];

export interface BackendAuth {
  readonly grant: GrantType;
  /** Registered beforehand, at `issuer` if that is set. */
  readonly clientId?: string;
  readonly clientSecret?: string;
  /** PKCS#8, PEM: the client authenticates with a signature (RFC 7523). */
  readonly privateKey?: string;
  /** The URL of the client ID metadata document, if it is not ours. */
  readonly clientMetadataUrl?: string;
  /** Used if neither the challenge nor the resource's metadata names any. */
  readonly scopes?: readonly string[];
  /** The only authorization server that is used, whatever the backend names. */
  readonly issuer?: string;
  /**
   * Origins on this machine or in the internal network that may be used if the backend names them. `:*` stands for any
   * port.
   */
  readonly authorizationServers?: readonly string[];
  /** Replaces the backend's own URL. */
  readonly resource?: string;
  /** RFC 8693, 2.1: the backend's name at the authorization server, if it is not the resource. */
  readonly audience?: string;
  /** Issues the assertion about the caller, for the grant `identity_assertion`. */
  readonly identityProvider?: IdentityProvider;
  /** One account for all principals, instead of one for each. */
  readonly shared: boolean;
  /**
   * Not written in a file: the default for an HTTP server in an MCP client's file. It applies only if the backend
   * requires OAuth.
   */
  readonly implied?: boolean;
}

/**
 * A token derived from a caller's token has no more rights than that token: each caller's token gets its own account,
 * and the same expiry.
 */
export function isDerived({ grant }: BackendAuth): boolean {
  return grant === 'token_exchange' || grant === 'identity_assertion';
}

/** The company's authorization server, which exchanges the caller's token for an assertion for the backend's server. */
export interface IdentityProvider {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret?: string;
  /** The type of token that callers present to us. */
  readonly subjectTokenType: SubjectTokenType;
}

/** RFC 8693, 3, without its prefix. */
export const subjectTokenTypes = ['access_token', 'id_token', 'jwt'] as const;
export type SubjectTokenType = (typeof subjectTokenTypes)[number];

export interface BackendAuthSettings {
  /** The backend's URL. */
  readonly url: string;
  readonly auth: BackendAuth;
}

export interface CredentialSettings {
  /** Scheme, host and port by which browsers know us: links and the redirect are under it. */
  readonly publicUrl: string;
  readonly backends: Readonly<Record<string, BackendAuthSettings>>;
}

/** The redirect URI at authorization servers. */
export const callbackPath = '/oauth/callback';
/** The redirect URI at the issuers of people's own accounts. */
export const signedInPath = '/oauth/signed-in';
/** Lists the accounts of the person who opens it. */
export const accountsPath = '/connect';
/** Followed by a consent's id. */
export const connectPath = '/connect/';

/** Where the person consents. */
export function consentPageUrl(publicUrl: string, id: string): string {
  return `${new URL(publicUrl).origin}${connectPath}${id}`;
}
/** Our client-ID metadata document. */
export const clientDocumentPath = '/.well-known/oauth-client';
