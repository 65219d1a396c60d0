/**
 * Our client at an OpenID provider: the code flow of OpenID Connect with PKCE, and refreshing what came of it. The
 * caller keeps the secrets of a flow until the person is back.
 */
import * as oauth from 'oauth4webapi';
import { isLoopbackHost } from '../fetch/addresses.ts';
import { SignInError } from './sign-in-error.ts';

/** Registered beforehand at the provider. */
export interface OpenIdClient {
  /** Spelled as in the provider's tokens. */
  readonly issuer: string;
  readonly clientId: string;
  /** Absent for a public client. */
  readonly clientSecret?: string;
}

/** The type of oauth4webapi's `customFetch`. */
export type ProviderFetch = (
  url: string,
  init: { readonly method: string; readonly headers?: Record<string, string>; readonly body?: unknown },
) => Promise<Response>;

export interface OpenIdOutside {
  /** Restricts which URLs besides the issuer's are requested, and limits their responses. */
  readonly fetch: ProviderFetch;
  readonly now: () => number;
}

/** How long a provider's metadata is cached. */
const METADATA_MS = 600_000;
/**
 * Timeout of all requests of one step: metadata, tokens, keys. A person or a client waits for it. Shorter than a lease
 * (oauth/client/limits.ts), so that no other process uses the same refresh token meanwhile.
 */
const STEP_MS = 20_000;

/** Of one flow. Another flow gets others. */
export interface FlowSecrets {
  readonly nonce: string;
  readonly verifier: string;
}

export interface AuthorizationStep {
  readonly redirectUri: string;
  readonly state: string;
  readonly secrets: FlowSecrets;
  readonly scope: string;
  /** Further parameters that this provider wants. */
  readonly parameters?: Readonly<Record<string, string>>;
}

export interface Return {
  readonly redirectUri: string;
  readonly state: string;
  readonly secrets: FlowSecrets;
  readonly parameters: URLSearchParams;
}

export interface IdentifiedPerson {
  /** Of the ID token. */
  readonly claims: oauth.IDToken;
  readonly refreshToken?: string;
}

export interface Refreshed {
  /** Absent where the provider sends no new ID token. */
  readonly claims?: oauth.IDToken;
}

/** Of every request of one step. */
interface StepOptions extends oauth.HttpRequestOptions<'GET' | 'POST', URLSearchParams> {
  readonly [oauth.customFetch]: ProviderFetch;
}

export function newSecrets(): FlowSecrets {
  return { nonce: oauth.generateRandomNonce(), verifier: oauth.generateRandomCodeVerifier() };
}

export const newState = oauth.generateRandomState;

/** All methods reject with a SignInError. */
export class OpenIdProvider {
  readonly #settings: OpenIdClient;
  readonly #outside: OpenIdOutside;
  readonly #client: oauth.Client;
  #known: { readonly server: oauth.AuthorizationServer; readonly at: number } | undefined;

  constructor(settings: OpenIdClient, outside: OpenIdOutside) {
    this.#settings = settings;
    this.#outside = outside;
    this.#client = { client_id: settings.clientId };
  }

  /** Scopes for a sign-in that can be refreshed, where the provider names a scope for that. */
  async usualScopes(): Promise<readonly string[]> {
    const { scopes_supported: supported = [] } = await this.#server();
    return ['openid', 'profile', ...(supported.includes('offline_access') ? ['offline_access'] : [])];
  }

  async authorizationUrl({ redirectUri, state, secrets, scope, parameters = {} }: AuthorizationStep): Promise<string> {
    const { authorization_endpoint: endpoint } = await this.#server();
    if (endpoint === undefined || !URL.canParse(endpoint))
      throw new SignInError('its metadata has no authorization endpoint');
    const url = new URL(endpoint);
    const all = {
      ...parameters,
      response_type: 'code',
      client_id: this.#settings.clientId,
      redirect_uri: redirectUri,
      scope,
      state,
      nonce: secrets.nonce,
      code_challenge: await oauth.calculatePKCECodeChallenge(secrets.verifier),
      code_challenge_method: 'S256',
    };
    for (const [name, value] of Object.entries(all)) url.searchParams.set(name, value);
    return url.href;
  }

  async identify({ state, redirectUri, parameters, secrets }: Return): Promise<IdentifiedPerson> {
    return this.#asking(async (server, options) => {
      const valid = oauth.validateAuthResponse(server, this.#client, parameters, state);
      const response = await oauth.authorizationCodeGrantRequest(
        server,
        this.#client,
        this.#authentication(),
        valid,
        redirectUri,
        secrets.verifier,
        options,
      );
      const expected = { expectedNonce: secrets.nonce, requireIdToken: true };
      const tokens = await oauth.processAuthorizationCodeResponse(server, this.#client, response, expected);
      // OpenID Core, 3.1.3.7 lets TLS replace the signature check. A provider on this machine may have no TLS, so
      // always check.
      await oauth.validateApplicationLevelSignature(server, response, options);
      const claims = oauth.getValidatedIdTokenClaims(tokens);
      if (claims === undefined) throw new SignInError('its response has no ID token');
      return { claims, ...refreshTokenIn(tokens) };
    });
  }

  /**
   * `refused` in the error: the provider does not know this person, or this token, any more. `rotated` keeps the next
   * refresh token: the old one is used up, also where the rest fails.
   */
  async refresh(refreshToken: string, rotated: (next: string) => Promise<void>): Promise<Refreshed> {
    return this.#asking(async (server, options) => {
      const authentication = this.#authentication();
      const response = await oauth.refreshTokenGrantRequest(
        server,
        this.#client,
        authentication,
        refreshToken,
        options,
      );
      const tokens = await oauth.processRefreshTokenResponse(server, this.#client, response);
      const claims = oauth.getValidatedIdTokenClaims(tokens);
      if (tokens.refresh_token !== undefined) await rotated(tokens.refresh_token);
      if (claims !== undefined) await oauth.validateApplicationLevelSignature(server, response, options);
      return claims === undefined ? {} : { claims };
    });
  }

  async #asking<T>(work: (server: oauth.AuthorizationServer, options: StepOptions) => Promise<T>): Promise<T> {
    const options = this.#options();
    const server = await this.#server(options);
    try {
      return await work(server, options);
    } catch (cause) {
      throw asSignInError(cause);
    }
  }

  async #server(options = this.#options()): Promise<oauth.AuthorizationServer> {
    const now = this.#outside.now();
    if (this.#known !== undefined && now - this.#known.at < METADATA_MS) return this.#known.server;
    const issuer = new URL(this.#settings.issuer);
    try {
      const response = await oauth.discoveryRequest(issuer, { algorithm: 'oidc', ...options });
      const server = await oauth.processDiscoveryResponse(issuer, response);
      this.#known = { server, at: now };
      return server;
    } catch (cause) {
      throw asSignInError(cause);
    }
  }

  #authentication(): oauth.ClientAuth {
    const { clientSecret } = this.#settings;
    return clientSecret === undefined ? oauth.None() : oauth.ClientSecretPost(clientSecret);
  }

  #options(): StepOptions {
    const { protocol, hostname } = new URL(this.#settings.issuer);
    return {
      [oauth.customFetch]: this.#outside.fetch,
      // RFC 8414 requires TLS. Requests to a provider on this machine cannot be intercepted.
      [oauth.allowInsecureRequests]: protocol === 'http:' && isLoopbackHost(hostname),
      signal: AbortSignal.timeout(STEP_MS),
    };
  }
}

function refreshTokenIn({ refresh_token: refreshToken }: oauth.TokenEndpointResponse) {
  return refreshToken === undefined ? {} : { refreshToken };
}

/** Only the code: the library's messages may quote the provider's response. */
function asSignInError(cause: unknown): SignInError {
  if (cause instanceof SignInError) return cause;
  const isRefusal =
    cause instanceof oauth.AuthorizationResponseError ||
    // RFC 6749, 5.2: the code or refresh token is not valid. Other codes are faults of the configuration.
    (cause instanceof oauth.ResponseBodyError && cause.error === 'invalid_grant');
  if (isRefusal) return new SignInError('it refused the request', { refused: true });
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'no connection';
  return new SignInError(`the request failed or the response is not valid (${code})`, { cause });
}
