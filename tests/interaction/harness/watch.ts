/** What a running program holds: sockets, pipes, processes, memory. */
import { until } from './client.ts';
import type { Program, ProgramOptions } from './program.ts';

const preload = new URL('./watch.js', import.meta.url).href;

/** A program that is started with this can be asked. */
export function watched(options: ProgramOptions): ProgramOptions {
  return { ...options, flags: ['--expose-gc', '--import', preload] };
}

export interface Holding {
  /** By kind, as node names them: `TCPSocketWrap`, `PipeWrap`, `ProcessWrap`, `TCPServerWrap` and the like. */
  readonly resources: Readonly<Record<string, number>>;
  /** In use after a collection. */
  readonly bytes: number;
}

const asked = new WeakMap<Program, number>();

export async function holding(program: Program): Promise<Holding> {
  const nth = (asked.get(program) ?? 0) + 1;
  asked.set(program, nth);
  program.kill('SIGUSR2');
  const told = new RegExp(`^WATCH (\\{"nth":${nth},.*\\})$`, 'm');
  await until(() => told.test(program.stderr) || !program.running, 'the program says what it holds');
  const found = told.exec(program.stderr)?.[1];
  if (found === undefined) throw new Error(`it ended: ${program.obituary}`);
  return JSON.parse(found);
}

/**
 * Waits until no more of anything is held than that, and fewer bytes: timers give some things back a moment later.
 * Answers what is held then.
 */
export async function heldNoMore(
  program: Program,
  most: Holding['resources'],
  withinMs: number,
  bytes = Number.POSITIVE_INFINITY,
): Promise<Holding> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const now = await holding(program);
    const more = Object.entries(now.resources).filter(([kind, count]) => count > (most[kind] ?? 0));
    if (more.length === 0 && now.bytes < bytes) return now;
    if (Date.now() > deadline) throw new Error(`still held: ${JSON.stringify({ most, bytes, now })}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
