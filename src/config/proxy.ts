/** Reads and checks `proxy`: the listener for clients that reach backends under the backends' own addresses. */
import * as z from 'zod';
import { isLoopbackHost } from '../oauth/fetch/addresses.ts';
import { ambiguousUrls, type ProxiedConfig, proxyHostsOf } from '../proxy/hosts.ts';
import type { ConfigDocument } from './document.ts';
import type { Variables } from './expand.ts';
import { check } from './issues.ts';
import { portShape } from './listen.ts';
import * as shape from './shapes.ts';

export interface ProxyConfig {
  readonly listen: { readonly host: string; readonly port: number };
  /** `host:port` of backends whose connections pass unread. */
  readonly tunnels: readonly string[];
}

const here = ['proxy'];

const proxyShape = shape.once(() =>
  shape.closed('a map of settings', {
    listen: shape
      .closed('a map with `host` or `port`', {
        host: shape.listenHost.default('127.0.0.1'),
        port: portShape.default(8811),
      })
      .prefault({}),
    hosts: z
      .record(z.string(), shape.closed('a map with `tunnel`', { tunnel: shape.flag.default(false) }), {
        error: 'a map of hosts with their ports, such as `search.example:443: { tunnel: true }`',
      })
      .default({}),
  }),
);

/** Undefined if absent, or invalid and reported. */
export function readProxy(document: ConfigDocument, variables: Variables): ProxyConfig | undefined {
  const value = document.read(here, variables);
  const draft = value === undefined ? undefined : check(document, here, value ?? {}, proxyShape());
  if (draft === undefined) return undefined;
  const { listen, hosts } = draft;
  return { listen, tunnels: Object.keys(hosts).filter((host) => hosts[host]?.tunnel === true) };
}

/** Needs the backends and endpoints, which are known last. */
export function checkProxy(
  document: ConfigDocument,
  config: Pick<ProxiedConfig, 'backends' | 'services' | 'endpoints'>,
  proxy: ProxyConfig | undefined,
): void {
  if (proxy === undefined) return;
  const hosts = proxyHostsOf({ ...config, proxy });
  const known = [...hosts.keys()];
  if (known.length === 0)
    document.report(here, {
      message: 'there is no backend that the proxy could serve',
      expected: 'a backend with a `url`, and an endpoint for this backend alone',
    });
  for (const name of document.keys([...here, 'hosts']) ?? []) {
    if (known.includes(name)) continue;
    document.reportKey([...here, 'hosts', name], {
      message: `no backend that the proxy serves is at \`${name}\``,
      expected: `one of: ${known.join(', ')}`,
      candidates: known,
      wrong: name,
    });
  }
  for (const { url, names } of ambiguousUrls(config))
    document.report(here, {
      message: `the backends ${names.map((name) => `\`${name}\``).join(' and ')} have the same address ${url}`,
      expected: 'addresses that differ: through the proxy, the address says which backend is meant',
    });
  if (isLoopbackHost(proxy.listen.host)) return;
  const open = [...hosts.values()].flatMap(({ targets }) => [...targets.values()]).find(({ isOpen }) => isOpen);
  if (open === undefined) return;
  document.report([...here, 'listen', 'host'], {
    message: `the proxy would be reached from the network, and ${open.endpoint} requires no authentication`,
    expected: '127.0.0.1, ::1 or localhost; or `identity` for the endpoints of all backends with a `url`',
  });
}
