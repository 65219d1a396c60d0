/** Many backends behind one address: the gateway, and what it is held against. */
import { programPath } from '../build.ts';
import { launch } from '../process.ts';
import { missing, serve } from './bascule.ts';
import type { Contestant, Running, StartOptions } from './contestant.ts';
import { ownUrl, startBackend } from './direct.ts';

/** Whose lists are merged. */
export const BACKENDS = 20;
/** Among which a call is sent to the right one. */
export const AMONG = 10;

export const backendName = (index: number): string => `server-${index}`;

function behind(count: number, nodeArgs: readonly string[]): Promise<Running> {
  return behindOne(count, (servers) => serve({ mcpServers: servers }, 'mcp.json', nodeArgs));
}

/** One process is all of the backends: what they cost is not the question here. */
export async function behindOne(count: number, start: (servers: object) => ReturnType<typeof serve>): Promise<Running> {
  const backend = await startBackend();
  const entries = Array.from({ length: count }, (_, index) => [
    backendName(index),
    { url: new URL(`/cached/${index}`, backend.said).href },
  ]);
  const gateway = await start(Object.fromEntries(entries));
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
  start: ({ nodeArgs }: StartOptions) => behind(count, nodeArgs),
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
    const source = await behind(BACKENDS, []);
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
