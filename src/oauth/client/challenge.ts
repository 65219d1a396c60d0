/**
 * Parses the `WWW-Authenticate` challenge of a backend.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#error-handling
 */
import { processRevocationResponse, WWWAuthenticateChallengeError } from 'oauth4webapi';
import { scopesOf } from './scopes.ts';

export interface Challenge {
  readonly error?: string;
  /** Undefined if the challenge names none. */
  readonly scopes?: readonly string[];
  readonly resourceMetadata?: string;
}

/** The first Bearer challenge. Whatever cannot be parsed is ignored. */
export async function challengeIn(wwwAuthenticate: readonly string[]): Promise<Challenge> {
  const parameters = await bearerParameters(wwwAuthenticate);
  if (parameters === undefined) return {};
  const { error, scope, resource_metadata: resourceMetadata } = parameters;
  const scopes = scope === undefined ? [] : scopesOf(scope);
  return {
    ...(error === undefined ? {} : { error }),
    ...(scopes.length === 0 ? {} : { scopes }),
    ...(resourceMetadata === undefined ? {} : { resourceMetadata }),
  };
}

/** Uses the library's parser, whose result is only available in the error that it throws for a refused request. */
async function bearerParameters(values: readonly string[]): Promise<Readonly<Record<string, string>> | undefined> {
  try {
    const headers = new Headers(values.map((value): [string, string] => ['www-authenticate', value]));
    await processRevocationResponse(new Response(null, { status: 401, headers }));
  } catch (error) {
    if (!(error instanceof WWWAuthenticateChallengeError)) return undefined;
    const bearer = error.cause.find(({ scheme }) => scheme === 'bearer');
    return bearer?.parameters as Readonly<Record<string, string>> | undefined;
  }
  return undefined;
}
