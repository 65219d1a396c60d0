/** No gateway at all: the HTTP backend by itself. */
import { programPath } from '../build.ts';
import { type Launched, launch } from '../process.ts';
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
