/**
 * `npm run test:differential -- [messages] [--seed N] [--mutants]`: what was judged is what is sent.
 *
 * Messages from a grammar of adversarial JSON and URIs go to a running gateway over every way in. Whatever it forwards
 * is read by independent readers in three languages, and each of them has to read the same method, id, name, URI and
 * arguments, and nothing that the policy forbids. With `--mutants` each cure is taken out in turn, and the run has to
 * notice.
 *
 * Needs Go and Python 3 beside Node.
 */
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { bundle } from '../../scripts/bundle.js';
import { Chance } from '../interaction/faults/chance.ts';
import { type Forwarded, startHttpBackend, startService, startStdioBackend } from './backends.ts';
import { differences } from './compare.ts';
import { type Front, HttpFronts, StdioFront } from './fronts.ts';
import { type Backends, type Gateway, startGateway } from './gateway.ts';
import { sample } from './grammar.ts';
import { type Mutant, mutants, mutation } from './mutants.ts';
import { type ForeignReader, startForeignReaders } from './readers/foreign.ts';
import { readInJavaScript } from './readers/javascript.ts';
import type { Stance } from './rules.ts';
import { Tally } from './tally.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const STANCES: readonly Stance[] = ['denies', 'allows'];
const MUTANT_MESSAGES = 10_000;
/** So much may wait for the readers; then the fronts pause. */
const MOST_UNREAD = 400;
const WORKERS_PER_FRONT = 2;
const MOST_REPORTED = 20;

interface Worker {
  readonly front: Front;
  readonly chance: Chance;
}

interface Outcome {
  readonly tally: Tally;
  readonly found: readonly string[];
}

/** Sends so many messages, or fewer where a difference is enough. */
async function run(
  program: string,
  messages: number,
  seed: number,
  readers: readonly ForeignReader[],
  stopAtFirst: boolean,
): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'bascule-differential-'));
  const tally = new Tally();
  const found: string[] = [];
  const closing: (() => void | Promise<void>)[] = [() => rmSync(folder, { recursive: true, force: true })];
  let unread = 0;
  const check = async (forwarded: Forwarded, stance: Stance) => {
    unread++;
    tally.forwarded++;
    const foreign = await Promise.all(readers.map((reader) => reader.read(forwarded.bytes)));
    const readings = [...readInJavaScript(forwarded.bytes.toString()), ...foreign];
    const [first, ...others] = differences(forwarded, readings, stance);
    if (first !== undefined) {
      const text = JSON.stringify(forwarded.bytes.toString()).slice(0, 600);
      found.push(`${stance}, ${forwarded.backend}: ${first} (and ${others.length} more)\n    ${text}`);
    }
    unread--;
  };
  const isEnough = () => found.length >= (stopAtFirst ? 1 : MOST_REPORTED);
  const work = async ({ front, chance }: Worker, quota: number) => {
    for (let sent = 0; sent < quota && !isEnough(); sent++) {
      const one = sample(chance, front.envelope, front.prefix);
      tally.count(front.name, one.tricks, await front.send(one));
      while (unread > MOST_UNREAD) await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  try {
    const workers: Worker[] = [];
    for (const [place, stance] of STANCES.entries()) {
      const take = (forwarded: Forwarded) => void check(forwarded, stance);
      const backends: Backends = {
        m: await startHttpBackend('modern', 'modern', take),
        l: await startHttpBackend('legacy', 'legacy', take),
        s: await startStdioBackend('stdio', take),
        r: await startService('service', take),
      };
      closing.push(...Object.values(backends).map((backend) => () => backend.close()));
      const gateway = await startGateway(program, folder, stance, backends);
      const http = new HttpFronts(gateway.origin);
      closing.unshift(() => http.close(), gateway.stop);
      const fronts = await frontsOf(gateway, http, stance);
      for (const [at, front] of fronts.entries()) {
        for (let n = 0; n < (front instanceof StdioFront ? 1 : WORKERS_PER_FRONT); n++)
          workers.push({ front, chance: new Chance(seed + 7919 * (place * 100 + at * 10 + n)) });
      }
    }
    // The same number each: what a seed gives does not depend on who is faster.
    const quota = Math.ceil(messages / workers.length);
    await Promise.all(workers.map((worker) => work(worker, quota)));
    while (unread > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  } finally {
    for (const close of closing) await close();
  }
  return { tally, found };
}

async function frontsOf(gateway: Gateway, http: HttpFronts, stance: Stance): Promise<Front[]> {
  const stdio = new StdioFront(gateway.stdio.input, gateway.stdio.output);
  const single = [
    http.modern('modern to modern', '/servers/m/mcp'),
    http.modern('modern to legacy', '/servers/l/mcp'),
    http.modern('modern to stdio', '/servers/s/mcp'),
    await http.legacy('legacy to legacy', '/servers/l/mcp', '2025-11-25'),
    await http.legacy('legacy to modern', '/servers/m/mcp', '2025-11-25'),
    await http.legacy('legacy to stdio', '/servers/s/mcp', '2025-06-18'),
    await http.legacy('batch', '/batch/mcp', '2025-03-26'),
    await http.sse('HTTP+SSE', '/servers/l/sse'),
    http.rpc('JSON-RPC', '/rpc', 'rpc'),
    http.rpc('JSON-RPC batch', '/rpc', 'rpc batch'),
    stdio,
  ];
  // Rules that allow name the tools of a merged endpoint by their listed names, which the policy of the run does not.
  if (stance === 'allows') return single;
  return [
    ...single,
    http.modern('merged, modern', '/mcp', 'm__'),
    http.modern('merged, modern to legacy', '/mcp', 'l__'),
    await http.legacy('merged, legacy', '/mcp', '2025-11-25', 'm__'),
  ];
}

async function build(mutant?: Mutant): Promise<{ readonly program: string; remove(): void }> {
  const folder = mkdtempSync(join(tmpdir(), 'bascule-differential-build-'));
  await bundle(join(folder, 'dist'), mutant === undefined ? [] : [mutation(root.replace(/\/$/, ''), mutant)]);
  cpSync(join(root, 'bin'), join(folder, 'bin'), { recursive: true });
  cpSync(join(root, 'package.json'), join(folder, 'package.json'));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  return { program: join(folder, 'bin', 'bascule.js'), remove: () => rmSync(folder, { recursive: true, force: true }) };
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { seed: { type: 'string' }, mutants: { type: 'boolean', default: false } },
  });
  const messages = Number(positionals[0] ?? 20_000);
  const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
  process.chdir(root);
  const readers = startForeignReaders();
  let failed = 0;
  try {
    console.log(`seed ${seed}, ${messages} messages`);
    const { program, remove } = await build();
    const { tally, found } = await run(program, messages, seed, readers, false);
    remove();
    console.log(tally.table());
    for (const difference of found) console.log(`DIFFERENCE ${difference}`);
    const reasons = tally.tooFew();
    for (const reason of reasons) console.log(reason);
    if (found.length + reasons.length > 0) failed++;
    console.log(`${tally.sent} messages, ${tally.forwarded} forwarded, ${found.length} differences (seed ${seed})`);
    if (values.mutants) {
      for (const mutant of mutants) {
        const built = await build(mutant);
        const outcome = await run(built.program, MUTANT_MESSAGES, seed, readers, true);
        built.remove();
        const noticed = outcome.found.length > 0;
        console.log(
          `${noticed ? 'noticed' : 'NOT NOTICED'} after ${outcome.tally.sent} messages: without ${mutant.cure}`,
        );
        if (noticed) console.log(`    ${outcome.found[0]}`);
        else failed++;
      }
    }
  } finally {
    for (const reader of readers) reader.close();
  }
  const checks = 1 + (values.mutants ? mutants.length : 0);
  console.log(`${checks - failed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

process.exitCode = await main();
