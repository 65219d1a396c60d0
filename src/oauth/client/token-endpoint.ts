/** Token requests, for every grant. */
import * as oauth from 'oauth4webapi';
import { Failure } from '../../errors/failure.ts';
import { type OAuthClient, secretsOf } from './client.ts';
import { proofOf } from './client-proof.ts';
import type { GuardedFetch } from './guarded-fetch.ts';
import { credentialLimits } from './limits.ts';
import { scopesOf } from './scopes.ts';
import type { ServerMetadata } from './server-metadata.ts';
import type { BackendAuth } from './settings.ts';

/** The response of a token endpoint. */
export interface Granted {
  readonly accessToken: string;
  readonly refreshToken?: string;
  /** In milliseconds from the response. */
  readonly lifetimeMs?: number;
  readonly scopes?: readonly string[];
}

/** An error response (RFC 6749, 5.2). */
export class GrantRefused extends Error {
  override readonly name = 'GrantRefused';
  readonly code: string;
  /** For the client: `error` and `description`. */
  readonly data: Readonly<Record<string, string>>;

  constructor(code: string, description: string | undefined) {
    super('the authorization server refused the grant');
    this.code = code;
    this.data = { error: code, ...(description === undefined ? {} : { description }) };
  }

  failure(): Failure {
    return new Failure('authorization_refused', { data: this.data });
  }
}

export interface TokenClient {
  readonly guardedFetch: GuardedFetch;
  readonly server: ServerMetadata;
  readonly client: OAuthClient;
  readonly auth: BackendAuth;
  /** RFC 8693, 2.2.1: the result is an assertion and no access token; its token type is `N_A`. */
  readonly forAssertion?: true;
}

type TokenRequest = (proof: oauth.ClientAuth, options: oauth.TokenEndpointRequestOptions) => Promise<Response>;

/**
 * `secrets`: confidential values of the request, which an error must not repeat. Rejects with GrantRefused or a
 * Failure.
 */
export async function askForToken(
  asking: TokenClient,
  secrets: readonly string[],
  ask: TokenRequest,
): Promise<Granted> {
  const { guardedFetch, server, client, auth } = asking;
  const all = [...secrets, ...secretsOf(client, auth)];
  try {
    const proof = await proofOf(client, server, auth);
    const response = await ask(proof, { [oauth.customFetch]: guardedFetch.fetch, [oauth.allowInsecureRequests]: true });
    if (response.status >= 500) throw new Failure('authorization_unavailable');
    const said = await oauth.processGenericTokenEndpointResponse(asServer(server), asClient(client), response, notOurs);
    return granted(said, asking.forAssertion === true ? 'n_a' : 'bearer');
  } catch (error) {
    throw named(error, all);
  }
}

/** Makes the library accept this type; `granted` checks it. */
const notOurs = { recognizedTokenTypes: { n_a: () => undefined } };

export function asServer(server: ServerMetadata): oauth.AuthorizationServer {
  return server as oauth.AuthorizationServer;
}

export function asClient({ id }: OAuthClient): oauth.Client {
  return { client_id: id };
}

/** RFC 6750, 2.1, and the size that servers accept in one header. A token that does not fit cannot be sent. */
const presentable = /^[\x21-\x7e]{1,16384}$/;

function granted(said: oauth.TokenEndpointResponse, type: 'bearer' | 'n_a'): Granted {
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: seconds, scope } = said;
  if ((said.token_type as string) !== type || !presentable.test(accessToken)) throw unusable();
  if (refreshToken !== undefined && refreshToken.length > REFRESH_CHARS) throw unusable();
  const lifetimeMs = seconds === undefined ? undefined : Math.min(seconds * 1000, credentialLimits.lifetimeMs);
  return {
    accessToken,
    ...(refreshToken === undefined ? {} : { refreshToken }),
    ...(lifetimeMs === undefined ? {} : { lifetimeMs }),
    ...(scope === undefined ? {} : { scopes: scopesOf(scope) }),
  };
}

/** Refresh tokens that are JWTs have about 2 KB. */
const REFRESH_CHARS = 32_768;

function unusable(): Failure {
  return new Failure('authorization_refused', {
    message: 'The authorization server issued a token that cannot be used',
  });
}

/** Drops the library's errors: they contain the request and the response. */
export function named(error: unknown, secrets: readonly string[]): Failure | GrantRefused {
  if (error instanceof Failure || error instanceof GrantRefused) return error;
  if (error instanceof oauth.ResponseBodyError) {
    return new GrantRefused(errorCode(error.error, secrets), tellable(error.error_description, secrets));
  }
  const message = 'The authorization server’s response is not a valid OAuth response';
  return new Failure('authorization_refused', { message });
}

/** Matches secrets in any encoding: they are longer than the words of any language. */
const noWord = /\S{24,}/g;

/** Undefined if there is no text, or if it repeats a secret of the request: it would end up in errors and logs. */
export function tellable(text: unknown, secrets: readonly string[] = []): string | undefined {
  if (typeof text !== 'string' || secrets.some((secret) => secret !== '' && text.includes(secret))) return undefined;
  // RFC 6749, 5.2: `error` and `error_description` contain no other characters.
  const clean = text
    .replace(/[^\x20-\x7e]+/g, ' ')
    .replace(noWord, '...')
    .trim();
  return clean === '' ? undefined : clean.slice(0, credentialLimits.wordsChars);
}

/** RFC 6749, 5.2. Programs compare this code; anything that does not look like a code becomes `unknown`. */
export function errorCode(code: unknown, secrets: readonly string[] = []): string {
  const known = typeof code === 'string' && code.length <= 40 && /^[a-z]+(?:_[a-z]+)*$/.test(code);
  return known && !secrets.some((secret) => secret !== '' && code.includes(secret)) ? code : 'unknown';
}
