/** Runs drivers to their end and keeps HTTP servers running for as long as they are needed. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Job, Transcript } from './job.ts';
import type { Launch } from './servers.ts';

/** A whole script with cold starts on a busy machine; what takes longer hangs. */
const RUN_LIMIT_MS = 150_000;
/** Cold start of an HTTP server, imports included. */
const START_LIMIT_MS = 90_000;
const STOP_LIMIT_MS = 5_000;
const LOOK_AGAIN_MS = 100;
/** How much of what a failed driver said is shown. */
const LAST_WORDS = 1_500;

/**
 * What programs get to see of the environment: enough to run, nothing that makes them differ from machine to machine.
 */
export function environment(home: string): Record<string, string> {
  return { PATH: process.env.PATH ?? '', HOME: home, LANG: 'C.UTF-8', NO_COLOR: '1', PYTHONUNBUFFERED: '1' };
}

export interface Run {
  readonly driver: readonly string[];
  readonly job: Job;
  /** Files about this run are called so, with an ending. */
  readonly files: string;
  readonly home: string;
}

export async function runDriver({ driver: [command = '', ...args], job, files, home }: Run): Promise<Transcript> {
  await writeFile(`${files}.job.json`, JSON.stringify(job, null, 2));
  const child = spawn(command, [...args, `${files}.job.json`], {
    env: environment(home),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const log = createWriteStream(`${files}.log`);
  child.stderr.pipe(log);
  let words = '';
  child.stderr.on('data', (chunk: Buffer) => {
    words = (words + chunk.toString()).slice(-LAST_WORDS);
  });
  const said: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => said.push(chunk));
  const timer = setTimeout(() => killGroup(child, 'SIGKILL'), RUN_LIMIT_MS);
  const [code, signal] = (await Promise.race([
    once(child, 'close'),
    once(child, 'error').then(([error]) => Promise.reject(error as Error)),
  ])) as [number | null, string | null];
  clearTimeout(timer);
  killGroup(child, 'SIGTERM');
  const output = Buffer.concat(said).toString();
  await writeFile(`${files}.out`, output);
  if (code !== 0) throw new Error(`the driver ended with ${code ?? signal}: ${words.trim()}`);
  const line = output.trimEnd().split('\n').at(-1) ?? '';
  return JSON.parse(line) as Transcript;
}

/** The driver may have started a server that did not end with it. */
function killGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // Nobody of the group is left.
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

export interface Serving {
  stop(): Promise<void>;
}

/** Starts an HTTP server and waits until it takes connections. */
export async function serve(
  { command, args, env }: Launch,
  port: number,
  cwd: string,
  logFile: string,
): Promise<Serving> {
  const child = spawn(command, [...args], {
    cwd,
    env: { ...environment(cwd), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const log = createWriteStream(logFile);
  child.stdout.pipe(log, { end: false });
  child.stderr.pipe(log, { end: false });
  const failed = once(child, 'error').then(([error]) => Promise.reject(error as Error));
  const ended = new Promise((resolve) => {
    child.once('exit', resolve);
    child.once('error', resolve);
  });
  const stop = async (): Promise<void> => {
    killGroup(child, 'SIGTERM');
    const timer = setTimeout(() => killGroup(child, 'SIGKILL'), STOP_LIMIT_MS);
    await ended;
    clearTimeout(timer);
    killGroup(child, 'SIGKILL');
    log.end();
  };
  const until = Date.now() + START_LIMIT_MS;
  while (!(await Promise.race([takesConnections(port), failed]))) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`the server ended; see ${logFile}`);
    if (Date.now() > until) {
      await stop();
      throw new Error(`the server did not listen within ${START_LIMIT_MS / 1000} s; see ${logFile}`);
    }
    await delay(LOOK_AGAIN_MS);
  }
  return { stop };
}

function takesConnections(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
