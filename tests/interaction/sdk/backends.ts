/** Starts one of the servers, on a socket here or as a process of the gateway's. The caller closes it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { serveV1, serveV2 } from '../harness/sdk-servers.ts';
import { buildV1 } from './server-v1.ts';
import { buildV2 } from './server-v2.ts';
import { type Built, type Fact, newWorld, type Order, pass } from './world.ts';

export type Version = 'v1' | 'v2';
export const ways = ['http', 'stdio'] as const;
export type Way = (typeof ways)[number];

export interface Backend {
  /** For the `backends` of a config. */
  readonly config: object;
  /** What was seen by all its instances, in order. */
  readonly facts: readonly Fact[];
  /** To every instance. */
  order(order: Order): void;
  close(): Promise<void>;
}

export function launchBackend(version: Version, way: Way): Promise<Backend> {
  if (way === 'stdio') return launchProcesses(version);
  return version === 'v1' ? launchV1() : launchV2();
}

async function launchV1(): Promise<Backend> {
  const facts: Fact[] = [];
  const world = newWorld((fact) => void facts.push(fact));
  const made: Built<unknown>[] = [];
  const { url, close } = await serveV1(() => {
    const built = buildV1(world);
    made.push(built);
    return built.server;
  });
  const order = (order: Order) => {
    for (const { obey } of made) obey(order);
    pass(order, world);
  };
  return { config: { url }, facts, close, order };
}

async function launchV2(): Promise<Backend> {
  const facts: Fact[] = [];
  const world = newWorld((fact) => void facts.push(fact));
  // An instance lives for one request, so that there is none to give an order to.
  const { url, close, notify } = await serveV2(() => buildV2(world).server);
  const order = (order: Order) => {
    pass(order, world);
    if (order.kind === 'grow') notify.toolsChanged();
    if (order.kind === 'update') notify.resourceUpdated(order.uri);
  };
  return { config: { url }, facts, close, order };
}

async function launchProcesses(version: Version): Promise<Backend> {
  const facts: Fact[] = [];
  const children = new Set<Socket>();
  let grown = false;
  const hub = createServer((child) => {
    children.add(child);
    child.on('error', () => undefined).on('close', () => children.delete(child));
    createInterface({ input: child }).on('line', (line) => facts.push(JSON.parse(line)));
    child.write(`${JSON.stringify({ grown })}\n`);
  });
  await new Promise<void>((resolve) => hub.listen(0, '127.0.0.1', resolve));
  const { file, remove } = await bundle();
  const { port } = hub.address() as AddressInfo;
  return {
    config: { command: process.execPath, args: [file, version, String(port)] },
    facts,
    order: (order) => {
      for (const child of children) child.write(`${JSON.stringify(order)}\n`);
      if (order.kind === 'grow') grown = true;
    },
    close: async () => {
      for (const child of children) child.destroy();
      await new Promise((resolve) => hub.close(resolve));
      remove();
    },
  };
}

/** In one file, the SDKs included, it starts in a fraction of the time. */
async function bundle(): Promise<{ readonly file: string; remove(): void }> {
  const folder = mkdtempSync(join(tmpdir(), 'bascule-sdk-'));
  const file = join(folder, 'child.mjs');
  await build({
    entryPoints: [fileURLToPath(new URL('child.ts', import.meta.url))],
    outfile: file,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    logLevel: 'error',
    // What the older SDK leans on is CommonJS.
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  });
  return { file, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
