/**
 * The metadata of an authorization server (RFC 8414, or OpenID Connect Discovery).
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/authorization-server-discovery#authorization-server-metadata-discovery
 */
import * as z from 'zod';
import { metadataAddresses } from '../well-known.ts';
import { type GuardedFetch, insecure, untrusted } from './guarded-fetch.ts';

/**
 * The members that we use, under the names that oauth4webapi reads. Stored in records, so that a flow ends at the
 * server where it began.
 */
const words = z.array(z.string().max(256)).max(1000).optional();
const address = z.string().max(2048).optional();
const shape = z.object({
  issuer: z.string().max(2048),
  authorization_endpoint: address,
  token_endpoint: address,
  registration_endpoint: address,
  token_endpoint_auth_methods_supported: words,
  token_endpoint_auth_signing_alg_values_supported: words,
  code_challenge_methods_supported: words,
  grant_types_supported: words,
  scopes_supported: words,
  client_id_metadata_document_supported: z.boolean().optional(),
  authorization_response_iss_parameter_supported: z.boolean().optional(),
});

/** `undocumented`: a server of 2025-03-26 without metadata, whose endpoints are at that revision's default paths. */
export const serverShape = shape.extend({ undocumented: z.literal(true).optional() });
export type ServerMetadata = Readonly<z.infer<typeof serverShape>>;

export async function serverMetadata(guardedFetch: GuardedFetch, issuer: string): Promise<ServerMetadata> {
  if (!guardedFetch.mayBeUsed(issuer)) throw insecure(issuer);
  const document = await guardedFetch.firstDocument(metadataAddresses(issuer));
  if (document === undefined) return undocumented(issuer);
  const { data: server } = shape.safeParse(document);
  if (server === undefined) throw untrusted('Its metadata is malformed');
  if (!isIssuer(issuer, server.issuer)) throw untrusted('Its metadata belongs to another issuer');
  for (const endpoint of [server.authorization_endpoint, server.token_endpoint, server.registration_endpoint]) {
    if (endpoint !== undefined && !guardedFetch.mayBeUsed(endpoint)) throw insecure(endpoint);
  }
  if (server.token_endpoint === undefined) throw untrusted('Its metadata names no token endpoint');
  return server;
}

/**
 * RFC 8414, 3.3: identical. One tolerance, as in the official SDK: frameworks add the slash of an empty path to the
 * list of authorization servers (https://host/) whether the issuer has it or not. Both are the same URL.
 */
export function isIssuer(named: string, said: string): boolean {
  return said === named || (named === `${said}/` && new URL(named).pathname === '/');
}

/**
 * https://modelcontextprotocol.io/specification/2025-03-26/basic/authorization#fallbacks-for-servers-without-metadata-discovery
 */
function undocumented(issuer: string): ServerMetadata {
  const { origin } = new URL(issuer);
  return {
    issuer,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    undocumented: true,
  };
}

/**
 * Checked before a person is redirected. A server without metadata cannot declare PKCE, so it passes.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/security-considerations#authorization-code-protection
 */
export function checkCodeGrant(server: ServerMetadata): void {
  if (server.authorization_endpoint === undefined) throw untrusted('Its metadata names no authorization endpoint');
  if (server.undocumented === true) return;
  const methods = server.code_challenge_methods_supported;
  if (methods === undefined) throw untrusted('Its metadata does not declare PKCE');
  if (!methods.includes('S256')) throw untrusted('Its metadata does not declare PKCE with S256');
}
