/** The code grant of a public native client: registration, the authorization request, its redirect, and the token. */
import { createHash, randomBytes } from 'node:crypto';
import { clientNature } from '../../oauth/client/client-document.ts';
import { exchange } from '../peer/http.ts';
import { type Bytes, type JsonObject, objectIn, type PeerFault, parsed } from '../peer/reply.ts';
import type { GrantedCode, OAuthClientFacts } from '../visit.ts';
import type { DocumentRead, Fetching, ServerFacts } from './metadata.ts';

/** Without a port: authorization servers accept any port of a loopback redirect (RFC 8252, 7.3). */
const PORTLESS_REDIRECT = 'http://127.0.0.1/callback';

export interface CodeRequest {
  readonly url: string;
  readonly state: string;
  readonly verifier: string;
  readonly redirectUri: string;
}

export async function registerClient(
  endpoint: string,
  redirectUri: string | undefined,
  { secrets, timeoutMs }: Fetching,
): Promise<DocumentRead<OAuthClientFacts>> {
  const metadata = {
    ...clientNature,
    client_name: `${clientNature.client_name} doctor`,
    redirect_uris: [redirectUri ?? PORTLESS_REDIRECT],
    token_endpoint_auth_method: 'none',
    application_type: 'native',
  };
  const headers = { 'content-type': 'application/json', accept: 'application/json' };
  const facts = { method: 'POST', url: endpoint, headers, body: JSON.stringify(metadata) };
  const { document, status, bytes } = await posted(facts, { secrets, timeoutMs });
  const id = document?.client_id;
  const secret = document?.client_secret;
  if (typeof id !== 'string') {
    const detail = `${status}${errorIn(document)}`;
    return { fault: { finding: 'registration_refused', detail }, bytes };
  }
  if (typeof secret !== 'string') return { facts: { id }, bytes };
  secrets.add(secret);
  return { facts: { id, secret }, bytes };
}

interface AuthorizationParts {
  readonly server: ServerFacts;
  readonly clientId: string;
  readonly resource: string;
  readonly scopes: readonly string[];
  readonly redirectUri: string | undefined;
}

export function authorizationRequest(parts: AuthorizationParts): CodeRequest {
  const { server, clientId, resource, scopes, redirectUri = PORTLESS_REDIRECT } = parts;
  const verifier = randomBytes(32).toString('base64url');
  const state = randomBytes(16).toString('base64url');
  const url = new URL(server.authorizationEndpoint);
  const parameters = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    state,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    resource,
    ...(scopes.length === 0 ? {} : { scope: scopes.join(' ') }),
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return { url: url.href, state, verifier, redirectUri };
}

/** RFC 9207, by the specification's table: `iss` is compared as a string, before anything else is believed. */
export function codeIn(
  redirect: URLSearchParams,
  { state, verifier, redirectUri }: CodeRequest,
  { issuer, sendsIssuer }: ServerFacts,
): GrantedCode | PeerFault {
  const iss = redirect.get('iss');
  if (redirect.get('state') !== state) return { finding: 'redirect_invalid', detail: '`state` is another' };
  if (iss === null ? sendsIssuer : iss !== issuer)
    return { finding: 'redirect_invalid', detail: iss === null ? '`iss` is missing' : '`iss` is another issuer' };
  const code = redirect.get('code');
  if (code !== null) return { code, verifier, redirectUri };
  const [error, description] = [redirect.get('error'), redirect.get('error_description')];
  return {
    finding: 'authorize_refused',
    detail: `${error ?? 'no code'}${description === null ? '' : `: ${description}`}`,
  };
}

interface TokenParts {
  readonly server: ServerFacts;
  readonly client: OAuthClientFacts;
  readonly granted: GrantedCode;
  readonly resource: string;
}

export async function redeem(parts: TokenParts, { secrets, timeoutMs }: Fetching): Promise<DocumentRead<string>> {
  const { server, client, granted, resource } = parts;
  secrets.add(granted.code);
  secrets.add(granted.verifier);
  const form = new URLSearchParams({
    grant_type: 'authorization_code',
    client_id: client.id,
    ...(client.secret === undefined ? {} : { client_secret: client.secret }),
    code: granted.code,
    code_verifier: granted.verifier,
    redirect_uri: granted.redirectUri,
    resource,
  });
  const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' };
  const facts = { method: 'POST', url: server.tokenEndpoint, headers, body: form.toString() };
  const { document, status, bytes } = await posted(facts, { secrets, timeoutMs });
  const token = document?.access_token;
  const isBearer = String(document?.token_type).toLowerCase() === 'bearer';
  if (typeof token !== 'string' || !isBearer)
    return { fault: { finding: 'token_refused', detail: `${status}${errorIn(document)}` }, bytes };
  secrets.add(token);
  return { facts: token, bytes };
}

interface Posted {
  readonly document: JsonObject | undefined;
  readonly status: string;
  readonly bytes: Bytes;
}

async function posted(facts: Parameters<typeof exchange>[0], fetching: Fetching): Promise<Posted> {
  const { http, fault, bytes } = await exchange(facts, fetching);
  const isFine = http !== undefined && http.status < 500;
  const document = isFine ? objectIn(parsed(http.body)?.value) : undefined;
  return { document, status: http === undefined ? (fault?.detail ?? 'no answer') : `HTTP ${http.status}`, bytes };
}

function errorIn(document: JsonObject | undefined): string {
  const [error, description] = [document?.error, document?.error_description];
  if (typeof error !== 'string') return '';
  return `, ${error}${typeof description === 'string' ? `: ${description.slice(0, 200)}` : ''}`;
}
