/** Many backends behind one address: the gateway, and what it is held against. */
import { programPath } from '../build.ts';
import { type Launched, launch } from '../process.ts';
import { missing, serve } from './bascule.ts';
import type { Contestant, Running, StartOptions } from './contestant.ts';
import { ownUrl, startBackend } from './direct.ts';

/** Whose lists are merged. */
export const BACKENDS = 20;
/** Among which a call is sent to the right one. */
export const AMONG = 10;

export const backendName = (index: number): string => `server-${index}`;

/** Backends whose lists stay fresh, with 200 tools each. */
export const cachedPaths = (count: number): string[] => Array.from({ length: count }, (_, index) => `/cached/${index}`);

/** One process is all of the backends, each at a path of its own. */
export function serversOf(backend: Launched, paths: readonly string[]): object {
  return Object.fromEntries(
    paths.map((path, index) => [backendName(index), { url: new URL(path, backend.said).href }]),
  );
}

export function behind(paths: readonly string[], nodeArgs: readonly string[]): Promise<Running> {
  return behindOne(paths, (servers) => serve({ mcpServers: servers }, 'mcp.json', nodeArgs));
}

/** What backends cost is not the question here: they are one process. */
export async function behindOne(
  paths: readonly string[],
  start: (servers: object) => ReturnType<typeof serve>,
): Promise<Running> {
  const count = paths.length;
  const backend = await startBackend();
  const gateway = await start(serversOf(backend, paths));
  const { pid, spawnedAt, said } = gateway;
  const merged = (tool: string, connection: number) => `${backendName(connection % count)}__${tool}`;
  const place =
    count === 1 ? gateway.place(backendName(0)) : { url: new URL('/mcp', said), pid, spawnedAt, toolName: merged };
  return {
    at: () => ({ ...place, backendPids: () => [backend.pid] }),
    stop: async () => {
      await gateway.stop();
      await backend.stop();
    },
  };
}

const gatewayOf = (count: number) => ({
  missing,
  start: ({ nodeArgs }: StartOptions) => behind(cachedPaths(count), nodeArgs),
});

export const basculeLists: Contestant = { name: 'bascule', group: 'lists', ...gatewayOf(BACKENDS) };
export const basculeMerged: Contestant = { name: 'merged endpoint', group: 'among', ...gatewayOf(AMONG) };
export const singleEndpoint: Contestant = { name: 'single endpoint', group: 'among', isFloor: true, ...gatewayOf(1) };

export const fromMemory: Contestant = {
  name: 'from memory',
  group: 'lists',
  isFloor: true,
  missing,
  async start({ nodeArgs }) {
    const source = await behind(cachedPaths(BACKENDS), []);
    const args = [...nodeArgs, programPath('from-memory'), source.at('cached').url.href];
    const { pid, spawnedAt, said, stop } = await launch({ name: 'the memory', args, ready: ownUrl });
    return {
      at: () => ({ url: new URL('/mcp', said), pid, spawnedAt, backendPids: () => [] }),
      stop: async () => {
        await stop();
        await source.stop();
      },
    };
  },
};
