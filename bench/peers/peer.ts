/** What the bench asks of another gateway. A new one is a file of its own and a row in `bench/peers.ts`. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { programPath } from '../build.ts';
import { backendsUnder, type Contestant, type PeerGroup, type Place, type Running } from '../contestants/contestant.ts';
import { backendPaths, startBackend } from '../contestants/direct.ts';
import { freePort } from '../free-port.ts';
import { type Launch, launch } from '../process.ts';

export interface Peer {
  readonly name: string;
  /** Why it is not measured although nothing failed, where that is so. */
  leftOut?(): string | undefined;
  /** Makes it ready to start, and gives its version; fails where that can't be done. */
  install(): Promise<string>;
  readonly contestants: readonly Contestant[];
}

/** What every peer is told. */
export interface Given {
  readonly port: number;
  /** For its files; removed when it has stopped. */
  readonly directory: string;
}

/** How a peer is started, and where clients find it then. */
export interface Front extends Launch {
  readonly path: string;
  readonly withoutSessions?: true;
  readonly toolName?: (tool: string) => string;
  /** What has to be set up in the running program. */
  prepare?(base: URL): Promise<void>;
}

export const targetOf = {
  'peers-http-legacy': 'legacy',
  'peers-http-modern': 'modern',
  'peers-stdio': 'legacy',
} as const;

async function start(front: (given: Given) => Front, behind: (pid: number) => () => readonly number[]) {
  const directory = mkdtempSync(join(tmpdir(), 'bascule-bench-'));
  const port = await freePort();
  const { path, toolName, withoutSessions, prepare, ...launched } = front({ port, directory });
  const { pid, spawnedAt, stop } = await launch(launched);
  const stopAll = async () => {
    await stop();
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    const base = new URL(`http://127.0.0.1:${port}`);
    await prepare?.(base);
    const place: Place = {
      url: new URL(path, base),
      pid,
      spawnedAt,
      backendPids: behind(pid),
      ...(toolName && { toolName }),
      ...(withoutSessions && { withoutSessions }),
    };
    return { at: () => place, stop: stopAll };
  } catch (error) {
    await stopAll();
    throw error;
  }
}

/** In front of an HTTP backend. */
export function overHttp(
  name: string,
  group: Exclude<PeerGroup, 'peers-stdio'>,
  front: (given: Given, backend: URL) => Front,
  share = 1,
): Contestant {
  const startBoth = async (): Promise<Running> => {
    const backend = await startBackend();
    const url = new URL(backendPaths[targetOf[group]], backend.said);
    try {
      const { at, stop } = await start(
        (given) => front(given, url),
        () => () => [backend.pid],
      );
      return { at, stop: () => stop().finally(backend.stop) };
    } catch (error) {
      await backend.stop();
      throw error;
    }
  };
  return { name, group, share, start: startBoth };
}

/** In front of a stdio backend, which the peer starts itself. */
export function overStdio(
  name: string,
  front: (given: Given, backend: readonly [command: string, ...args: string[]]) => Front,
  share = 1,
): Contestant {
  const group = 'peers-stdio';
  const backend = [process.execPath, programPath('backend-stdio'), targetOf[group]] as const;
  return { name, group, share, start: () => start((given) => front(given, backend), backendsUnder) };
}
