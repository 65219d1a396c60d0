/**
 * `npm run count:garbage`: what a hundred thousand small calls leave to the garbage collector, as V8 tells it. Bytes
 * that survive a collection of the young generation are copied, and what survives two fills the old generation, whose
 * collection stops everything. Counts do not depend on how busy the machine is, so they are a gate.
 */
import { buildPrograms } from './build.ts';
import { serve } from './contestants/bascule.ts';
import { backendPaths, startBackend } from './contestants/direct.ts';
import { runRound } from './load/round.ts';
import { type CallWorkload, smallCalls } from './workloads/calls.ts';
import { loadOf } from './workloads/turns.ts';

const WARM_CALLS = 40_000;
const CALLS = 100_000;
/** A call, in bytes; 8.5 KB before there were no hash tables any more that are filled and emptied by each. */
const MOST_SURVIVING = 1024;
const MOST_MAJOR = 0;

/** What V8 says of its collections. */
class Collections {
  #rest = '';
  #survived = 0;
  #minor = 0;
  #major = 0;

  readonly hear = (chunk: string): void => {
    const lines = (this.#rest + chunk).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#read(line);
  };

  /** Counts from here on. */
  begin(): void {
    this.#survived = this.#minor = this.#major = 0;
  }

  counts() {
    return { surviving: Math.round(this.#survived / CALLS), minor: this.#minor, major: this.#major };
  }

  #read(line: string): void {
    const kind = / gc=(\w+) /.exec(line)?.[1];
    if (kind === undefined) return;
    if (kind !== 's') {
      this.#major += 1;
      return;
    }
    this.#minor += 1;
    for (const [, bytes] of line.matchAll(/ (?:promoted|new_space_survived)=(\d+)/g)) this.#survived += Number(bytes);
  }
}

async function count(workload: CallWorkload) {
  const collections = new Collections();
  const backend = await startBackend();
  const mcpServers = { [workload.target]: { url: new URL(backendPaths[workload.target], backend.said).href } };
  const gateway = await serve({ mcpServers }, 'mcp.json', ['--trace-gc-nvp'], collections.hear);
  try {
    const place = { ...gateway.place(workload.target), backendPids: () => [backend.pid] };
    const load = await loadOf(workload, place);
    const watched = { gateway: place.pid, backends: place.backendPids };
    await runRound(load, watched, WARM_CALLS);
    collections.begin();
    const { calls } = await runRound(load, watched, CALLS);
    if (calls < CALLS) throw new Error(`only ${calls} of ${CALLS} calls were made in time`);
    const counts = collections.counts();
    if (counts.minor === 0) throw new Error('V8 told of no collection: nothing was counted');
    return counts;
  } finally {
    await gateway.stop();
    await backend.stop();
  }
}

async function main(): Promise<void> {
  await buildPrograms();
  for (const workload of smallCalls.filter(({ connections }) => connections > 1)) {
    const { surviving, minor, major } = await count(workload);
    const isOver = surviving > MOST_SURVIVING || major > MOST_MAJOR;
    if (isOver) process.exitCode = 1;
    console.log(
      `${isOver ? 'OVER' : 'ok  '} ${workload.id}: ${surviving} bytes of a call survive (at most ${MOST_SURVIVING}); ` +
        `${minor} minor and ${major} major collections in ${CALLS} calls (at most ${MOST_MAJOR} major)`,
    );
  }
}

await main();
