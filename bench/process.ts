/** Processes that the bench starts, and ends, whatever happens. */
import { type ChildProcess, spawn } from 'node:child_process';
import { performance } from 'node:perf_hooks';

/** A gateway drains for up to ten seconds, and its children take three more for each of their steps. */
const STOP_MS = 15_000;
/** Every contestant is up within a second; this one is not coming. */
const READY_MS = 20_000;
/** Of what a process wrote, for the message when it fails. */
const OUTPUT_BYTES = 4096;

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

export interface Launch {
  readonly name: string;
  /** Node, unless it says otherwise. */
  readonly command?: string;
  readonly args: readonly string[];
  /** More than the bench's own. */
  readonly env?: Readonly<Record<string, string>>;
  /** What shows in the output that it is ready, or undefined where that can't be seen there. */
  readonly ready?: RegExp;
  /** Gets all that it writes. */
  hear?(chunk: string): void;
}

export interface Launched {
  readonly pid: number;
  /** When it was started, on the clock of `performance.now()`. */
  readonly spawnedAt: number;
  /** What `ready` matched. */
  readonly said: string;
  output(): string;
  stop(): Promise<void>;
}

export async function launch(launched: Launch): Promise<Launched> {
  const { name, command = process.execPath, args, env, ready } = launched;
  const spawnedAt = performance.now();
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } });
  running.add(child);
  let output = '';
  let heard: () => void = () => undefined;
  const hear = (chunk: string): void => {
    output = (output + chunk).slice(-OUTPUT_BYTES);
    launched.hear?.(chunk);
    heard();
  };
  child.stdout.setEncoding('utf8').on('data', hear);
  child.stderr.setEncoding('utf8').on('data', hear);
  const exited = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const gone = exited.then(() => void running.delete(child));

  const said = await new Promise<string>((resolve, reject) => {
    const fail = (why: string) => {
      child.kill('SIGKILL');
      reject(new Error(`${name} ${why}:\n${output}`));
    };
    const giveUp = setTimeout(() => fail('is not ready'), READY_MS);
    const settle = (text: string) => {
      clearTimeout(giveUp);
      heard = () => undefined;
      resolve(text);
    };
    heard = () => {
      const match = ready?.exec(output);
      if (match) settle(match[0]);
    };
    child.once('error', (error) => fail(`could not be started, ${error.message}`));
    child.once('exit', (code, signal) => {
      clearTimeout(giveUp);
      fail(`ended (${signal ?? code})`);
    });
    if (ready === undefined) settle('');
  });

  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    const kill = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
    await gone;
    clearTimeout(kill);
  };
  return { pid: child.pid as number, spawnedAt, said, output: () => output, stop };
}
