/**
 * Backends that are this gateway itself. People put the gateway's address into the file that it serves, since their client
 * reads the same file: as a backend of itself it would ask itself for its own lists, without end.
 */
import { networkInterfaces } from 'node:os';
import type { BackendConfig, ListenConfig } from './config.ts';
import { isLoopback } from './listen.ts';
import { parseUrl } from './shapes.ts';

export interface Ours {
  readonly listen: ListenConfig;
  readonly publicUrl: string | undefined;
}

/** True for every path there: whatever is served at our origin is ours. */
export function isOurselves(backend: BackendConfig, { listen, publicUrl }: Ours): boolean {
  if (backend.kind !== 'http') return false;
  const url = parseUrl(backend.url);
  // An address that cannot be read is reported where it stands.
  if (url === undefined) return false;
  if (publicUrl !== undefined && parseUrl(publicUrl)?.origin === url.origin) return true;
  return url.protocol === 'http:' && portOf(url) === listen.port && isOurHost(hostOf(url.hostname), listen.host);
}

function portOf({ port }: URL): number {
  return port === '' ? 80 : Number(port);
}

/** Without the brackets of an IPv6 address, and without the dot that ends a full name. */
function hostOf(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
}

function isOurHost(host: string, listening: string): boolean {
  if (host === listening) return true;
  if (isWildcard(listening)) return isWildcard(host) || isLoopback(host) || interfaces().has(host);
  // `localhost` is 127.0.0.1 or ::1, as the machine likes; another address of 127.0.0.0/8 may be another server.
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
