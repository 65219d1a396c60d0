/** Finds the authorization server that a backend trusts, from its challenge and its metadata (RFC 9728). */
import * as z from 'zod';
import { Failure } from '../../errors/failure.ts';
import { wellKnown } from '../well-known.ts';
import type { Challenge } from './challenge.ts';
import type { GuardedFetch } from './guarded-fetch.ts';
import { credentialLimits } from './limits.ts';
import { tidy } from './scopes.ts';
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
export function canonical(url: string): string {
  const { origin, pathname, search } = new URL(url);
  return pathname === '/' && search === '' ? origin : `${origin}${pathname}${search}`;
}

interface ResourceMetadata {
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
 * The protected resource metadata of a backend. Undefined if there is none, as with backends of 2025-03-26. `named` is
 * the URL from the challenge: then no other is tried.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/authorization-server-discovery#protected-resource-metadata-discovery-requirements
 */
async function resourceMetadata(
  guardedFetch: GuardedFetch,
  { url, auth }: BackendAuthSettings,
  named: string | undefined,
): Promise<ResourceMetadata | undefined> {
  const document = await guardedFetch.firstDocument(named === undefined ? placesOf(url) : [named]);
  if (document === undefined) {
    if (named === undefined) return undefined;
    throw undiscovered('There is no metadata at the address in its challenge');
  }
  const { data } = shape.safeParse(document);
  if (data === undefined) throw undiscovered('Its metadata is malformed');
  if (!isPartOf(auth.resource ?? url, data.resource)) throw undiscovered('Its metadata belongs to another resource');
  return {
    resource: data.resource,
    issuers: (data.authorization_servers ?? []).slice(0, credentialLimits.servers),
    ...(data.scopes_supported === undefined ? {} : { scopes: tidy(data.scopes_supported) }),
  };
}

/** With the path first, then at the root; both are the same if there is no path. */
export function placesOf(url: string): readonly string[] {
  const suffix = 'oauth-protected-resource';
  return [...new Set([wellKnown(url, suffix), wellKnown(new URL(url).origin, suffix)])];
}

/**
 * RFC 9728, 3.3 requires the identical resource. Metadata at the root covers the whole origin, so we also accept a
 * resource that contains our URL, as the official SDKs do. A different origin or a sibling path is never accepted.
 */
export function isPartOf(address: string, resource: string): boolean {
  if (!URL.canParse(resource) || !URL.canParse(address)) return false;
  const [whole, part] = [new URL(resource), new URL(address)];
  if (whole.origin !== part.origin || whole.hash !== '' || whole.username !== '' || whole.password !== '') return false;
  if (whole.search !== '' && whole.search !== part.search) return false;
  return withSlash(part.pathname).startsWith(withSlash(whole.pathname));
}

function withSlash(path: string): string {
  return path.endsWith('/') ? path : `${path}/`;
}

function undiscovered(message: string): Failure {
  return new Failure('authorization_undiscovered', { message });
}
