/**
 * Everything that the campaign is played with: the gateway as a process, backends as processes, relays between them.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Principal } from './clients.ts';
import type { Ledger } from './ledger.ts';
import { Relay } from './relay.ts';

const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const program = fileURLToPath(new URL('../../bin/bascule.js', import.meta.url));
const START_MS = 60_000;
const NAMES = ['ann', 'bob', 'cyd'];
/** The disk that the audit trail is on: full after some thousand records. */
const DISK = 'size=4m';

export interface HttpBackend {
  readonly name: string;
  readonly relay: Relay;
  process: ChildProcess;
  readonly restart: () => void;
}

export interface Held {
  readonly heapUsed: number;
  readonly external: number;
  readonly descriptors: number;
  /** Its processes: id, state and command line. */
  readonly children: readonly string[];
}

export class Stage {
  readonly folder: string;
  readonly principals: readonly Principal[];
  readonly backends: readonly HttpBackend[];
  readonly gateway: ChildProcess;
  readonly origin: string;
  readonly disk: string | undefined;
  readonly #reports: Server;

  private constructor(parts: {
    folder: string;
    principals: readonly Principal[];
    backends: readonly HttpBackend[];
    gateway: ChildProcess;
    origin: string;
    disk: string | undefined;
    reports: Server;
  }) {
    this.folder = parts.folder;
    this.principals = parts.principals;
    this.backends = parts.backends;
    this.gateway = parts.gateway;
    this.origin = parts.origin;
    this.disk = parts.disk;
    this.#reports = parts.reports;
  }

  static async start(ledger: Ledger): Promise<Stage> {
    const folder = mkdtempSync(join(tmpdir(), 'bascule-campaign-'));
    const disk = mountDisk(folder);
    const reports = createServer((socket) => {
      socket.on('error', () => undefined);
      createInterface({ input: socket }).on('line', (token) => ledger.executed(token));
    });
    const reportPort = await listen(reports);
    const principals = NAMES.map((name) => ({ name, key: newKey(folder, name) }));
    const backends: HttpBackend[] = [];
    for (const name of ['modern', 'legacy', 'flapping']) backends.push(await startBackend(name, reportPort));
    writeConfig(folder, { backends, reportPort, auditIn: disk ?? folder, extra: false });
    const gateway = startGateway(folder);
    const origin = await addressOf(gateway);
    return new Stage({ folder, principals, backends, gateway, origin, disk, reports });
  }

  /** Rewrites the config, with or without one more backend: the gateway sees it by itself. */
  reload(extra: boolean): void {
    const reportPort = (this.#reports.address() as AddressInfo).port;
    writeConfig(this.folder, { backends: this.backends, reportPort, auditIn: this.disk ?? this.folder, extra });
    this.gateway.kill('SIGHUP');
  }

  /** Processes that the gateway has started. */
  children(): number[] {
    return childrenOf(this.gateway.pid ?? -1);
  }

  async held(): Promise<Held> {
    const file = join(this.folder, 'probe.json');
    rmSync(file, { force: true });
    this.gateway.kill('SIGWINCH');
    const until = Date.now() + START_MS;
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      try {
        const { heapUsed, external } = JSON.parse(readFileSync(file, 'utf8')) as Held;
        const descriptors = readdirSync(`/proc/${this.gateway.pid}/fd`).length;
        return { heapUsed, external, descriptors, children: this.children().map(described) };
      } catch (error) {
        if (Date.now() > until) throw new Error('the gateway does not tell what it holds', { cause: error });
      }
    }
  }

  async stop(): Promise<void> {
    const gone = new Promise<void>((resolve) => this.gateway.once('exit', () => resolve()));
    const isRunning = this.gateway.exitCode === null && this.gateway.signalCode === null;
    this.gateway.kill('SIGKILL');
    for (const { process, relay } of this.backends) {
      process.kill('SIGKILL');
      relay.close();
    }
    if (isRunning) await gone;
    this.#reports.close();
    if (this.disk !== undefined) execFileSync('umount', ['-l', this.disk]);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

async function startBackend(name: string, reportPort: number): Promise<HttpBackend> {
  const port = await freePort();
  const era = name === 'legacy' ? 'legacy' : 'modern';
  const launch = () =>
    spawn(process.execPath, [here('./backend.js'), era, String(port), String(reportPort)], { stdio: 'ignore' });
  const backend: HttpBackend = {
    name,
    relay: await Relay.start(port),
    process: launch(),
    restart: () => {
      backend.process = launch();
    },
  };
  return backend;
}

interface Setting {
  readonly backends: readonly HttpBackend[];
  readonly reportPort: number;
  readonly auditIn: string;
  readonly extra: boolean;
}

function writeConfig(folder: string, { backends, reportPort, auditIn, extra }: Setting): void {
  const stdio = {
    command: process.execPath,
    args: [here('./backend.js'), 'legacy', 'stdio', String(reportPort)],
    idleMs: '5s',
  };
  const http = backends.map(({ name, relay }) => [name, { url: `http://127.0.0.1:${relay.port}/mcp` }]);
  const config = {
    backends: { ...Object.fromEntries(http), stdio, ...(extra ? { extra: { ...stdio, share: true } } : {}) },
    identity: { keys: { file: 'keys.json' } },
    policy: { rules: [{ id: 'all', effect: 'allow' }] },
    audit: { to: join(auditIn, 'audit.jsonl'), maxBytes: '1MiB', keep: 1 },
    // A client that leaves while it is asked something keeps a process for `parkedMs` or `askMs`: not for longer than
    // we look.
    limits: {
      ...{ totalMs: '25s', firstByteMs: '10s', connectMs: '2s', idleMs: '10s' },
      ...{ sessionIdleMs: '15s', parkedMs: '20s', askMs: '20s' },
    },
  };
  const file = join(folder, 'bascule.yaml');
  writeFileSync(file, JSON.stringify(config));
}

function startGateway(folder: string): ChildProcess {
  const preload = ['./clock.js', './probe.js'].flatMap((name) => ['--import', here(name)]);
  // A limit on descriptors that the campaign can reach.
  const limited = ['-c', 'ulimit -n 512; exec "$0" "$@"', process.execPath, '--expose-gc', ...preload, program];
  return spawn('sh', [...limited, 'serve', '--port', '0'], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', HOME: folder, CAMPAIGN_PROBE: join(folder, 'probe.json') },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
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

function newKey(folder: string, name: string): string {
  const args = [program, 'key', 'new', name, '--file', join(folder, 'keys.json')];
  return execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
}

/** Undefined where this user may not mount: then the fault of a full disk is left out, and the report says so. */
function mountDisk(folder: string): string | undefined {
  const disk = join(folder, 'disk');
  mkdirSync(disk);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', DISK, 'tmpfs', disk], { stdio: 'ignore' });
    return disk;
  } catch {
    return undefined;
  }
}

function described(pid: number): string {
  try {
    const state = /^State:\s+(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return `${pid} ${state} ${readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')}`;
  } catch {
    return `${pid} gone`;
  }
}

export function childrenOf(parent: number): number[] {
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

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

async function freePort(): Promise<number> {
  const server = createServer();
  const port = await listen(server);
  await new Promise<void>((resolve) => server.close(() => resolve()));
  return port;
}
