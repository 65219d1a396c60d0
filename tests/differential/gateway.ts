/** The gateways of the run: the real program, with a policy, once over HTTP and once over stdio. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import type { Running } from './backends.ts';
import { policies, type Stance } from './rules.ts';

const START_MS = 60_000;

export interface Gateway {
  readonly origin: string;
  readonly stdio: { readonly input: Writable; readonly output: Readable };
  /** What it said on stderr last. */
  lastWords(): string;
  stop(): Promise<void>;
}

export interface Backends {
  readonly m: Running;
  readonly l: Running;
  readonly s: Running;
  readonly r: Running;
}

export async function startGateway(
  program: string,
  folder: string,
  stance: Stance,
  backends: Backends,
): Promise<Gateway> {
  const home = join(folder, stance);
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, 'bascule.yaml'), JSON.stringify(configOf(stance, backends)));
  // `bascule stdio` serves the first endpoint alone.
  const own = { m: backends.m.config };
  writeFileSync(join(home, 'stdio.yaml'), JSON.stringify({ backends: own, policy: policies[stance] }));
  const serve = start(program, ['serve', '--port', '0', '--log-level', 'warn'], home);
  const stdio = start(program, ['stdio', 'stdio.yaml', '--log-level', 'warn'], home);
  const words: string[] = [];
  for (const { stderr } of [serve, stdio]) {
    stderr.setEncoding('utf8').on('data', (text: string) => {
      words.push(text);
      if (words.length > 20) words.shift();
    });
  }
  const origin = await new Promise<string>((resolve, reject) => {
    let said = '';
    const timer = setTimeout(() => reject(new Error(`the gateway does not start: ${said}${words.join('')}`)), START_MS);
    serve.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      const found = /^Bascule \S+ {2}(http:\/\/[^/\s]+)\//m.exec(said)?.[1];
      if (found === undefined) return;
      clearTimeout(timer);
      resolve(found);
    });
  });
  return {
    origin,
    stdio: { input: stdio.stdin, output: stdio.stdout },
    lastWords: () => words.join(''),
    stop: async () => {
      await Promise.all([serve, stdio].map(ended));
    },
  };
}

function configOf(stance: Stance, { m, l, s, r }: Backends): object {
  const legacyWithBatches = { batches: 'allow', revisions: ['2025-03-26', '2025-11-25'] };
  return {
    backends: { m: m.config, l: l.config, s: s.config, r: r.config },
    endpoints: [
      { path: '/mcp', backends: ['m', 'l', 's'], names: 'always' },
      { path: '/servers/m/mcp', backends: ['m'] },
      { path: '/servers/l/mcp', backends: ['l'] },
      { path: '/servers/s/mcp', backends: ['s'] },
      { path: '/batch/mcp', backends: ['l'], profile: legacyWithBatches },
      { path: '/rpc', protocol: 'json-rpc', backends: ['r'] },
    ],
    policy: policies[stance],
  };
}

function start(program: string, args: readonly string[], cwd: string) {
  const child = spawn(process.execPath, [program, ...args], {
    cwd,
    env: { PATH: process.env.PATH ?? '', HOME: cwd },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stdin.on('error', () => undefined);
  return child;
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill('SIGKILL');
  await exit;
}
