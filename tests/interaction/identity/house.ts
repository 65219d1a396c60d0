/** Endpoints with every kind of identity, and backends that count what reaches them. The caller closes it. */
import { expect } from 'vitest';
import { type Answer, type Headers, send } from '../harness/client.ts';
import { KeyRing, launchTokenIssuer, type TokenIssuer } from '../harness/credentials.ts';
import { type ConfigValue, launchGateway, type Ports, type TestGateway } from '../harness/gateway.ts';
import {
  launchLegacyBackend,
  launchModernBackend,
  type Script,
  type ScriptedBackend,
} from '../harness/http-backend.ts';
import type { Way } from './ways.ts';

export interface HouseOptions {
  /** `identity:` at the top of the file; what it leaves out is there. */
  readonly identity?: (issuer: TokenIssuer, ring: KeyRing) => ConfigValue;
  readonly endpoints?: readonly ConfigValue[];
  readonly limits?: Readonly<Record<string, number>>;
  readonly script?: Script;
  readonly ports?: Ports;
}

export interface House {
  readonly issuer: TokenIssuer;
  readonly ring: KeyRing;
  /** Keys that were there from the beginning. */
  readonly keys: { readonly good: string; readonly poor: string; readonly expired: string };
  /** What the gateway was started with. */
  readonly config: ConfigValue;
  readonly gateway: TestGateway;
  readonly legacy: ScriptedBackend;
  readonly modern: ScriptedBackend;
  /** Sends it to an endpoint, or to where that way leads from there. */
  try(way: Way, path: string, headers?: Headers): Promise<Answer>;
  /** Nothing reached a backend since the last time. */
  expectNothingPassed(): void;
  close(): Promise<void>;
}

/** All that is asked for in these suites. */
export const everyScope = ['mcp:use', 'tools:call', 'tools:danger'];

export async function launchHouse(options: HouseOptions = {}): Promise<House> {
  const issuer = await launchTokenIssuer();
  const ring = new KeyRing();
  const keys = {
    good: ring.make('carol', { scopes: everyScope }),
    poor: ring.make('poor'),
    expired: ring.make('late', { scopes: everyScope, expiresAt: 1 }),
  };
  const { script = {}, endpoints, limits, ports } = options;
  const legacy = await launchLegacyBackend(script);
  const modern = await launchModernBackend(script);
  const identity = options.identity?.(issuer, ring) ?? {
    keys: { file: ring.path, header: 'x-access-key' },
    issuers: [{ issuer: issuer.url }],
  };
  const config: ConfigValue = {
    backends: { legacy: { url: legacy.url }, modern: { url: modern.url } },
    identity,
    listen: { allowedOrigins: ['https://page.example'] },
    ...(endpoints && { endpoints }),
    ...(limits && { limits }),
  };
  const gateway = await launchGateway(config, ports);
  return {
    issuer,
    ring,
    keys,
    config,
    gateway,
    legacy,
    modern,
    try: ({ at = (path) => path, call }, path, headers = {}) =>
      send(`${gateway.origin}${at(path)}`, { ...call, headers: { ...call.headers, ...headers } }),
    expectNothingPassed: () => {
      expect({ legacy: legacy.bytes, modern: modern.bytes }).toEqual({ legacy: 0, modern: 0 });
      expect({ legacy: legacy.connections, modern: modern.connections }).toEqual({ legacy: 0, modern: 0 });
    },
    close: async () => {
      await gateway.close();
      await Promise.all([legacy.close(), modern.close(), issuer.close()]);
      ring.close();
    },
  };
}

/** An allowed page asks; what it may read of the answer is the same whatever comes of it. */
export const page = { origin: 'https://page.example' };
export const readableByPages = {
  'access-control-allow-origin': 'https://page.example',
  'access-control-expose-headers': 'Mcp-Session-Id, WWW-Authenticate',
  vary: 'Origin',
};

export function corsOf({ headers }: Answer): object {
  return Object.fromEntries(Object.keys(readableByPages).map((name) => [name, headers[name]]));
}
