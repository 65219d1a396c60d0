/**
 * `npm run bench:neighbours -- [rounds]`: how long the calls of a well-behaved principal to a well-behaved backend take
 * while another backend floods the gateway, or another principal calls without end, each held to a quarter of a core.
 * Rounds alone and rounds with the bad neighbour take turns, and what counts is the ratio of two that follow each
 * other. Ends with status 1 where the middle ratio is over its target. Needs root and control groups; needs a built
 * gateway (`npm run build`).
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { addKey } from '../src/identity/key-book.ts';
import { type KeyFile, writeKeyFile } from '../src/identity/key-file.ts';
import { buildPrograms, programPath } from './build.ts';
import { ControlGroup } from './cgroup.ts';
import { serve } from './contestants/bascule.ts';
import { backendPaths, startBackend } from './contestants/direct.ts';
import { Connection } from './load/connection.ts';
import { modernRequest } from './load/requests.ts';
import { launch } from './process.ts';
import { median, percentile } from './stats.ts';

const SHARE = 0.25;
const SECONDS = 3;
const WARM_SECONDS = 6;
const ROUNDS = 8;
/** Of the well-behaved principal, who waits a little between two calls. */
const CONNECTIONS = 4;
const THINK_MS = 5;
const GREEDY_CONNECTIONS = 64;
const MOST_MEDIAN = 2;
const MOST_P99 = 4;

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Processes that run for as long as a round wants them to. */
class Neighbour {
  readonly name: string;
  readonly group: ControlGroup;
  #held: NodeJS.Timeout | undefined;

  constructor(name: string) {
    this.name = name;
    this.group = ControlGroup.make(name, SHARE);
  }

  /** Also what the gateway starts anew meanwhile. */
  hold(): void {
    this.#held ??= setInterval(() => this.group.signal('SIGSTOP'), 50);
    this.group.signal('SIGSTOP');
  }

  release(): void {
    clearInterval(this.#held);
    this.#held = undefined;
    this.group.signal('SIGCONT');
  }

  async remove(): Promise<void> {
    this.release();
    await this.group.remove();
  }
}

interface Latency {
  readonly p50: number;
  readonly p99: number;
}

async function calls(url: URL, key: string, seconds: number): Promise<Latency> {
  const call = { method: 'tools/call', name: 'echo', arguments: { text: 'one of many' } };
  const bytes = modernRequest(url, 1, call, { authorization: `Bearer ${key}` });
  const until = performance.now() + seconds * 1000;
  const took: number[] = [];
  const one = async (): Promise<void> => {
    const connection = await Connection.open(url);
    while (performance.now() < until) {
      const start = performance.now();
      const { status } = await connection.ask(bytes);
      if (status !== 200) throw new Error(`a call of the well-behaved principal was answered with ${status}`);
      took.push(performance.now() - start);
      await pause(THINK_MS);
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, one));
  return { p50: percentile(took, 0.5), p99: percentile(took, 0.99) };
}

function keys(file: string, names: readonly string[]): string[] {
  let book: KeyFile | undefined;
  const made = names.map((name) => {
    const added = addKey(book, { name, scopes: [] }, { bytes: randomBytes, now: Date.now });
    book = added.file;
    return added.key;
  });
  if (book !== undefined) writeFileSync(file, writeKeyFile(book));
  return made;
}

async function main(): Promise<number> {
  const rounds = Number(process.argv[2] ?? ROUNDS);
  await buildPrograms();
  const directory = mkdtempSync(join(tmpdir(), 'bascule-bench-'));
  const file = join(directory, 'keys.json');
  const [good = '', greedyKey = ''] = keys(file, ['good', 'greedy']);
  const flooding = new Neighbour('flooding');
  const greedy = new Neighbour('greedy');
  const backend = await startBackend();
  const calm = { url: new URL(backendPaths.modern, backend.said).href };
  const flood = flooding.group.within(process.execPath, [programPath('flooding')]);
  const config = { backends: { calm, flood }, identity: { keys: { file } } };
  const gateway = await serve(config, 'bascule.yaml', []);
  const { url } = gateway.place('calm');
  const caller = await launch({
    name: 'the greedy principal',
    args: [programPath('greedy'), url.href, greedyKey, String(GREEDY_CONNECTIONS)],
    ready: /calling/,
  });
  greedy.group.add(caller.pid);
  let failed = 0;
  try {
    for (const neighbour of [flooding, greedy]) neighbour.hold();
    await calls(url, good, WARM_SECONDS);
    for (const neighbour of [flooding, greedy]) {
      const ratios: Latency[] = [];
      for (let round = 0; round < rounds; round++) {
        const alone = await calls(url, good, SECONDS);
        neighbour.release();
        const beside = await calls(url, good, SECONDS);
        neighbour.hold();
        ratios.push({ p50: beside.p50 / alone.p50, p99: beside.p99 / alone.p99 });
        const shown = (at: Latency) => `${at.p50.toFixed(2)} / ${at.p99.toFixed(2)} ms`;
        console.log(`${neighbour.name}: alone ${shown(alone)}, beside it ${shown(beside)} (median / p99)`);
      }
      const p50 = median(ratios.map((ratio) => ratio.p50));
      const p99 = median(ratios.map((ratio) => ratio.p99));
      const isMet = p50 <= MOST_MEDIAN && p99 <= MOST_P99;
      if (!isMet) failed++;
      const targets = `targets ${MOST_MEDIAN} and ${MOST_P99}`;
      console.log(
        `${isMet ? 'ok    ' : 'MISSED'} ${neighbour.name}: median ${p50.toFixed(2)}, p99 ${p99.toFixed(2)} times (${targets})`,
      );
    }
  } finally {
    await flooding.remove();
    await greedy.remove();
    await gateway.stop();
    await backend.stop();
    rmSync(directory, { recursive: true, force: true });
  }
  return failed === 0 ? 0 : 1;
}

process.exitCode = await main();
