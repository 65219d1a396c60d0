/** Where the gateway listens, and who may reach it there. */
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import * as z from 'zod';
import { isLoopbackHost } from '../oauth/fetch/addresses.ts';
import type { BackendConfig, ListenConfig } from './config.ts';
import type { Complaint } from './document.ts';
import type { CheckedOverrides } from './overrides.ts';
import * as shape from './shapes.ts';

export function isRange(text: string): boolean {
  const [network = '', bits] = text.split('/', 2);
  if (network.includes('%')) return false;
  if (bits === undefined) return isIP(text) !== 0;
  const most = { 0: -1, 4: 32, 6: 128 }[isIP(network)] ?? -1;
  return /^\d{1,3}$/.test(bits) && Number(bits) <= most;
}

/** 0: the system chooses a free port. */
export const portShape = shape.quantity({ unit: 'count', min: 0, max: 65_535 });

const range = shape.text('an address or a CIDR range, such as 10.1.2.3 or 10.1.0.0/16', isRange);

export const listenShape = shape.closed('a map of settings', {
  host: shape.listenHost.default('127.0.0.1'),
  port: portShape.default(8808),
  allowedOrigins: z.array(shape.webOrigin, { error: 'a list of origins' }).default([]),
  allowedHosts: z.array(shape.hostHeader, { error: 'a list of host names' }).default([]),
  trustedProxies: z.array(range, { error: 'a list of addresses' }).default([]),
  openToNetwork: shape.flag.default(false),
});

export type ListenSettings = z.infer<typeof listenShape>;

const usual = listenShape.parse({});

/** `over` is the command line. */
export function buildListen(
  given: Partial<ListenSettings> = {},
  over: CheckedOverrides = {},
  publicUrl?: string,
): ListenConfig {
  const listen = { ...usual, ...given };
  return {
    ...listen,
    host: over.host ?? listen.host,
    port: over.port ?? listen.port,
    openToNetwork: over.openToNetwork ?? listen.openToNetwork,
    ...(publicUrl !== undefined && { publicHost: new URL(publicUrl).hostname }),
  };
}

/**
 * Without authentication, anybody who can reach the port can use every backend with the credentials from the config.
 */
export function exposure({ host, openToNetwork }: ListenConfig, onCommandLine: boolean): Complaint | undefined {
  if (openToNetwork || isLoopbackHost(host)) return undefined;
  return {
    message: 'this address can be reached from the network, and the gateway requires no authentication',
    expected: `127.0.0.1, ::1 or localhost; or \`${onCommandLine ? '--open-to-network' : 'openToNetwork: true'}\` to allow it`,
  };
}

/**
 * Whether a backend is this gateway itself. People add the gateway's URL to the file that it serves, since their client
 * reads the same file. As its own backend it would request its own lists without end. Every path at our origin is ours.
 */
export function isOurselves(backend: BackendConfig, listen: ListenConfig, publicUrl: string | undefined): boolean {
  if (backend.kind !== 'http') return false;
  const url = shape.parseUrl(backend.url);
  // An invalid URL is reported elsewhere.
  if (url === undefined) return false;
  if (publicUrl !== undefined && shape.parseUrl(publicUrl)?.origin === url.origin) return true;
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
  if (isWildcard(listening)) return isWildcard(host) || isLoopbackHost(host) || interfaces().has(host);
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
