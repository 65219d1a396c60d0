/** Where the gateway listens, and who may reach it there. */
import { isIP, isIPv4 } from 'node:net';
import * as z from 'zod';
import type { ListenConfig } from './config.ts';
import type { Complaint } from './document.ts';
import * as shape from './shapes.ts';

const aRange = 'an address or a CIDR range, such as 10.1.2.3 or 10.1.0.0/16';

export function isRange(text: string): boolean {
  const [network = '', bits] = text.split('/', 2);
  if (network.includes('%')) return false;
  if (bits === undefined) return isIP(text) !== 0;
  const most = { 0: -1, 4: 32, 6: 128 }[isIP(network)] ?? -1;
  return /^\d{1,3}$/.test(bits) && Number(bits) <= most;
}

/** 0: the system chooses a free port. */
export const portShape = shape.quantity({ unit: 'count', min: 0, max: 65_535 });

export const listenShape = shape.closed('a map of settings', {
  host: shape.listenHost.optional(),
  port: portShape.optional(),
  allowedOrigins: z.array(shape.webOrigin, { error: 'a list of origins' }).optional(),
  allowedHosts: z.array(shape.hostHeader, { error: 'a list of host names' }).optional(),
  trustedProxies: z
    .array(z.string({ error: aRange }).refine(isRange, { error: aRange }), { error: 'a list of addresses' })
    .optional(),
  openToNetwork: shape.flag.optional(),
});

export type ListenDraft = z.infer<typeof listenShape>;

const defaultHost = '127.0.0.1';
const defaultPort = 8808;

/** `over` is the command line. */
export function buildListen(draft: ListenDraft = {}, over: ListenDraft = {}, publicUrl?: string): ListenConfig {
  return {
    host: over.host ?? draft.host ?? defaultHost,
    port: over.port ?? draft.port ?? defaultPort,
    allowedOrigins: [...(draft.allowedOrigins ?? [])],
    allowedHosts: [...(draft.allowedHosts ?? [])],
    ...(publicUrl === undefined ? {} : { publicHost: new URL(publicUrl).hostname }),
    trustedProxies: [...(draft.trustedProxies ?? [])],
    openToNetwork: over.openToNetwork ?? draft.openToNetwork ?? false,
  };
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}

/**
 * Without authentication, anybody who can reach the port can use every backend with the credentials from the config.
 */
export function exposure({ host, openToNetwork }: ListenConfig, onCommandLine: boolean): Complaint | undefined {
  if (openToNetwork || isLoopback(host)) return undefined;
  return {
    message: 'others could reach this address, and nobody would ask who they are',
    expected: `127.0.0.1, ::1 or localhost; or \`${onCommandLine ? '--open-to-network' : 'openToNetwork: true'}\` to allow it all the same`,
  };
}
