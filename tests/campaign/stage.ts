/**
 * Everything that the campaign is played with: the gateway as a process or as several replicas, backends as processes,
 * relays between them.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { freePort } from '../interaction/harness/ports.ts';
import type { Principal } from './clients.ts';
import { Gateway, type Held, program } from './gateway.ts';
import type { Ledger } from './ledger.ts';
import { Relay } from './relay.ts';
import { ReplicaGroup, replicaSettings } from './replica-group.ts';

const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const NAMES = ['ann', 'bob', 'cyd'];
/** The disk that the audit trail is on: full after some thousand records. */
const DISK = 'size=4m';

export interface HttpBackend {
  readonly name: string;
  readonly relay: Relay;
  process: ChildProcess;
  readonly restart: () => void;
}

interface StageParts {
  readonly folder: string;
  readonly principals: readonly Principal[];
  readonly backends: readonly HttpBackend[];
  readonly gateways: readonly Gateway[];
  readonly group: ReplicaGroup | undefined;
  readonly disk: string | undefined;
  readonly reports: Server;
}

export class Stage {
  readonly principals: readonly Principal[];
  readonly backends: readonly HttpBackend[];
  /** One, or the replicas that run. */
  readonly gateways: readonly Gateway[];
  readonly group: ReplicaGroup | undefined;
  /** Where clients go. */
  readonly origin: string;
  readonly disk: string | undefined;
  readonly #parts: StageParts;

  private constructor(parts: StageParts) {
    this.#parts = parts;
    this.principals = parts.principals;
    this.backends = parts.backends;
    this.gateways = parts.gateways;
    this.group = parts.group;
    this.disk = parts.disk;
    this.origin = parts.group?.balancer.origin ?? parts.gateways[0]?.origin ?? '';
  }

  static async start(ledger: Ledger, replicas: number | undefined): Promise<Stage> {
    const folder = mkdtempSync(join(tmpdir(), 'bascule-campaign-'));
    // Several audit trails would need several disks.
    const disk = replicas === undefined ? mountDisk(folder) : undefined;
    const reports = createServer((socket) => {
      socket.on('error', () => undefined);
      createInterface({ input: socket }).on('line', (token) => ledger.executed(token));
    });
    await new Promise<void>((resolve) => reports.listen(0, '127.0.0.1', resolve));
    const reportPort = portOf(reports);
    const principals = NAMES.map((name) => ({ name, key: newKey(folder, name) }));
    const backends: HttpBackend[] = [];
    for (const name of ['modern', 'legacy', 'flapping']) backends.push(await startBackend(name, reportPort));
    const isReplicated = replicas !== undefined;
    writeConfig(folder, { backends, reportPort, auditIn: disk ?? folder, extra: false, isReplicated });
    const group = isReplicated ? await ReplicaGroup.start(folder, replicas) : undefined;
    const gateways = group?.gateways ?? [await Gateway.start({ folder, name: 'gateway' })];
    return new Stage({ folder, principals, backends, gateways, group, disk, reports });
  }

  /** Rewrites the config, with or without one more backend: the gateway sees it by itself. */
  reload(extra: boolean): void {
    const { folder, reports, disk = folder } = this.#parts;
    const isReplicated = this.group !== undefined;
    writeConfig(folder, { backends: this.backends, reportPort: portOf(reports), auditIn: disk, extra, isReplicated });
    for (const gateway of this.gateways) gateway.process.kill('SIGHUP');
  }

  /** Processes that the gateway has started. */
  children(): number[] {
    return this.gateways.flatMap((gateway) => gateway.children());
  }

  /** Of replicas: what the one holds that holds most. */
  async held(): Promise<Held> {
    const all = await Promise.all(this.gateways.map((gateway) => gateway.held()));
    const most = (of: (held: Held) => number) => Math.max(...all.map(of));
    return {
      heapUsed: most(({ heapUsed }) => heapUsed),
      external: most(({ external }) => external),
      descriptors: most(({ descriptors }) => descriptors),
      children: all.flatMap(({ children }) => children),
    };
  }

  async stop(): Promise<void> {
    const { group, gateways, reports, disk, folder } = this.#parts;
    for (const { process, relay } of this.backends) {
      process.kill('SIGKILL');
      relay.close();
    }
    if (group === undefined) await Promise.all(gateways.map((gateway) => gateway.end('SIGKILL')));
    else await group.stop();
    reports.close();
    if (disk !== undefined) execFileSync('umount', ['-l', disk]);
    rmSync(folder, { recursive: true, force: true });
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
  readonly isReplicated: boolean;
}

function writeConfig(folder: string, { backends, reportPort, auditIn, extra, isReplicated }: Setting): void {
  const stdio = {
    command: process.execPath,
    args: [here('./backend.js'), 'legacy', 'stdio', String(reportPort)],
    idleMs: '5s',
  };
  const http = backends.map(({ name, relay }) => [name, { url: `http://127.0.0.1:${relay.port}/mcp` }]);
  const { limits: replicaLimits, ...replicated } = replicaSettings;
  const config = {
    ...(isReplicated ? replicated : {}),
    backends: { ...Object.fromEntries(http), stdio, ...(extra ? { extra: { ...stdio, share: true } } : {}) },
    identity: { keys: { file: 'keys.json' } },
    policy: { rules: [{ id: 'all', effect: 'allow' }] },
    audit: {
      to: join(auditIn, isReplicated ? `audit-\${CAMPAIGN_ADDRESS}.jsonl` : 'audit.jsonl'),
      maxBytes: '1MiB',
      keep: 1,
    },
    // A client that leaves while it is asked something keeps a process for `parkedMs` or `askMs`: not for longer than
    // we look.
    limits: {
      ...{ totalMs: '25s', firstByteMs: '10s', connectMs: '2s', idleMs: '10s' },
      ...{ sessionIdleMs: '15s', parkedMs: '20s', askMs: '20s' },
      ...(isReplicated ? replicaLimits : {}),
    },
  };
  // At once: a replica may be starting.
  const draft = join(folder, 'bascule.yaml.draft');
  writeFileSync(draft, JSON.stringify(config));
  renameSync(draft, join(folder, 'bascule.yaml'));
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

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}
