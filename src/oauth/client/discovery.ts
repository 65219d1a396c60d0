/** Finds the authorization server that a backend trusts, from its challenge. */
import { Failure } from '../../errors/failure.ts';
import type { Challenge } from './challenge.ts';
import type { GuardedFetch } from './guarded-fetch.ts';
import { type ResourceMetadata, resourceMetadata, undiscovered } from './resource-metadata.ts';
import { type ServerMetadata, serverMetadata } from './server-metadata.ts';
import type { BackendAuthSettings } from './settings.ts';

export interface DiscoveredServer {
  readonly server: ServerMetadata;
  /** The backend's resource identifier in requests (RFC 8707). */
  readonly resource: string;
  /** From the resource's metadata. */
  readonly scopes?: readonly string[];
}

/** `used`: the issuer of the current tokens. It stays in use while the backend lists it, in any position. */
export async function discover(
  guardedFetch: GuardedFetch,
  settings: BackendAuthSettings,
  challenge: Challenge,
  used: string | undefined,
): Promise<DiscoveredServer> {
  const { url, auth } = settings;
  const metadata = await resourceMetadata(guardedFetch, settings, challenge.resourceMetadata);
  const server = await serverMetadata(guardedFetch, issuerOf(metadata, settings, used));
  const resource = auth.resource ?? metadata?.resource ?? canonical(url);
  return { server, resource, ...(metadata?.scopes === undefined ? {} : { scopes: metadata.scopes }) };
}

function issuerOf(
  metadata: ResourceMetadata | undefined,
  { url, auth }: BackendAuthSettings,
  used: string | undefined,
): string {
  // In 2025-03-26, before resource metadata, a backend was its own authorization server.
  if (metadata === undefined) return auth.issuer ?? new URL(url).origin;
  const { issuers } = metadata;
  if (auth.issuer !== undefined) {
    if (issuers.length === 0 || issuers.some((issuer) => same(issuer, auth.issuer))) return auth.issuer;
    const message = 'The backend names another authorization server than `auth.issuer`';
    throw new Failure('client_unregistered', { message });
  }
  const issuer = issuers.find((candidate) => same(candidate, used)) ?? issuers[0];
  if (issuer === undefined || !URL.canParse(issuer)) throw undiscovered('Its metadata names no authorization server');
  return issuer;
}

function same(named: string, issuer: string | undefined): boolean {
  return issuer !== undefined && (named === issuer || named === `${issuer}/`);
}

/** https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#canonical-server-uri */
function canonical(url: string): string {
  const { origin, pathname, search } = new URL(url);
  return pathname === '/' && search === '' ? origin : `${origin}${pathname}${search}`;
}
