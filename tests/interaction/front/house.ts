/**
 * One gateway for a suite, with an endpoint of each kind, in front of a legacy and a modern backend that count what
 * they get. The gateway knows both already: what reaches them from now on was caused by a test.
 */

import { text } from '../harness/behind.ts';
import { type Json, until } from '../harness/client.ts';
import { connectLegacy, type Introduction, type LegacyClient } from '../harness/eras.ts';
import { type ConfigValue, launchGateway, type Ports, type TestGateway } from '../harness/gateway.ts';
import {
  launchLegacyBackend,
  launchModernBackend,
  type Script,
  type ScriptedBackend,
} from '../harness/http-backend.ts';

export interface House {
  readonly gateway: TestGateway;
  readonly legacy: ScriptedBackend;
  readonly modern: ScriptedBackend;
  /** The whole address of a path. */
  at(path: string): string;
  /** A session at the legacy backend, of which everything has arrived that it causes by itself. */
  connect(path: string, introduction?: Introduction): Promise<Connected>;
  /** What the backends got is forgotten. */
  forget(): void;
  close(): Promise<void>;
}

export interface Connected {
  readonly client: LegacyClient;
  /** How the backend calls the session. */
  readonly upstream: string;
}

export interface HouseOptions {
  readonly limits?: Readonly<Record<string, number>>;
  readonly listen?: ConfigValue;
  readonly ports?: Ports;
  /** For both backends. A modern one's answers may not lack anything. */
  readonly script?: Script;
}

/** In front of which backend, and with what profile. */
const endpoints = [
  { path: '/legacy/mcp', backends: ['legacy'] },
  { path: '/modern/mcp', backends: ['modern'] },
  { path: '/legacy-only/mcp', backends: ['legacy'], profile: { revisions: ['2025-06-18', '2025-11-25'] } },
  { path: '/modern-only/mcp', backends: ['modern'], profile: { revisions: ['2026-07-28'] } },
  { path: '/strict/mcp', backends: ['modern'], profile: { accept: 'strict' } },
  { path: '/batches/mcp', backends: ['legacy'], profile: { batches: 'allow' } },
];

export const tool = { name: 'work', inputSchema: { type: 'object', properties: {} } };

/** The script of both backends. Members of the other era are ignored. */
const script: Script = {
  'tools/list': (turn) => turn.result({ resultType: 'complete', tools: [tool], ttlMs: 0, cacheScope: 'private' }),
  'tools/call': (turn) => turn.result(worked(turn.message)),
};

export function worked(message: Json): object {
  return { resultType: 'complete', ...text(JSON.stringify(message.params.arguments ?? {})) };
}

/** The caller closes it. */
export async function launchHouse(options: HouseOptions = {}): Promise<House> {
  const scripted = { ...script, ...options.script };
  const [legacy, modern] = await Promise.all([launchLegacyBackend(scripted), launchModernBackend(scripted)]);
  const gateway = await launchGateway(
    {
      backends: { legacy: { url: legacy.url }, modern: { url: modern.url } },
      endpoints,
      ...(options.limits && { limits: options.limits }),
      ...(options.listen && { listen: options.listen }),
    },
    options.ports,
  );
  const house: House = {
    gateway,
    legacy,
    modern,
    at: (path) => `${gateway.origin}${path}`,
    connect: async (path, introduction) => {
      const client = await connectLegacy(house.at(path), introduction);
      const { headers } = await legacy.arrival('notifications/initialized');
      const upstream = String(headers['mcp-session-id']);
      await until(() => legacy.received.some(({ http }) => http === 'GET'), 'its standalone stream is open');
      house.forget();
      return { client, upstream };
    },
    forget: () => {
      legacy.forget();
      modern.forget();
    },
    close: async () => {
      await gateway.close();
      await Promise.all([legacy.close(), modern.close()]);
    },
  };
  for (const backend of gateway.assembled.backends) await backend.discover();
  await until(() => legacy.received.some(({ http }) => http === 'DELETE'), 'the session of the probe has ended');
  house.forget();
  return house;
}
