/** Where the gateway listens, and who may reach it there. */
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { resolve } from 'node:path';
import * as z from 'zod';
import { isLoopbackHost } from '../oauth/fetch/addresses.ts';
import { type BackendConfig, type ListenConfig, type ListenSocket, tlsVersions } from './config.ts';
import type { Complaint, ConfigDocument } from './document.ts';
import type { Variables } from './expand.ts';
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

/** In `trustedProxies`: whoever may open our Unix socket. */
export const SOCKET_PEERS = 'unix';

const range = shape.text(
  `an address or a CIDR range, such as 10.1.2.3 or 10.1.0.0/16, or ${SOCKET_PEERS}`,
  (text) => text === SOCKET_PEERS || isRange(text),
);

/** The system's limit for the path of a Unix socket, without the zero byte at its end: `sun_path`. */
export const SOCKET_PATH_BYTES = process.platform === 'darwin' ? 103 : 107;

const OWNER_AND_GROUP = 0o660;

/** Text alone: YAML reads 0660 as a decimal number, and 0o660 as another one. */
const fileMode = shape.textAs('the rights of the file as text in octal, such as "0660"', (text) =>
  /^0?[0-7]{3}$/.test(text) ? Number.parseInt(text, 8) : undefined,
);

export const listenShape = shape.closed('a map of settings', {
  host: shape.listenHost.default('127.0.0.1'),
  port: portShape.default(8808),
  socket: shape.oneLine.exactOptional(),
  mode: fileMode.exactOptional(),
  tls: shape
    .closed('a map with `cert` and `key`', {
      cert: shape.oneLine,
      key: shape.oneLine,
      minVersion: shape.choice(tlsVersions).default('TLSv1.2'),
    })
    .exactOptional(),
  allowedOrigins: z.array(shape.webOrigin, { error: 'a list of origins' }).default([]),
  allowedHosts: z.array(shape.hostHeader, { error: 'a list of host names' }).default([]),
  trustedProxies: z.array(range, { error: 'a list of addresses' }).default([]),
  openToNetwork: shape.flag.default(false),
});

type WrittenListen = z.infer<typeof listenShape>;

export interface ListenSettings extends Omit<WrittenListen, 'socket' | 'mode'> {
  readonly socket?: ListenSocket;
}

const usual = listenShape.omit({ socket: true, mode: true }).parse({}) satisfies ListenSettings;

/**
 * Undefined where it is not there, or wrong: that was reported. It is read apart from the rest of the file, so that
 * exposure to the network is reported together with all other problems. `directory`: what paths are relative to.
 */
export function readListen(
  document: ConfigDocument,
  directory: string,
  variables: Variables,
): ListenSettings | undefined {
  const { data } = listenShape.safeParse(document.read(['listen'], variables));
  const keys = document.keys(['listen']) ?? [];
  if (data === undefined) return undefined;
  const { socket, mode, tls, ...rest } = data;
  if (socket === undefined) {
    if (keys.includes('mode')) document.reportMeaningless(['listen', 'mode'], 'beside a `socket`');
    const at = rest.trustedProxies.indexOf(SOCKET_PEERS);
    if (at !== -1) document.reportMeaningless(['listen', 'trustedProxies', at], 'beside a `socket`');
  } else for (const key of ['host', 'port', 'tls'].filter((it) => keys.includes(it))) contradicts(document, key);
  const path = socket === undefined ? undefined : resolve(directory, socket);
  if (path !== undefined && Buffer.byteLength(path) > SOCKET_PATH_BYTES)
    document.report(['listen', 'socket'], {
      message: '`socket` is too long for the path of a Unix socket',
      expected: `a path of at most ${SOCKET_PATH_BYTES} bytes`,
    });
  return {
    ...rest,
    // Whoever may open the file is on this machine.
    ...(path !== undefined && { host: 'localhost', port: 0, socket: { path, mode: mode ?? OWNER_AND_GROUP } }),
    ...(tls && { tls: { ...tls, cert: resolve(directory, tls.cert), key: resolve(directory, tls.key) } }),
  };
}

function contradicts(document: ConfigDocument, key: string): void {
  document.reportKey(['listen', key], {
    message: `both \`socket\` and \`${key}\``,
    expected: 'one of them: a Unix socket has no address, and nothing can listen in on it',
  });
}

/** `over` is the command line. */
export function buildListen(
  given: Partial<ListenSettings> = {},
  over: CheckedOverrides = {},
  publicUrl?: string,
): ListenConfig {
  const { socket, ...listen }: ListenSettings = { ...usual, ...given };
  const isElsewhere = over.host !== undefined || over.port !== undefined;
  return {
    ...listen,
    host: over.host ?? listen.host,
    port: over.port ?? listen.port,
    ...(socket !== undefined && !isElsewhere && { socket }),
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
  if (backend.kind !== 'http' || backend.socket !== undefined) return false;
  const url = shape.parseUrl(backend.url);
  // An invalid URL is reported elsewhere.
  if (url === undefined) return false;
  if (publicUrl !== undefined && shape.parseUrl(publicUrl)?.origin === url.origin) return true;
  const isOurScheme = url.protocol === (listen.tls === undefined ? 'http:' : 'https:');
  return isOurScheme && portOf(url) === listen.port && isOurHost(hostOf(url.hostname), listen.host);
}

function portOf({ port, protocol }: URL): number {
  if (port !== '') return Number(port);
  return protocol === 'https:' ? 443 : 80;
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
