/**
 * What the proxy serves: the hosts and addresses of the backends in the config, exactly as they are written there, and
 * the endpoint of each.
 */
import type { Config, HttpBackendConfig, ServiceConfig } from '../config/config.ts';

/** The parts of a config that decide it. */
export type ProxiedConfig = Pick<Config, 'backends' | 'services' | 'endpoints' | 'proxy'>;

export interface ProxyHost {
  /** Lower case, with its port: `search.example:443`, `[::1]:9000`. */
  readonly authority: string;
  /** Without port and brackets, as certificates name it. */
  readonly name: string;
  readonly isTls: boolean;
  /** Connections pass unread. */
  readonly isTunnel: boolean;
  /** By path and query. */
  readonly targets: ReadonlyMap<string, ProxyTarget>;
  /** Where documents about authorization may be read: of a backend that takes its clients' own credentials. */
  readonly documentsOf: string | undefined;
}

export interface ProxyTarget {
  /** The path of the endpoint that has this backend alone. */
  readonly endpoint: string;
  /** It requires no authentication. */
  readonly isOpen: boolean;
  /** `Authorization` of a request is meant for the backend, and reaches it. */
  readonly passesCredential: boolean;
}

interface AddressedBackend extends Pick<ServiceConfig, 'name' | 'url'>, Pick<HttpBackendConfig, 'credentials'> {}

type Addressed = Pick<ProxiedConfig, 'backends' | 'services'>;

/** By authority. */
export function proxyHostsOf(config: ProxiedConfig): ReadonlyMap<string, ProxyHost> {
  const hosts = new Map<string, ProxyHost & { readonly targets: Map<string, ProxyTarget> }>();
  for (const { name, url: text, credentials } of addressed(config)) {
    const endpoint = endpointOf(config, name);
    if (endpoint === undefined) continue;
    const url = new URL(text);
    const authority = authorityOf(url);
    const passesCredential = credentials === 'client';
    const before = hosts.get(authority);
    const targets = before?.targets ?? new Map<string, ProxyTarget>();
    const { path, identity } = endpoint;
    targets.set(`${url.pathname}${url.search}`, { endpoint: path, isOpen: identity.kind === 'open', passesCredential });
    hosts.set(authority, {
      authority,
      name: url.hostname.replace(/^\[(.*)\]$/, '$1'),
      isTls: url.protocol === 'https:',
      isTunnel: config.proxy?.tunnels.includes(authority) === true,
      targets,
      documentsOf: before?.documentsOf ?? (passesCredential ? text : undefined),
    });
  }
  return hosts;
}

/** The hosts that a CA has to permit. */
export function interceptedNames(config: ProxiedConfig): readonly string[] {
  const hosts = [...proxyHostsOf(config).values()].filter(({ isTls, isTunnel }) => isTls && !isTunnel);
  return [...new Set(hosts.map(({ name }) => name))].sort();
}

/** Backends that the proxy cannot tell apart. */
export function ambiguousUrls(config: Addressed): readonly { readonly url: string; readonly names: string[] }[] {
  const byUrl = new Map<string, string[]>();
  for (const { name, url } of addressed(config)) {
    const { origin, pathname, search } = new URL(url);
    const key = `${origin}${pathname}${search}`;
    byUrl.set(key, [...(byUrl.get(key) ?? []), name]);
  }
  return [...byUrl].flatMap(([url, names]) => (names.length > 1 ? [{ url, names }] : []));
}

export function authorityOf({ hostname, port, protocol }: URL): string {
  return `${hostname}:${port === '' ? (protocol === 'https:' ? '443' : '80') : port}`;
}

function addressed({ backends, services }: Addressed): readonly AddressedBackend[] {
  const overHttp = backends.filter((backend): backend is HttpBackendConfig => backend.kind === 'http');
  // What is behind a Unix socket has no address of its own.
  return [...overHttp, ...services].filter(({ socket }) => socket === undefined);
}

/** The usual path of a single server wins over others. */
function endpointOf({ endpoints }: ProxiedConfig, name: string): ProxiedConfig['endpoints'][number] | undefined {
  const own = endpoints.filter(({ backends }) => backends.length === 1 && backends[0] === name);
  const usual = `/servers/${encodeURIComponent(name)}/mcp`;
  return own.find(({ path }) => path === usual) ?? own[0];
}
