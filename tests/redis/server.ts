/** Real Redis servers for one test, each with a port and a directory of its own. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The server that is tested: `redis-server`, or another program that takes its arguments. */
export const serverProgram = process.env.BASCULE_REDIS_SERVER ?? 'redis-server';

export interface TestRedis {
  readonly port: number;
  readonly url: string;
  /** The output of `redis-cli` with these arguments. Rejects where Redis answers with an error. */
  cli(...args: readonly string[]): Promise<string>;
  /** Ends it at once, as a crash does. */
  kill(): Promise<void>;
  /** Starts it again at the same port. `empty`: without the data that it had. */
  start(options?: { readonly empty?: boolean }): Promise<void>;
  close(): Promise<void>;
}

export async function startRedis(...args: readonly string[]): Promise<TestRedis> {
  const dir = mkdtempSync(join(tmpdir(), 'bascule-redis-'));
  const port = await freePort();
  let server: ChildProcess | undefined;
  const redis: TestRedis = {
    port,
    url: `redis://127.0.0.1:${port}`,
    cli: async (...words) => {
      const { stdout } = await run('redis-cli', ['-e', '-p', String(port), ...words]);
      return stdout.replace(/\n$/, '');
    },
    start: async ({ empty = false } = {}) => {
      if (empty)
        for (const name of ['appendonlydir', 'dump.rdb']) rmSync(join(dir, name), { recursive: true, force: true });
      // Every write is on the disk before it is acknowledged: a killed server loses nothing.
      const durable = ['--appendonly', 'yes', '--appendfsync', 'always', '--save', ''];
      server = spawn(
        serverProgram,
        ['--port', String(port), '--dir', dir, '--bind', '127.0.0.1', ...durable, ...args],
        {
          stdio: 'ignore',
        },
      );
      await eventually('Redis answers', async () => (await redis.cli('ping').catch(String)).length > 0 && isUp(port));
    },
    kill: async () => {
      const ending = server;
      if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return;
      await new Promise((resolve) => {
        ending.once('exit', resolve);
        ending.kill('SIGKILL');
      });
    },
    close: async () => {
      await redis.kill();
      rmSync(dir, { recursive: true, force: true });
    },
  };
  await redis.start();
  return redis;
}

/** Three nodes, without replicas. */
export async function startCluster(): Promise<readonly TestRedis[]> {
  const nodes = await Promise.all([1, 2, 3].map(() => startRedis('--cluster-enabled', 'yes')));
  const addresses = nodes.map(({ port }) => `127.0.0.1:${port}`);
  await run('redis-cli', ['--cluster', 'create', ...addresses, '--cluster-yes']);
  for (const node of nodes)
    await eventually('the cluster is up', async () => (await node.cli('cluster', 'info')).includes('state:ok'));
  return nodes;
}

/** Asks until it is so. The test's own time limit ends it. */
export async function eventually(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 30_000;
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error(`it never happened: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

async function isUp(port: number): Promise<boolean> {
  return run('redis-cli', ['-p', String(port), 'ping']).then(
    ({ stdout }) => /PONG|NOAUTH/.test(stdout),
    () => false,
  );
}

/** A cluster's own port is 10,000 higher. */
export async function freePort(): Promise<number> {
  for (;;) {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    await new Promise((resolve) => server.close(resolve));
    if (port < 55_000) return port;
  }
}
