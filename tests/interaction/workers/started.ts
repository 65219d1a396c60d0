/** `bascule serve --workers 3`, with a config that can be changed. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type Answer, type Json, send, until } from '../harness/client.ts';
import { eventually } from '../harness/limits.ts';
import { freePort } from '../harness/ports.ts';
import { type Program, type Served, serve } from '../harness/program.ts';

export const WORKERS = 3;
/** Longer than a worker takes that runs. */
const ANSWERED_MS = 2_000;

export interface ServedByWorkers extends Served {
  /** The working directory. The config is there, and stays when the program ends. */
  readonly folder: string;
  write(config: object | string): void;
}

/**
 * Once all workers are ready: before that, one that is starting answers 503, and if the only one that listens is
 * killed, the port is closed. Every request of a test comes on a connection of its own, which the next worker takes.
 */
export async function started(config: object, args: readonly string[] = []): Promise<ServedByWorkers> {
  const folder = mkdtempSync(join(tmpdir(), 'bascule-workers-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const write = (next: object | string) =>
    writeFileSync(join(folder, 'bascule.yaml'), typeof next === 'string' ? next : JSON.stringify(next));
  write(config);
  const served = await serve(['--workers', String(WORKERS), ...args], { folder });
  await allReady(served);
  return { ...served, folder, write };
}

/** The processes of the workers. */
export function workersOf({ program }: Served): readonly number[] {
  const children = execFileSync('ps', ['-o', 'pid=,args=', '--ppid', String(program.pid)], { encoding: 'utf8' });
  return children
    .split('\n')
    .filter((line) => line.includes('bascule'))
    .map((line) => Number.parseInt(line, 10));
}

/** Asked on a connection of its own. One that a worker has taken ends with it; one that hangs is not waited for. */
export async function readiness({ origin }: Served): Promise<{ readonly code: number; readonly body: Json }> {
  const late = new Promise<undefined>((resolve) => setTimeout(resolve, ANSWERED_MS, undefined).unref());
  const answer = await Promise.race([send(`${origin}/readyz`, { method: 'GET' }), late]).catch(() => undefined);
  return { code: answer?.status ?? 0, body: answer?.json() ?? {} };
}

/** Waits until each of `WORKERS` requests in a row, one for each worker, is answered so. */
export async function untilAll(served: Served, isSo: (body: Json, code: number) => boolean): Promise<void> {
  const deadline = Date.now() + 20_000;
  for (;;) {
    const answers = [];
    for (let n = 0; n < WORKERS; n++) answers.push(await readiness(served));
    if (answers.every(({ body, code }) => isSo(body, code))) return;
    if (Date.now() > deadline) throw new Error(`/readyz stays ${JSON.stringify(answers)}: ${served.program.obituary}`);
  }
}

export const allReady = (served: Served): Promise<void> => untilAll(served, ({ status }) => status === 'ready');

/** Kills a worker, and waits until there is another one in its place. */
export async function replaced(served: Served, pid: number): Promise<void> {
  process.kill(pid, 'SIGKILL');
  await until(() => {
    const now = workersOf(served);
    return now.length === WORKERS && !now.includes(pid);
  }, 'it is replaced');
  await allReady(served);
}

export const logged = (program: Program, words: string): Promise<void> =>
  until(() => program.stderr.includes(words), `it logs ${words}: ${program.obituary}`);

/** Lines of the log that have these words. */
export function linesWith({ stderr }: Program, words: string): readonly Json[] {
  return stderr
    .split('\n')
    .filter((line) => line.includes(words))
    .map((line) => JSON.parse(line));
}

export interface ServedByAll {
  readonly served: Served;
  /** The metrics of all workers. */
  scrape(): Promise<Answer>;
  /** Resolves when all workers serve again. */
  allServe(): Promise<void>;
}

/** Once all workers serve: one that does not listen yet takes no connections. */
export async function startedAll(config: object): Promise<ServedByAll> {
  const port = await freePort();
  const served = await started({ ...config, metrics: { listen: `127.0.0.1:${port}` } });
  const scrape = () => send(`http://127.0.0.1:${port}/metrics`, { method: 'GET' });
  const workersIn = (text: string) => new Set([...text.matchAll(/\{worker="(\d)"/g)].map(([, worker]) => worker));
  const allServe = () => eventually(async () => workersIn((await scrape()).body).size === WORKERS, 'all workers serve');
  await allServe();
  return { served, scrape, allServe };
}
