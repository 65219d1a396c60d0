/** The floors: what it costs to gather a message and hand it on, in front of an HTTP backend and of a stdio one. */
import { type Program, programPath } from '../build.ts';
import { launch } from '../process.ts';
import { backendsUnder, type Contestant, type Place, type Target } from './contestant.ts';
import { backendPaths, ownUrl, startWarmBackend } from './direct.ts';

/** A program that is told the backend's origin, and serves the same paths. */
export function inFrontOfBackend(program: Program, argsOf: (origin: string) => string[]): Contestant['start'] {
  return async ({ nodeArgs }) => {
    const backend = await startWarmBackend();
    const args = [...nodeArgs, programPath(program), ...argsOf(backend.said)];
    const { pid, spawnedAt, said, stop } = await launch({ name: `the ${program}`, args, ready: ownUrl });
    return {
      at: (target) => ({
        url: new URL(backendPaths[target], said),
        pid,
        spawnedAt,
        backendPids: () => [backend.pid],
        backendStats: new URL('/stats', backend.said),
      }),
      stop: async () => {
        await stop();
        await backend.stop();
      },
    };
  };
}

export const passThrough: Contestant = {
  name: 'pass-through',
  group: 'http',
  isFloor: true,
  start: inFrontOfBackend('pass-through', (origin) => [origin]),
};

export const bridge: Contestant = {
  name: 'bare bridge',
  group: 'stdio',
  isFloor: true,
  async start({ targets, nodeArgs }) {
    const started = await Promise.all(
      targets.map(async (target) => {
        const args = [...nodeArgs, programPath('bridge'), programPath('backend-stdio'), target];
        return { target, bridge: await launch({ name: 'the bare bridge', args, ready: ownUrl }) };
      }),
    );
    const places = new Map(
      started.map(({ target, bridge: { pid, spawnedAt, said } }): [Target, Place] => [
        target,
        { url: new URL('/mcp', said), pid, spawnedAt, backendPids: backendsUnder(pid) },
      ]),
    );
    return {
      at: (target) => places.get(target) as Place,
      stop: async () => void (await Promise.all(started.map((one) => one.bridge.stop()))),
    };
  },
};
