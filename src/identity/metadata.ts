/**
 * Protected resource metadata (RFC 9728): tells clients which authorization servers an endpoint trusts. Endpoints that
 * accept no tokens have none.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/authorization-server-discovery#protected-resource-metadata-discovery-requirements
 */
import { canonicalAudience } from './audience.ts';
import type { GuardedAuth } from './auth-metadata.ts';

/** The address of the endpoint that a client used. If unknown, the first one. */
export interface UsedAddress {
  readonly path?: string | undefined;
  /** The `Host` header, after its check. It selects one of our addresses and is never echoed. */
  readonly host?: string | undefined;
}

export interface ProtectedResourceMetadata {
  readonly resource: string;
  readonly authorization_servers: readonly string[];
  readonly scopes_supported?: readonly string[];
  readonly bearer_methods_supported: readonly ['header'];
}

export const metadataPrefix = '/.well-known/oauth-protected-resource';

/** RFC 9728, 3.1: the well-known part is between host and path. */
export function metadataPath(path: string): string {
  return path === '/' ? metadataPrefix : `${metadataPrefix}${path}`;
}

/** Undefined if there is no document. */
export function metadataUrl(guard: GuardedAuth, place: UsedAddress = {}): string | undefined {
  return hasMetadata(guard) ? `${baseOf(guard, place)}${metadataPath(pathOf(guard, place))}` : undefined;
}

export function metadataDocument(guard: GuardedAuth, place: UsedAddress = {}): ProtectedResourceMetadata | undefined {
  if (!hasMetadata(guard)) return undefined;
  const path = pathOf(guard, place);
  // Only what basic use needs. Further scopes are requested by a challenge.
  const scopes = guard.scopes.needed();
  return {
    resource: `${baseOf(guard, place)}${path === '/' ? '' : path}`,
    authorization_servers: guard.authorizationServers,
    ...(scopes.length === 0 ? {} : { scopes_supported: scopes }),
    bearer_methods_supported: ['header'],
  };
}

export interface MetadataRoute {
  readonly guard: GuardedAuth;
  /** The path of the endpoint, not of the document. */
  readonly path: string;
}

/**
 * Every document by its path. The root has that of the endpoint at `/`, or else of the first endpoint: clients look
 * there if they found nothing at the endpoint's own path.
 */
export function metadataRoutes(guards: Iterable<GuardedAuth>): ReadonlyMap<string, MetadataRoute> {
  const routes = new Map<string, MetadataRoute>();
  let first: MetadataRoute | undefined;
  for (const guard of guards) {
    if (!hasMetadata(guard)) continue;
    for (const path of guard.paths) {
      const route = { guard, path };
      first ??= route;
      routes.set(metadataPath(path), route);
    }
  }
  if (first !== undefined && !routes.has(metadataPrefix)) routes.set(metadataPrefix, first);
  return routes;
}

function hasMetadata({ authorizationServers }: GuardedAuth): boolean {
  return authorizationServers.length > 0;
}

function baseOf({ bases }: GuardedAuth, { host }: UsedAddress): string {
  const usual = bases[0]!;
  const asked =
    host === undefined || bases.length === 1 ? undefined : canonicalAudience(`${new URL(usual).protocol}//${host}`);
  return bases.find((base) => base === asked) ?? usual;
}

function pathOf({ paths }: GuardedAuth, { path }: UsedAddress): string {
  return path !== undefined && paths.includes(path) ? path : paths[0]!;
}
