/** One gateway after another, with the same config and the same state: for what outlives a process. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { echo, expectRefused, request, sessionNotFound } from './behind.ts';
import type { Headers } from './client.ts';
import { connectLegacy, type Introduction, LegacyClient } from './eras.ts';
import { type ConfigValue, type Ports, startGateway, type TestGateway } from './gateway.ts';
import { legacyBackend, type Script } from './http-backend.ts';
import type { StdioBackend } from './stdio-backend.ts';

/** Removed when the test is over. */
export function directory(): string {
  const dir = mkdtempSync(join(tmpdir(), 'bascule-continued-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

export class Restarted {
  gateway!: TestGateway;
  readonly #config: ConfigValue;
  readonly #ports: Ports;

  constructor(config: ConfigValue, ports: Ports = {}) {
    this.#config = { store: { dir: directory() }, ...config };
    this.#ports = ports;
  }

  /** `more`: settings that are different from now on. */
  async start(more: ConfigValue = {}, ports: Ports = {}): Promise<TestGateway> {
    await this.gateway?.close();
    this.gateway = await startGateway({ ...this.#config, ...more }, { ...this.#ports, ...ports });
    return this.gateway;
  }

  connect(introduction?: Introduction, credentials?: Headers): Promise<LegacyClient> {
    return connectLegacy(this.gateway.url(), introduction, credentials);
  }

  /** The same client, at the gateway of now. */
  again({ session, revision, initialized, credentials }: LegacyClient, path = '/mcp'): LegacyClient {
    return new LegacyClient(`${this.gateway.origin}${path}`, session, revision, initialized, credentials);
  }
}

export async function restarted(config: ConfigValue, ports?: Ports): Promise<Restarted> {
  const made = new Restarted(config, ports);
  await made.start();
  return made;
}

/** Of a backend in a config. */
export function commandOf({ command, args }: StdioBackend): object {
  return { command, args };
}

/** What a client gets whose session is gone. */
export async function expectGone(client: LegacyClient): Promise<void> {
  expectRefused(await client.post(request(1, 'ping')), 404, { ...sessionNotFound, id: 1 });
}

/** A backend of restarted gateways that accepts what the gateway repeats. */
export const accepting: Script = {
  ...echo,
  'logging/setLevel': (turn) => turn.result({}),
  'resources/subscribe': (turn) => turn.result({}),
};

/** A session at such a backend. */
export async function openedAtFirst(config: ConfigValue = {}, ports: Ports = {}) {
  const backend = await legacyBackend(accepting);
  const gateways = await restarted({ backends: { b: { url: backend.url } }, ...config }, ports);
  return { backend, gateways, client: await gateways.connect() };
}
