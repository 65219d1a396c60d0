/** Twenty backends behind one address: the gateway, and what it is held against. */
import { programPath } from '../build.ts';
import { launch } from '../process.ts';
import { missing, serve } from './bascule.ts';
import type { Contestant, Running } from './contestant.ts';
import { ownUrl, startBackend } from './direct.ts';

export const BACKENDS = 20;

export const backendName = (index: number): string => `server-${index}`;

/** One process is all of the backends: what they cost is not the question here. */
async function behind(count: number, nodeArgs: readonly string[]): Promise<Running> {
  const backend = await startBackend();
  const entries = Array.from({ length: count }, (_, index) => [
    backendName(index),
    { url: new URL(`/cached/${index}`, backend.said).href },
  ]);
  const gateway = await serve({ mcpServers: Object.fromEntries(entries) }, 'mcp.json', nodeArgs);
  const { pid, spawnedAt, said } = gateway;
  const toolName = (tool: string, connection: number) =>
    count === 1 ? tool : `${backendName(connection % count)}__${tool}`;
  return {
    at: () => ({ url: new URL('/mcp', said), pid, spawnedAt, backendPids: () => [backend.pid], toolName }),
    stop: async () => {
      await gateway.stop();
      await backend.stop();
    },
  };
}

const twenty: Pick<Contestant, 'name' | 'missing' | 'start'> = {
  name: 'bascule',
  missing,
  start: ({ nodeArgs }) => behind(BACKENDS, nodeArgs),
};

export const basculeLists: Contestant = { ...twenty, group: 'lists' };
export const basculeAmong: Contestant = { ...twenty, group: 'among' };

export const oneBackend: Contestant = {
  name: 'one backend',
  group: 'among',
  isFloor: true,
  missing,
  start: ({ nodeArgs }) => behind(1, nodeArgs),
};

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
