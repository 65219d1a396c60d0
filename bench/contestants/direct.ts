/** No gateway at all: the HTTP backend by itself. */
import { programPath } from '../build.ts';
import { Connection } from '../load/connection.ts';
import { modernRequest } from '../load/requests.ts';
import { type Launched, launch } from '../process.ts';
import { toolNames } from '../programs/payloads.ts';
import type { Contestant, Target } from './contestant.ts';

/** All that the bench's own programs write. */
export const ownUrl = /http:\/\/127\.0\.0\.1:\d+(?=\n)/;

export const backendPaths: Readonly<Record<Target, string>> = {
  modern: '/modern',
  legacy: '/legacy',
  'legacy-sse': '/legacy-sse',
  cached: '/cached/0',
};

export function startBackend(nodeArgs: readonly string[] = []): Promise<Launched> {
  return launch({ name: 'the HTTP backend', args: [...nodeArgs, programPath('backend-http')], ready: ownUrl });
}

/** One that has answered before: its own first answers take longer, and are no part of a gateway's start. */
export async function startWarmBackend(): Promise<Launched> {
  const backend = await startBackend();
  const url = new URL(backendPaths.modern, backend.said);
  const connection = await Connection.open(url);
  for (const method of ['server/discover', 'tools/list']) await connection.ask(modernRequest(url, method, { method }));
  const call = { method: 'tools/call', name: toolNames.echo, arguments: { text: 'warm' } };
  await connection.ask(modernRequest(url, 'call', call));
  connection.close();
  return backend;
}

export const direct: Contestant = {
  name: 'direct',
  group: 'http',
  async start({ nodeArgs }) {
    const { pid, spawnedAt, said, stop } = await startBackend(nodeArgs);
    return {
      at: (target) => ({
        url: new URL(backendPaths[target], said),
        pid,
        spawnedAt,
        backendPids: () => [],
      }),
      stop,
    };
  },
};
