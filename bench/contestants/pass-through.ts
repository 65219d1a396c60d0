/** The floors: what it costs to gather a message and hand it on, in front of an HTTP backend and of a stdio one. */
import { programPath } from '../build.ts';
import { launch } from '../process.ts';
import { backendsUnder, type Contestant, type Place, type Target } from './contestant.ts';
import { backendPaths, ownUrl, startBackend } from './direct.ts';

export const passThrough: Contestant = {
  name: 'pass-through',
  group: 'http',
  isFloor: true,
  async start({ nodeArgs }) {
    const backend = await startBackend();
    const args = [...nodeArgs, programPath('pass-through'), backend.said];
    const { pid, spawnedAt, said, stop } = await launch({ name: 'the pass-through', args, ready: ownUrl });
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
  },
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
