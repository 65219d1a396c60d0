/**
 * `npm run count`: what one small call costs, as V8 counts it: files and functions of ours that run, and bytes that are
 * allocated, beyond what the bench's pass-through (node:http in, undici out, nothing looked at) allocates for the same
 * call. Counts do not depend on how busy the machine is, so they are a gate.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { SourceMap } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundle } from '../scripts/bundle.js';

type Era = 'modern' | 'legacy';

interface Counts {
  readonly files: number;
  readonly functions: number;
  readonly bytes: number;
}

/**
 * Held by the gate. They go down with the code, and up only with a reason. Bytes differ by some 250 between runs;
 * a limit lies that far above what they usually are.
 * One file and some functions look whether a call is observed or traced. One or two functions differ between runs.
 */
const most: Readonly<Record<Era, Counts>> = {
  modern: { files: 52, functions: 240, bytes: 6_700 },
  legacy: { files: 58, functions: 242, bytes: 6_500 },
};
const WARM_UP = 3_000;
const COUNTED = 1_000;
const PROCESSES = 4;
const MOST_PROCESSES = 12;
const WAIT_MS = 10_000;

const folder = mkdtempSync(join(tmpdir(), 'bascule-count-'));
const isListed = process.argv.includes('--list');

async function main(): Promise<void> {
  const dist = join(folder, 'dist');
  await bundle(dist);
  let isOver = false;
  const gateway = [join(dist, 'main.js'), 'serve', '--port', '0'];
  for (const era of ['modern', 'legacy'] as const) {
    const floor = await leastBytes(era, (backend) => ['--import', import.meta.resolve('tsx'), passThrough, backend]);
    const whole = await leastBytes(era, () => gateway, floor + most[era].bytes);
    const { files, functions, names } = await leastFunctions(era, () => gateway);
    const counts = { files, functions, bytes: whole - floor };
    console.log(`${era.padEnd(7)}allocated ${whole} bytes a call, of which the pass-through ${floor}`);
    for (const [what, value] of Object.entries(counts) as [keyof Counts, number][]) {
      const limit = most[era][what];
      const verdict = value > limit ? 'OVER' : 'ok';
      if (value > limit) isOver = true;
      console.log(`${era.padEnd(7)}${what.padEnd(10)}${String(value).padStart(7)}  at most ${limit}  ${verdict}`);
    }
    if (isListed) for (const name of names) console.log(`  ${name}`);
  }
  if (isOver) process.exitCode = 1;
}

const passThrough = fileURLToPath(new URL('./programs/pass-through.ts', import.meta.url));

/**
 * What V8 decides to inline differs between processes, and with it what is allocated: the least of some is steady. Of
 * a program above `limit` more processes are counted, because the least of few may lie above the least there is.
 */
async function leastBytes(era: Era, program: (backend: string) => readonly string[], limit = Number.POSITIVE_INFINITY) {
  let least = Number.POSITIVE_INFINITY;
  for (let n = 0; n < PROCESSES || (least > limit && n < MOST_PROCESSES); n++)
    least = Math.min(least, (await count(era, program, false)).bytes);
  return least;
}

/** A function that runs for most calls, and by chance for each that is counted, is not of the path of a call. */
async function leastFunctions(era: Era, program: (backend: string) => readonly string[]) {
  let least = await count(era, program, true);
  for (let n = 1; n < PROCESSES && least.functions > most[era].functions; n++) {
    const next = await count(era, program, true);
    if (next.functions < least.functions) least = next;
  }
  return least;
}

/** `program` gets the origin of the backend. */
async function count(era: Era, program: (backend: string) => readonly string[], withFunctions: boolean) {
  const backend = createServer((req, res) => void answer(era, req, res)).listen(0, '127.0.0.1');
  await new Promise((resolve) => backend.once('listening', resolve));
  const { port } = backend.address() as AddressInfo;
  const counted = join(folder, 'counted.json');
  rmSync(counted, { force: true });
  writeFileSync(
    join(folder, 'mcp.json'),
    JSON.stringify({ mcpServers: { b: { url: `http://127.0.0.1:${port}/mcp` } } }),
  );
  // A young generation in which nothing has to be collected while it is counted.
  const flags = ['--expose-gc', '--max-semi-space-size=256', '--min-semi-space-size=256'];
  const preload = fileURLToPath(new URL('./programs/count-on-signal.js', import.meta.url));
  const args = [...flags, '--import', preload, ...program(`http://127.0.0.1:${port}`)];
  const gateway = spawn(process.execPath, args, {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, COUNT_FILE: counted, ...(withFunctions && { COUNT_FUNCTIONS: '1' }) },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  try {
    const origin = await new Promise<string>((resolve, reject) => {
      let said = '';
      gateway.once('exit', () => reject(new Error(`the gateway has ended: ${said}`)));
      gateway.stdout.setEncoding('utf8').on('data', (text: string) => {
        said += text;
        const found = /(http:\/\/127\.0\.0\.1:\d+)/.exec(said)?.[1];
        if (found !== undefined) resolve(found);
      });
    });
    const call = await caller(era, `${origin}/mcp`);
    for (let n = 0; n < WARM_UP; n++) await call();
    gateway.kill('SIGUSR2');
    await new Promise((resolve) => setTimeout(resolve, 500));
    for (let n = 0; n < COUNTED; n++) await call();
    gateway.kill('SIGUSR2');
    return read(await written(counted));
  } finally {
    gateway.kill('SIGKILL');
    backend.close();
    backend.closeAllConnections();
  }
}

async function written(file: string): Promise<string> {
  for (const until = Date.now() + WAIT_MS; Date.now() < until; ) {
    if (existsSync(file)) {
      const text = readFileSync(file, 'utf8');
      if (text.endsWith('}')) return text;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('nothing was counted');
}

interface Counted {
  readonly allocated: number;
  readonly scripts: readonly {
    readonly url: string;
    readonly functions: readonly { functionName: string; startOffset: number; count: number }[];
  }[];
}

/** Of functions that ran for every call: others belong to timers. Packages are no files of ours. */
function read(text: string): Counts & { readonly names: readonly string[] } {
  const { allocated, scripts } = JSON.parse(text) as Counted;
  const names: string[] = [];
  const files = new Set<string>();
  for (const { url, functions } of scripts) {
    const path = fileURLToPath(url);
    if (!existsSync(`${path}.map`)) continue;
    const map = new SourceMap(JSON.parse(readFileSync(`${path}.map`, 'utf8')));
    const place = places(readFileSync(path, 'utf8'));
    for (const { functionName, startOffset, count } of functions) {
      if (count < COUNTED) continue;
      const entry = map.findEntry(...place(startOffset));
      if (!('originalSource' in entry)) continue;
      const source = /src\/.*$/.exec(entry.originalSource)?.[0];
      if (source === undefined || entry.originalSource.includes('node_modules')) continue;
      files.add(source);
      names.push(`${source}:${entry.originalLine + 1} ${functionName} ${(count / COUNTED).toFixed(1)}`);
    }
  }
  return { files: files.size, functions: names.length, bytes: Math.round(allocated / COUNTED), names: names.sort() };
}

function places(text: string): (offset: number) => [line: number, column: number] {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return (offset) => {
    let [low, high] = [0, starts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] as number) <= offset) low = middle;
      else high = middle - 1;
    }
    return [low, offset - (starts[low] as number)];
  };
}

const capabilities = { tools: {} };
const result = { content: [{ type: 'text', text: 'done' }] };

async function answer(era: Era, req: IncomingMessage, res: ServerResponse): Promise<void> {
  let body = '';
  for await (const chunk of req) body += chunk;
  const { id, method, params } =
    req.method === 'POST' ? JSON.parse(body) : { id: undefined, method: req.method, params: {} };
  const say = (status: number, message?: object, headers: Record<string, string> = {}) =>
    res.writeHead(status, { 'content-type': 'application/json', ...headers }).end(message && JSON.stringify(message));
  const give = (value: object, headers?: Record<string, string>) =>
    say(200, { jsonrpc: '2.0', id, result: value }, headers);
  if (req.method !== 'POST') say(405);
  else if (id === undefined) say(202);
  else if (method === 'tools/call') give(era === 'modern' ? { resultType: 'complete', ...result } : result);
  else if (era === 'modern' && method === 'server/discover')
    give({
      resultType: 'complete',
      supportedVersions: ['2026-07-28'],
      capabilities,
      ttlMs: 3_600_000,
      cacheScope: 'private',
    });
  else if (era === 'legacy' && method === 'initialize')
    give(
      { protocolVersion: params.protocolVersion, capabilities, serverInfo: { name: 'counted', version: '1' } },
      { 'mcp-session-id': 'counted' },
    );
  else say(400, { jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } });
}

async function caller(era: Era, url: string): Promise<() => Promise<void>> {
  let session: string | undefined;
  const revision = era === 'modern' ? '2026-07-28' : '2025-11-25';
  const post = (message: object, headers: Record<string, string> = {}) =>
    new Promise<string | undefined>((resolve, reject) => {
      const req = httpRequest(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...(session !== undefined && { 'mcp-session-id': session }),
          ...headers,
        },
      });
      req.once('error', reject);
      req.once('response', (res) => {
        res.resume();
        res.once('end', () => {
          if ((res.statusCode ?? 500) >= 300) reject(new Error(`HTTP ${res.statusCode}`));
          else resolve(res.headers['mcp-session-id'] as string | undefined);
        });
      });
      req.end(JSON.stringify(message));
    });
  const version = { 'mcp-protocol-version': revision };
  if (era === 'legacy') {
    const client = { protocolVersion: revision, capabilities: {}, clientInfo: { name: 'counter', version: '1' } };
    session = await post({ jsonrpc: '2.0', id: 0, method: 'initialize', params: client });
    await post({ jsonrpc: '2.0', method: 'notifications/initialized' }, version);
  }
  const prefix = 'io.modelcontextprotocol/';
  const _meta = {
    [`${prefix}protocolVersion`]: revision,
    [`${prefix}clientInfo`]: { name: 'counter', version: '1' },
    [`${prefix}clientCapabilities`]: {},
  };
  const params = { name: 'tool', arguments: { n: 1 }, ...(era === 'modern' && { _meta }) };
  const headers = era === 'modern' ? { ...version, 'mcp-method': 'tools/call', 'mcp-name': 'tool' } : version;
  let id = 0;
  return async () => {
    await post({ jsonrpc: '2.0', id: ++id, method: 'tools/call', params }, headers);
  };
}

try {
  await main();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
