/** One process of the gateway: how it is started, looked into and ended. */
import { type ChildProcess, spawn } from 'node:child_process';
import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));
export const program = fileURLToPath(new URL('../../bin/bascule.js', import.meta.url));
const START_MS = 60_000;

export interface Held {
  readonly heapUsed: number;
  readonly external: number;
  readonly descriptors: number;
  /** Its processes: id, state and command line. */
  readonly children: readonly string[];
}

export interface GatewayOptions {
  /** Where its config is. */
  readonly folder: string;
  readonly name: string;
  /** The program, where it is another than the one that was built here. */
  readonly program?: string | undefined;
  readonly preload?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export class Gateway {
  readonly name: string;
  readonly origin: string;
  readonly process: ChildProcess;
  /** Its own, beside its config. */
  readonly home: string;
  /** Its end is the campaign's doing. */
  isEnded = false;
  /** Its last words. */
  said = '';
  readonly exited: Promise<string>;

  private constructor(name: string, origin: string, child: ChildProcess, home: string) {
    this.name = name;
    this.origin = origin;
    this.process = child;
    this.home = home;
    this.exited = new Promise((resolve) => {
      child.once('exit', (code, signal) => resolve(`${name} ended: ${code} ${signal} ${this.said}`));
    });
    child.stderr?.on('data', (text: string) => {
      this.said = (this.said + text).slice(-2000);
      const { CAMPAIGN_LOG } = process.env;
      if (CAMPAIGN_LOG !== undefined) appendFileSync(CAMPAIGN_LOG, text.replace(/^(?=.)/gm, `${name} `));
    });
  }

  static async start({ folder, name, preload = [], env = {}, program: file = program }: GatewayOptions) {
    const home = join(folder, name);
    mkdirSync(home, { recursive: true });
    const loaded = ['./clock.js', './probe.js', ...preload].flatMap((each) => ['--import', here(each)]);
    // A limit on descriptors that the campaign can reach.
    const limited = ['-c', 'ulimit -n 512; exec "$0" "$@"', process.execPath, '--expose-gc', ...loaded, file];
    const child = spawn('sh', [...limited, 'serve', '--port', '0'], {
      cwd: folder,
      env: { PATH: process.env.PATH ?? '', HOME: home, CAMPAIGN_PROBE: join(home, 'probe.json'), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    return new Gateway(name, await addressOf(child), child, home);
  }

  /** Processes that it has started. */
  children(): number[] {
    return childrenOf(this.process.pid ?? -1);
  }

  /** Ends it, as a crash or an operator does. */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    this.isEnded = true;
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    this.process.kill(signal);
    await this.exited;
  }

  async held(): Promise<Held> {
    const file = join(this.home, 'probe.json');
    rmSync(file, { force: true });
    this.process.kill('SIGWINCH');
    const until = Date.now() + START_MS;
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      try {
        const { heapUsed, external } = JSON.parse(readFileSync(file, 'utf8')) as Held;
        const descriptors = readdirSync(`/proc/${this.process.pid}/fd`).length;
        return { heapUsed, external, descriptors, children: this.children().map(described) };
      } catch (error) {
        if (Date.now() > until) throw new Error(`${this.name} does not tell what it holds`, { cause: error });
      }
    }
  }
}

function addressOf(gateway: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = '';
    const fail = () => reject(new Error(`the gateway does not start: ${said}`));
    const timer = setTimeout(fail, START_MS);
    gateway.stderr?.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-2000);
    });
    gateway.once('exit', fail);
    let found = '';
    gateway.stdout?.setEncoding('utf8').on('data', (text: string) => {
      found += text;
      const origin = /^Bascule \S+ {2}(http:\/\/[^/\s]+)\//m.exec(found)?.[1];
      if (origin === undefined) return;
      clearTimeout(timer);
      resolve(origin);
    });
  });
}

function described(pid: number): string {
  try {
    const state = /^State:\s+(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return `${pid} ${state} ${readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')}`;
  } catch {
    return `${pid} gone`;
  }
}

function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
        return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === parent;
      } catch {
        return false;
      }
    });
}
