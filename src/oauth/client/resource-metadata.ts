/**
 * The protected resource metadata of a backend (RFC 9728).
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/authorization-server-discovery#protected-resource-metadata-discovery-requirements
 */
import * as z from 'zod';
import { Failure } from '../../errors/failure.ts';
import { firstDocument, wellKnown } from './documents.ts';
import type { GuardedFetch } from './guarded-fetch.ts';
import { credentialLimits } from './limits.ts';
import { tidy } from './scopes.ts';
import type { BackendAuthSettings } from './settings.ts';

export interface ResourceMetadata {
  /** The backend's own spelling, which requests use too (RFC 8707). */
  readonly resource: string;
  readonly issuers: readonly string[];
  readonly scopes?: readonly string[];
}

const shape = z.object({
  resource: z.string(),
  authorization_servers: z.array(z.string()).optional(),
  scopes_supported: z.array(z.string()).optional(),
});

/**
 * Undefined if there is none, as with backends of 2025-03-26. `named` is the URL from the challenge: then no other is
 * tried.
 */
export async function resourceMetadata(
  guardedFetch: GuardedFetch,
  { url, auth }: BackendAuthSettings,
  named: string | undefined,
): Promise<ResourceMetadata | undefined> {
  const document = await firstDocument(guardedFetch, named === undefined ? placesOf(url) : [named]);
  if (document === undefined) {
    if (named === undefined) return undefined;
    throw undiscovered('There is no metadata where its challenge says that it is');
  }
  const { data } = shape.safeParse(document);
  if (data === undefined) throw undiscovered('Its metadata is malformed');
  if (!isPartOf(auth.resource ?? url, data.resource)) throw undiscovered('Its metadata is that of another resource');
  return {
    resource: data.resource,
    issuers: (data.authorization_servers ?? []).slice(0, credentialLimits.servers),
    ...(data.scopes_supported === undefined ? {} : { scopes: tidy(data.scopes_supported) }),
  };
}

/** With the path first, then at the root; both are the same if there is no path. */
function placesOf(url: string): readonly string[] {
  const suffix = 'oauth-protected-resource';
  return [...new Set([wellKnown(url, suffix), wellKnown(new URL(url).origin, suffix)])];
}

/**
 * RFC 9728, 3.3 requires the identical resource. Metadata at the root covers the whole origin, so we also accept a
 * resource that contains our URL, as the official SDKs do. A different origin or a sibling path is never accepted.
 */
export function isPartOf(address: string, resource: string): boolean {
  let whole: URL;
  let part: URL;
  try {
    whole = new URL(resource);
    part = new URL(address);
  } catch {
    return false;
  }
  if (whole.origin !== part.origin || whole.hash !== '' || whole.username !== '' || whole.password !== '') return false;
  if (whole.search !== '' && whole.search !== part.search) return false;
  return withSlash(part.pathname).startsWith(withSlash(whole.pathname));
}

function withSlash(path: string): string {
  return path.endsWith('/') ? path : `${path}/`;
}

export function undiscovered(message: string): Failure {
  return new Failure('authorization_undiscovered', { message });
}
