import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { compiled } from '../compiled.ts';
import type { FixtureEra } from './fixture/http.ts';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const FIXTURE = new URL('./fixture/main.ts', import.meta.url);

/** A cold start on a busy machine takes a few seconds; one that takes longer hangs. */
const START_LIMIT_MS = 30_000;

/** What a process gets to end by itself before it is killed. */
const STOP_LIMIT_MS = 5_000;

/** How much of a process's last words goes into the message when it does not start. */
const LAST_WORDS = 2_000;

export interface Started {
  readonly url: URL;
  stop(): Promise<void>;
}

/** A gateway, as one process or as several. */
export interface Gatekeeper extends Started {
  /** Of replicas: the part of the requests of sessions that reached a process which did not own the session. */
  elsewhere?(): number;
}

export function startFixture(era: FixtureEra, logFile: string): Promise<Started> {
  return start([process.execPath, compiled(FIXTURE), '--era', era, '--port', '0'], logFile);
}

/**
 * The gateway's command takes the config file and the port; it prints the address of its endpoint when it listens.
 * It may speak of its backend before, whose address looks the same.
 */
export function startGateway(
  command: readonly string[],
  configFile: string,
  logFile: string,
  backend: URL | undefined,
): Promise<Started> {
  return start([...command, configFile, '--port', '0'], logFile, backend);
}

async function start([file = '', ...args]: readonly string[], logFile: string, other?: URL): Promise<Started> {
  const child = spawn(file, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
  const log = createWriteStream(logFile);
  const stop = (): Promise<void> => end(child);
  try {
    const url = await new Promise<URL>((resolve, reject) => {
      let output = '';
      const fail = (why: string): void => reject(new Error(`${file} ${args.join(' ')}: ${why}\n${output.trim()}`));
      const timer = setTimeout(() => fail('did not say where it listens'), START_LIMIT_MS);
      const read = (chunk: Buffer): void => {
        log.write(chunk);
        output = (output + chunk.toString()).slice(-LAST_WORDS);
        const addresses = output.match(/http:\/\/127\.0\.0\.1:\d+\/(?:servers\/\w+\/)?mcp\b/g) ?? [];
        const address = addresses.find((candidate) => candidate !== other?.href);
        if (address === undefined) return;
        clearTimeout(timer);
        resolve(new URL(address));
      };
      child.stdout.on('data', read);
      child.stderr.on('data', read);
      child.once('error', (error) => fail(error.message));
      child.once('close', (code) => {
        clearTimeout(timer);
        log.end();
        fail(`ended with code ${code}`);
      });
    });
    return { url, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'close');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS);
  await ended;
  clearTimeout(timer);
}
