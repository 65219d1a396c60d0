/**
 * `npm run profile -- [workload] [--heap] [--contestant <name>] [--top <n>]`: where the CPU time of a workload's calls
 * goes, or with `--heap` which functions allocate their bytes, by file and by function of the sources.
 */
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { buildPrograms, resultsDirectory } from './build.ts';
import { contestants } from './contestants/all.ts';
import { runRound } from './load/round.ts';
import { callWorkloads } from './workloads/calls.ts';
import { loadOf } from './workloads/turns.ts';

const WRITTEN_MS = 20_000;
const ROUNDS = 20;

interface Frame {
  readonly functionName: string;
  readonly url: string;
  readonly lineNumber: number;
  readonly columnNumber: number;
}

interface CpuNode {
  readonly id: number;
  readonly callFrame: Frame;
}

interface HeapNode {
  readonly callFrame: Frame;
  readonly selfSize: number;
  readonly children: readonly HeapNode[];
}

interface CpuProfile {
  readonly nodes: readonly CpuNode[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

type Amounts = { readonly frame: Frame; readonly amount: number }[];

/** Microseconds of each frame by itself. */
function ofCpu({ nodes, samples, timeDeltas }: CpuProfile): Amounts {
  const micros = new Map<number, number>();
  samples.forEach((id, at) => {
    micros.set(id, (micros.get(id) ?? 0) + (timeDeltas[at] ?? 0));
  });
  return nodes.map(({ id, callFrame }) => ({ frame: callFrame, amount: micros.get(id) ?? 0 }));
}

function ofHeap({ callFrame, selfSize, children }: HeapNode): Amounts {
  return [{ frame: callFrame, amount: selfSize }, ...children.flatMap(ofHeap)];
}

const maps = new Map<string, SourceMap | undefined>();

function mapOf(path: string): SourceMap | undefined {
  if (!maps.has(path)) {
    const file = `${path}.map`;
    maps.set(path, existsSync(file) ? new SourceMap(JSON.parse(readFileSync(file, 'utf8'))) : undefined);
  }
  return maps.get(path);
}

/** The file of the sources, the package, or the part of Node that a frame belongs to. */
function fileOf({ url, lineNumber, columnNumber }: Frame): string {
  if (!url.startsWith('file:')) return url === '' ? '(native)' : url;
  const path = fileURLToPath(url);
  const entry = mapOf(path)?.findEntry(lineNumber, columnNumber);
  const source = entry !== undefined && 'originalSource' in entry ? entry.originalSource : path;
  return /node_modules\/.*$/.exec(source)?.[0] ?? /(?:src|bench)\/.*$/.exec(source)?.[0] ?? source;
}

function sum(amounts: Amounts, keyOf: (frame: Frame) => string): [key: string, amount: number][] {
  const sums = new Map<string, number>();
  for (const { frame, amount } of amounts) {
    const key = keyOf(frame);
    sums.set(key, (sums.get(key) ?? 0) + amount);
  }
  return [...sums].sort(([, a], [, b]) => b - a);
}

/** What a reader wants to know first: is it us, a package, or Node? */
function ownerOf(frame: Frame): string {
  const file = fileOf(frame);
  if (file.startsWith('node_modules/')) return file.split('/')[1] as string;
  if (file.startsWith('src/') || file.startsWith('bench/')) return 'own code';
  return file === '(native)' ? frame.functionName : file;
}

function print(title: string, rows: readonly [string, number][], calls: number, top: number): void {
  console.log(`\n${title}`);
  for (const [key, amount] of rows.slice(0, top)) console.log(`${(amount / calls).toFixed(2).padStart(10)}  ${key}`);
}

async function profile(workloadId: string, name: string | undefined, isHeap: boolean): Promise<[Amounts, number]> {
  const workload = callWorkloads.find(({ id }) => id === workloadId);
  if (workload === undefined) throw new Error(`no workload ${workloadId}`);
  const wanted = name ?? 'bascule';
  const contestant = contestants.find((one) => one.group === workload.group && one.name === wanted);
  if (contestant === undefined) throw new Error(`no contestant ${wanted} in ${workload.group}`);
  await buildPrograms();
  mkdirSync(resultsDirectory, { recursive: true });
  const file = join(resultsDirectory, 'profile.json');
  rmSync(file, { force: true });
  process.env.PROFILE_FILE = file;
  if (isHeap) process.env.PROFILE_HEAP = '1';
  const preload = fileURLToPath(new URL('./programs/profile-on-signal.js', import.meta.url));
  const running = await contestant.start({ targets: [workload.target], nodeArgs: ['--import', preload] });
  try {
    const place = running.at(workload.target);
    const load = await loadOf(workload, place);
    const watched = { gateway: place.pid, backends: place.backendPids };
    await runRound(load, watched, workload.warmCalls);
    process.kill(place.pid, 'SIGUSR2');
    const { calls } = await runRound(load, watched, workload.roundCalls * ROUNDS);
    process.kill(place.pid, 'SIGUSR2');
    for (const until = Date.now() + WRITTEN_MS; !existsSync(file) && Date.now() < until; ) await sleep(50);
    await sleep(500);
    const read = JSON.parse(readFileSync(file, 'utf8'));
    return [isHeap ? ofHeap(read.head) : ofCpu(read), calls];
  } finally {
    await running.stop();
  }
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { heap: { type: 'boolean', default: false }, contestant: { type: 'string' }, top: { type: 'string' } },
  });
  const top = Number(values.top ?? 40);
  const [amounts, calls] = await profile(positionals[0] ?? 'call-modern', values.contestant, values.heap);
  const unit = values.heap ? 'bytes a call' : 'µs a call';
  const isWork = ({ functionName }: Frame) => functionName !== '(idle)' && functionName !== '(program)';
  const kept = amounts.filter(({ frame }) => isWork(frame));
  const total = kept.reduce((all, { amount }) => all + amount, 0);
  console.log(`${(total / calls).toFixed(1)} ${unit} in ${calls} calls`);
  print(`By owner, ${unit}`, sum(kept, ownerOf), calls, top);
  print(`By file, ${unit}`, sum(kept, fileOf), calls, top);
  print(
    `By function, ${unit}`,
    sum(kept, (frame) => `${frame.functionName || '(anonymous)'} ${fileOf(frame)}:${frame.lineNumber + 1}`),
    calls,
    top,
  );
}

await main();
