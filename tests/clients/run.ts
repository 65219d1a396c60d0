/**
 * Clients of other people, as programs: the Inspector's command line, of both eras and over every transport, through
 * the gateway to servers of both eras.
 *
 *   npm install --no-save --ignore-scripts --prefix tests/clients    what it needs, once
 *   tsx tests/clients/run.ts
 *
 * Needs a built gateway. The Inspector needs Node 22.19 or newer: where this one is older, the installation brings one
 * along (for Linux on x64 and arm64).
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { ROOT, type Started, startGateway } from '../conformance/processes.ts';
import { type Proof, writeProofs } from '../requirements/proofs.ts';
import { type Guarded, startGuarded } from './guarded.ts';

const modules = fileURLToPath(new URL('./node_modules/', import.meta.url));
const inspector = join(modules, '@modelcontextprotocol/inspector/clients/cli/build/index.js');
const fixture = fileURLToPath(new URL('../conformance/fixture/main.ts', import.meta.url));
const bascule = join(ROOT, 'bin/bascule.js');

const NEEDED_NODE = [22, 19] as const;
/** A cold start of the Inspector and of a backend on a busy machine; one that takes longer hangs. */
const RUN_LIMIT_MS = 60_000;

/** The node that the Inspector runs on. */
function newerNode(): string | undefined {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const [needed, least] = NEEDED_NODE;
  if (major > needed || (major === needed && minor >= least)) return process.execPath;
  const brought = join(modules, `node-${process.platform}-${process.arch}`, 'bin', 'node');
  return existsSync(brought) ? brought : undefined;
}

interface Case {
  readonly title: string;
  /** Where the Inspector connects to, and how. */
  readonly where: readonly string[];
  readonly asks: readonly string[];
  /** What must be in the answer. */
  readonly gets: RegExp;
  /** Nothing comes of it, and this is in what is said about that. */
  readonly isRefused?: true;
  readonly verifies?: Proof['verifies'];
}

const eras = ['legacy', 'modern'] as const;

/** Every method of the demo for a client of that era, at that place. */
function demoCases(place: string, where: readonly string[]): Case[] {
  const demo = (asks: readonly string[], gets: RegExp): Case => ({
    title: `the Inspector, ${place}: ${asks.join(' ')}`,
    where,
    asks: ['--method', ...asks],
    gets,
  });
  return [
    demo(['tools/list'], /"name": "echo"/),
    demo(['tools/call', '--tool-name', 'echo', '--tool-arg', 'message=hi'], /"length": 2/),
    demo(['prompts/get', '--prompt-name', 'greet', '--prompt-args', 'name=Ada'], /Ada/),
    demo(['resources/read', '--uri', 'demo://about'], /"uri": "demo:\/\/about"/),
  ];
}

function casesOf(gateway: URL): Case[] {
  const at = (backend: string) => `${gateway.origin}/servers/${backend}/mcp`;
  const overHttp = eras.flatMap((era) => [
    ...demoCases(`${era}, over HTTP`, [at('demo'), '--transport', 'http', '--protocol-era', era]),
    ...eras.map((other) => ({
      title: `the Inspector, ${era}, with a ${other} server`,
      where: [at(other), '--transport', 'http', '--protocol-era', era],
      asks: ['--method', 'tools/call', '--tool-name', 'test_simple_text'],
      gets: /This is a simple text response for testing/,
    })),
  ]);
  const sse = [`${gateway.origin}/servers/demo/sse`, '--transport', 'sse'];
  return [...overHttp, ...demoCases('over HTTP+SSE', sse)];
}

/** With a key in either place, with a token of a real issuer, and with nothing. */
async function guardedCases({ origin, key, token }: Guarded): Promise<Case[]> {
  const transports = [
    ...eras.map((era) => ({ name: era, path: '/mcp', how: ['--transport', 'http', '--protocol-era', era] })),
    { name: 'HTTP+SSE', path: '/sse', how: ['--transport', 'sse'] },
  ];
  const cases: Case[] = [];
  for (const { name, path, how } of transports) {
    const url = `${origin}/servers/demo${path}`;
    const presented = {
      'a key': `Authorization: Bearer ${key}`,
      'a key in its own header': `x-access-key: ${key}`,
      'a token': `Authorization: Bearer ${await token(url)}`,
    };
    const asks = ['--method', 'tools/call', '--tool-name', 'echo', '--tool-arg', 'message=hi'];
    const verifies = ['gateway:identity:real-issuer'] as const;
    for (const [what, header] of Object.entries(presented)) {
      const title = `the Inspector, ${name}, with ${what}`;
      cases.push({ title, where: [url, ...how, '--header', header], asks, gets: /"length": 2/, verifies });
    }
    const title = `the Inspector, ${name}, with nothing`;
    cases.push({ title, where: [url, ...how], asks, gets: /401|auth/i, isRefused: true, verifies });
  }
  return cases;
}

/** `bascule stdio` in a folder without a config serves the demo. */
const overStdio = eras.flatMap((era) =>
  demoCases(`${era}, over stdio`, [process.execPath, bascule, 'stdio', '--protocol-era', era]),
);

async function prove(node: string, home: string, one: Case): Promise<Proof> {
  const { title, where, asks, gets, isRefused = false, verifies = ['gateway:clients:inspector'] } = one;
  const env = { PATH: process.env.PATH ?? '', HOME: home };
  try {
    const options = { cwd: home, env, timeout: RUN_LIMIT_MS };
    const run = promisify(execFile)(node, [inspector, ...where, ...asks], options);
    const said = isRefused ? await refusalOf(run) : (await run).stdout;
    if (!gets.test(said)) throw new Error(`answered with ${said}`);
    console.log(`ok      ${title}`);
    return { title, passed: true, verifies };
  } catch (error) {
    console.error(`FAILED  ${title}\n${error instanceof Error ? error.message : String(error)}`);
    return { title, passed: false, verifies };
  }
}

async function refusalOf(run: Promise<{ stdout: string }>): Promise<string> {
  const outcome = await run.catch((error: unknown) => error);
  if (outcome instanceof Error && 'code' in outcome && typeof outcome.code === 'number') {
    return 'stderr' in outcome ? String(outcome.stderr) : outcome.message;
  }
  throw new Error(`was let in: ${JSON.stringify(outcome)}`);
}

async function start(home: string): Promise<Started> {
  const server = (era: string) => ({
    command: process.execPath,
    args: ['--import', 'tsx', fixture, '--era', era, '--stdio'],
    cwd: ROOT,
  });
  const demo = { command: process.execPath, args: [join(ROOT, 'dist/demo.js')] };
  const mcpServers = { demo, legacy: server('legacy'), modern: server('modern') };
  const config = join(home, 'gateway.json');
  await writeFile(config, JSON.stringify({ mcpServers }));
  const nobody = new URL('http://127.0.0.1/');
  return startGateway([process.execPath, bascule, 'serve'], config, join(home, 'gateway.log'), nobody);
}

async function main(): Promise<number> {
  const startTime = Date.now();
  const node = newerNode();
  if (!existsSync(inspector) || node === undefined) {
    console.error(
      existsSync(inspector)
        ? `the Inspector needs Node ${NEEDED_NODE.join('.')} or newer, this is ${process.versions.node}, and there is none to bring along for this platform`
        : 'the Inspector is not here: npm install --no-save --ignore-scripts --prefix tests/clients',
    );
    return 1;
  }
  const home = await mkdtemp(join(tmpdir(), 'bascule-clients-'));
  await mkdir(join(home, 'empty'));
  const gateway = await start(home);
  const guarded = await startGuarded(home);
  const proofs: Proof[] = [];
  try {
    for (const one of [...casesOf(gateway.url), ...overStdio, ...(await guardedCases(guarded))])
      proofs.push(await prove(node, join(home, 'empty'), one));
  } finally {
    await gateway.stop();
    await guarded.stop();
    await rm(home, { recursive: true, force: true });
  }
  await writeProofs('clients', { file: 'tests/clients/run.ts', startTime, proofs });
  const failed = proofs.filter(({ passed }) => !passed).length;
  console.log(`\n${proofs.length - failed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

process.exitCode = await main();
