/** The gateway itself, as its users start it: `bascule serve <config>`. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { programPath, root } from '../build.ts';
import { type Launched, launch } from '../process.ts';
import { backendsUnder, type Contestant, type Place, type Running, type StartOptions } from './contestant.ts';
import { backendPaths, startWarmBackend } from './direct.ts';

const program = join(root, 'bin/bascule.js');
const url = /http:\/\/127\.0\.0\.1:\d+(?=[/\s])/;

export function missing(): string | undefined {
  return existsSync(join(root, 'dist/main.js')) ? undefined : 'not built; `npm run build` does it';
}

interface Gateway extends Launched {
  place(target: string): Omit<Place, 'backendPids'>;
}

export async function serve(
  config: object,
  file: string,
  nodeArgs: readonly string[],
  hear?: (chunk: string) => void,
  options: readonly string[] = [],
): Promise<Gateway> {
  const directory = mkdtempSync(join(tmpdir(), 'bascule-bench-'));
  const path = join(directory, file);
  // JSON is YAML too.
  writeFileSync(path, JSON.stringify(config));
  const args = [...nodeArgs, program, 'serve', path, '--port', '0', ...options];
  const launched = await launch({ name: 'Bascule', args, ready: url, ...(hear && { hear }) });
  const { pid, spawnedAt, said } = launched;
  return {
    ...launched,
    place: (target) => ({ url: new URL(`/servers/${target}/mcp`, said), pid, spawnedAt }),
    stop: async () => {
      await launched.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** The limits under which one principal may have so many sessions, and their streams. */
export function limitsFor(sessions: number, streamsUpstream = sessions): object {
  return {
    sessionsPerPrincipal: sessions,
    sessionsTotal: sessions,
    connectionsTotal: 2 * sessions,
    connectionsPerAddress: 2 * sessions,
    streamsPerBackend: streamsUpstream,
  };
}

async function overHttp(options: StartOptions): Promise<Running> {
  if (options.sessions !== undefined) return overHttpWith({ limits: limitsFor(options.sessions) }, options);
  return behind('mcp.json', (servers) => ({ mcpServers: servers }), options);
}

/** `settings` stand beside the backends in the config. */
export function overHttpWith(settings: object, options: StartOptions): Promise<Running> {
  return behind('bascule.yaml', (backends) => ({ backends, ...settings }), options);
}

async function behind(
  file: string,
  configOf: (servers: object) => object,
  { targets, nodeArgs }: StartOptions,
): Promise<Running> {
  const backend = await startWarmBackend();
  const entries = targets.map((target) => [target, { url: new URL(backendPaths[target], backend.said).href }]);
  const gateway = await serve(configOf(Object.fromEntries(entries)), file, nodeArgs);
  return {
    at: (target) => ({
      ...gateway.place(target),
      backendPids: () => [backend.pid],
      backendStats: new URL('/stats', backend.said),
    }),
    stop: async () => {
      await gateway.stop();
      await backend.stop();
    },
  };
}

async function overStdio({ targets, nodeArgs, shared = false, sessions }: StartOptions): Promise<Running> {
  const entries = targets.map((target) => [
    target,
    { command: process.execPath, args: [programPath('backend-stdio'), target], ...(shared ? { share: true } : {}) },
  ]);
  const servers = Object.fromEntries(entries);
  const gateway = shared
    ? await serve({ backends: servers, ...(sessions && { limits: limitsFor(sessions) }) }, 'bascule.yaml', nodeArgs)
    : await serve({ mcpServers: servers }, 'mcp.json', nodeArgs);
  return {
    at: (target) => ({ ...gateway.place(target), backendPids: backendsUnder(gateway.pid) }),
    stop: gateway.stop,
  };
}

export const bascule: Contestant = { name: 'bascule', group: 'http', missing, start: overHttp };
export const basculeStdio: Contestant = { name: 'bascule', group: 'stdio', missing, start: overStdio };
