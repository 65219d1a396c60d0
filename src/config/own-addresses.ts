/**
 * Detects backends that are this gateway itself. People add the gateway's URL to the file that it serves, since their
 * client reads the same file. As its own backend it would request its own lists without end.
 */
import { networkInterfaces } from 'node:os';
import type { BackendConfig, ListenConfig } from './config.ts';
import { isLoopback } from './listen.ts';
import { parseUrl } from './shapes.ts';

export interface Ours {
  readonly listen: ListenConfig;
  readonly publicUrl: string | undefined;
}

/** True for every path: whatever is served at our origin is ours. */
export function isOurselves(backend: BackendConfig, { listen, publicUrl }: Ours): boolean {
  if (backend.kind !== 'http') return false;
  const url = parseUrl(backend.url);
  // An invalid URL is reported elsewhere.
  if (url === undefined) return false;
  if (publicUrl !== undefined && parseUrl(publicUrl)?.origin === url.origin) return true;
  return url.protocol === 'http:' && portOf(url) === listen.port && isOurHost(hostOf(url.hostname), listen.host);
}

function portOf({ port }: URL): number {
  return port === '' ? 80 : Number(port);
}

/** Without the brackets of IPv6, and without the trailing dot of a fully qualified name. */
function hostOf(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
}

function isOurHost(host: string, listening: string): boolean {
  if (host === listening) return true;
  if (isWildcard(listening)) return isWildcard(host) || isLoopback(host) || interfaces().has(host);
  // `localhost` is 127.0.0.1 or ::1, depending on the machine. Other addresses of 127.0.0.0/8 may be different servers.
  return isUsualLoopback(host) && isUsualLoopback(listening);
}

function isWildcard(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

function isUsualLoopback(host: string): boolean {
  return host === 'localhost' || host === '127.0.0.1' || host === '::1' || host === '::ffff:7f00:1';
}

function interfaces(): ReadonlySet<string> {
  return new Set(Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address)));
}
