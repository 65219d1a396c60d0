/**
 * Identifies a person by the issuer of their own account: OpenID Connect's code flow with PKCE, only for `iss` and
 * `sub` of the ID token. No token is kept.
 */
import * as oauth from 'oauth4webapi';
import { isLoopbackHost } from '../../fetch/addresses.ts';
import type { GuardedFetch } from '../guarded-fetch.ts';
import { pageLimits } from './limits.ts';
import { type ForeignSignIn, type SignedIn, SignInError } from './ports.ts';

/** Registered beforehand at the issuer, with `/oauth/signed-in` as redirect. */
export interface OpenIdClient {
  /** Spelled as in the principals' tokens. */
  readonly issuer: string;
  readonly clientId: string;
  /** Absent for a public client. */
  readonly clientSecret?: string;
}

export interface OpenIdOutside {
  /** For an issuer from the config. The fetch restricts which other URLs are requested, and limits their responses. */
  readonly fetchFor: (issuer: string) => GuardedFetch['fetch'];
  readonly now: () => number;
}

interface KnownIssuer {
  readonly server: oauth.AuthorizationServer;
  readonly at: number;
}

interface Secrets {
  readonly nonce: string;
  readonly verifier: string;
}

/**
 * The issuer must give this client the same `sub` as the clients whose tokens we accept. Pairwise subjects (OpenID
 * Core, 8.1) do not work.
 */
export function openIdSignIn(clients: readonly OpenIdClient[], outside: OpenIdOutside): ForeignSignIn {
  const byIssuer = new Map(clients.map((client) => [client.issuer, new Issuer(client, outside)]));
  const issuerOf = (name: string): Issuer => {
    const issuer = byIssuer.get(name);
    if (issuer === undefined) throw new SignInError('no `signIn` is configured for this issuer');
    return issuer;
  };
  return {
    canSignIn: (issuer) => byIssuer.has(issuer),
    begin: async (issuer, redirectUri) => {
      const state = oauth.generateRandomState();
      const secrets = { nonce: oauth.generateRandomNonce(), verifier: oauth.generateRandomCodeVerifier() };
      const url = await issuerOf(issuer).address(redirectUri, state, secrets);
      return { url, state, kept: JSON.stringify(secrets) };
    },
    complete: async ({ state, kept }, { issuer, redirectUri, parameters }) =>
      issuerOf(issuer).vouch({ state, redirectUri, parameters, secrets: JSON.parse(kept) as Secrets }),
  };
}

interface Return {
  readonly state: string;
  readonly redirectUri: string;
  readonly parameters: URLSearchParams;
  readonly secrets: Secrets;
}

class Issuer {
  readonly #settings: OpenIdClient;
  readonly #outside: OpenIdOutside;
  readonly #fetch: GuardedFetch['fetch'];
  readonly #client: oauth.Client;
  #known: KnownIssuer | undefined;

  constructor(settings: OpenIdClient, outside: OpenIdOutside) {
    this.#settings = settings;
    this.#outside = outside;
    this.#fetch = outside.fetchFor(settings.issuer);
    this.#client = { client_id: settings.clientId };
  }

  async address(redirectUri: string, state: string, { nonce, verifier }: Secrets): Promise<string> {
    const { authorization_endpoint: endpoint } = await this.#server();
    if (endpoint === undefined || !URL.canParse(endpoint))
      throw new SignInError('its metadata has no authorization endpoint');
    const url = new URL(endpoint);
    const parameters = {
      response_type: 'code',
      client_id: this.#settings.clientId,
      redirect_uri: redirectUri,
      scope: 'openid',
      state,
      nonce,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    };
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    return url.href;
  }

  async vouch({ state, redirectUri, parameters, secrets }: Return): Promise<SignedIn> {
    const server = await this.#server();
    const { clientSecret } = this.#settings;
    const auth = clientSecret === undefined ? oauth.None() : oauth.ClientSecretPost(clientSecret);
    try {
      const valid = oauth.validateAuthResponse(server, this.#client, parameters, state);
      const response = await oauth.authorizationCodeGrantRequest(
        server,
        this.#client,
        auth,
        valid,
        redirectUri,
        secrets.verifier,
        this.#options(),
      );
      const expected = { expectedNonce: secrets.nonce, requireIdToken: true };
      const tokens = await oauth.processAuthorizationCodeResponse(server, this.#client, response, expected);
      // OpenID Core, 3.1.3.7 lets TLS replace the signature check. An issuer on this machine may have no TLS, so always
      // check.
      await oauth.validateApplicationLevelSignature(server, response, this.#options());
      const claims = oauth.getValidatedIdTokenClaims(tokens);
      if (claims === undefined) throw new SignInError('its response has no ID token');
      return { issuer: claims.iss, subject: claims.sub };
    } catch (cause) {
      throw asSignInError(cause);
    }
  }

  async #server(): Promise<oauth.AuthorizationServer> {
    const now = this.#outside.now();
    if (this.#known !== undefined && now - this.#known.at < pageLimits.issuerMs) return this.#known.server;
    const issuer = new URL(this.#settings.issuer);
    try {
      const response = await oauth.discoveryRequest(issuer, { algorithm: 'oidc', ...this.#options() });
      const server = await oauth.processDiscoveryResponse(issuer, response);
      this.#known = { server, at: now };
      return server;
    } catch (cause) {
      throw asSignInError(cause);
    }
  }

  #options() {
    const { protocol, hostname } = new URL(this.#settings.issuer);
    return {
      [oauth.customFetch]: this.#fetch,
      // RFC 8414 requires TLS. Requests to an issuer on this machine cannot be intercepted.
      [oauth.allowInsecureRequests]: protocol === 'http:' && isLoopbackHost(hostname),
      signal: AbortSignal.timeout(pageLimits.requestMs),
    };
  }
}

/** Only the code: the library's messages may quote the issuer's response. */
function asSignInError(cause: unknown): SignInError {
  if (cause instanceof SignInError) return cause;
  if (cause instanceof oauth.AuthorizationResponseError)
    return new SignInError('it refused the request', { refused: true });
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'no connection';
  return new SignInError(`the request failed or the response is not valid (${code})`, { cause });
}
