/** The route of each path. Paths are compared as they are in the request line, without normalisation. */
import type { Endpoint } from '../exchange/arrival.ts';
import { era } from '../wire/revisions.ts';

export type Route = Allowed &
  (
    | { readonly kind: 'mcp' | 'rpc'; readonly endpoint: Endpoint }
    /** The two addresses of HTTP+SSE: the stream's and the one for messages. */
    | { readonly kind: 'sse'; readonly endpoint: Endpoint; readonly messages: string }
    | { readonly kind: 'messages'; readonly endpoint: Endpoint; readonly stream: string }
    | { readonly kind: 'health' | 'ready' }
    | { readonly kind: 'document'; readonly document: object }
  );

export type EndpointRoute = Extract<Route, { endpoint: unknown }>;

interface Allowed {
  readonly methods: ReadonlySet<string | undefined>;
  /** The same methods, as the `Allow` header lists them. */
  readonly allow: string;
}

export type Routes = ReadonlyMap<string, Route>;

/** 2026-07-28 has only POST. */
export const MODERN_ALLOW = 'POST, OPTIONS';
const LEGACY_ALLOW = 'GET, POST, DELETE, OPTIONS';
const OWN_ALLOW = 'GET, HEAD, OPTIONS';

function allowing(allow: string): Allowed {
  return { allow, methods: new Set(allow.split(', ')) };
}

/** For a document that is built on request. */
export function documentRoute(document: object): Route {
  return { kind: 'document', document, ...allowing(OWN_ALLOW) };
}

/** An endpoint that the config names wins over a derived HTTP+SSE address with the same path. */
export function routesOf(endpoints: readonly Endpoint[]): Routes {
  const routes = new Map<string, Route>();
  for (const endpoint of endpoints) addHttpSse(routes, endpoint);
  routes.set('/healthz', { kind: 'health', ...allowing(OWN_ALLOW) });
  routes.set('/readyz', { kind: 'ready', ...allowing(OWN_ALLOW) });
  for (const endpoint of endpoints) {
    const kind = endpoint.protocol === 'json-rpc' ? 'rpc' : 'mcp';
    const hasLegacy = kind === 'mcp' && endpoint.profile.revisions.some((revision) => era(revision) === 'legacy');
    routes.set(endpoint.path, { kind, endpoint, ...allowing(hasLegacy ? LEGACY_ALLOW : MODERN_ALLOW) });
  }
  return routes;
}

/** An endpoint's path may end in a slash: people write it so, and clients do not follow redirects. */
export function routeBeforeSlash(routes: Routes, path: string): Route | undefined {
  const short = path.endsWith('/') ? routes.get(path.slice(0, -1)) : undefined;
  return short !== undefined && 'endpoint' in short ? short : undefined;
}

const serverPath = /^(\/servers\/[^/]+)\/(mcp|sse|messages)\/?$/;

/** The endpoint path of the server that this path would belong to, whether or not that server exists. */
export function serverEndpointOf(path: string): string | undefined {
  const parts = serverPath.exec(path);
  return parts === null ? undefined : `${parts[1]}/mcp`;
}

/**
 * The route that a nonexistent server would have, so that unauthenticated senders get the same response as for a real
 * one.
 */
export function hiddenRoute(routes: Routes, path: string, endpointPath: string): Route | undefined {
  const end = serverPath.exec(path)?.[2];
  for (const [known, route] of routes) {
    if (!('endpoint' in route) || serverPath.exec(known)?.[2] !== end) continue;
    const endpoint = { ...route.endpoint, path: endpointPath, backends: [] };
    return route.kind === 'messages'
      ? { ...route, endpoint, stream: endpointPath.replace(/mcp$/, 'sse') }
      : { ...route, endpoint };
  }
  return undefined;
}

/** Every path of the endpoint, its own first. */
export function pathsOf(routes: Routes, endpoint: Endpoint): readonly string[] {
  const paths = [...routes].flatMap(([path, route]) =>
    'endpoint' in route && route.endpoint === endpoint && path !== endpoint.path ? [path] : [],
  );
  return [endpoint.path, ...paths];
}

/** HTTP+SSE is the transport of the first revision: the addresses exist only if the profile has that revision. */
function addHttpSse(routes: Map<string, Route>, endpoint: Endpoint): void {
  if (!endpoint.profile.revisions.includes('2024-11-05')) return;
  const base = endpoint.path.replace(/\/(?:mcp)?$/, '');
  const stream = `${base}/sse`;
  const messages = `${base}/messages`;
  routes.set(stream, { kind: 'sse', endpoint, messages, ...allowing('GET, OPTIONS') });
  routes.set(messages, { kind: 'messages', endpoint, stream, ...allowing(MODERN_ALLOW) });
}
