/** mcp-proxy from npm. It fronts stdio servers only, one for each process, shared by all of its clients. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { programPath, root } from '../build.ts';
import { freePort } from '../free-port.ts';
import { Connection } from '../load/connection.ts';
import { type Launched, launch } from '../process.ts';
import { backendsUnder, type Contestant, type Place, type Target } from './contestant.ts';

const program = join(root, 'node_modules/mcp-proxy/dist/bin/mcp-proxy.mjs');
const READY_MS = 20_000;
const POLL_MS = 5;

async function listening(url: URL, { output }: Launched): Promise<void> {
  const deadline = Date.now() + READY_MS;
  for (;;) {
    try {
      (await Connection.open(url)).close();
      return;
    } catch (cause) {
      if (Date.now() > deadline) throw new Error(`mcp-proxy does not listen:\n${output()}`, { cause });
      await sleep(POLL_MS);
    }
  }
}

interface Started {
  readonly target: Target;
  readonly place: Place;
  stop(): Promise<void>;
}

async function startOne(target: Target, nodeArgs: readonly string[]): Promise<Started> {
  const port = await freePort();
  const url = new URL(`http://127.0.0.1:${port}/mcp`);
  const own = ['--host', '127.0.0.1', '--port', String(port), '--server', 'stream', '--upstreamProtocol', target];
  const args = [...nodeArgs, program, ...own, '--', process.execPath, programPath('backend-stdio'), target];
  const launched = await launch({ name: 'mcp-proxy', args });
  const { pid, spawnedAt, stop } = launched;
  await listening(url, launched);
  return { target, place: { url, pid, spawnedAt, backendPids: backendsUnder(pid) }, stop };
}

export const mcpProxy: Contestant = {
  name: 'mcp-proxy',
  group: 'stdio',
  missing: () => (existsSync(program) ? undefined : 'not installed'),
  async start({ targets, nodeArgs }) {
    const started = await Promise.all(targets.map((target) => startOne(target, nodeArgs)));
    return {
      at: (target) => started.find((one) => one.target === target)?.place as Place,
      stop: async () => void (await Promise.all(started.map((one) => one.stop()))),
    };
  },
};
