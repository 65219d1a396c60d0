/** Replicas: processes of their own with one Redis, behind a balancer that deals requests out in turn. */
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { configFile, type Served, serve } from '../interaction/harness/program.ts';
import { startRedis, type TestRedis } from './server.ts';

export const KEY = 'a key that all replicas of the tests have';
export const REPLICAS = 3;
/** Short, so that tests need not wait for long. */
export const LEASE_MS = 2_500;
const LOOK_MS = 100;

export interface Replicas {
  readonly redis: TestRedis;
  /** Of the balancer. */
  readonly url: string;
  readonly origin: string;
  /** Those that the balancer uses. */
  readonly all: Served[];
  /** All that were ever started. */
  readonly started: readonly Served[];
  readonly balancer: Balancer;
  /** A further one. */
  add(): Promise<Served>;
}

export interface ReplicasOptions {
  readonly count?: number;
  readonly redis?: TestRedis;
  /** Of `bascule serve`. */
  readonly args?: readonly string[];
  /** More of the config of each, by its number. */
  readonly each?: (number: number) => object;
}

export async function startReplicas(
  config: object,
  { count = REPLICAS, redis, args = [], each = () => ({}) }: ReplicasOptions = {},
): Promise<Replicas> {
  const shared = redis ?? (await startRedis());
  if (redis === undefined) onTestFinished(() => shared.close());
  const { limits, ...rest } = config as { limits?: object };
  const whole = {
    seal: { key: KEY },
    store: { url: shared.url },
    replicas: { listen: '127.0.0.1:0' },
    limits: { replicaLeaseMs: LEASE_MS, replicaLeaveMs: 1_000, ...limits },
    ...rest,
  };
  const started: Served[] = [];
  const one = async (number: number) => {
    const served = await serve(args, configFile({ ...whole, ...each(number) }));
    started.push(served);
    return served;
  };
  const all = await Promise.all(Array.from({ length: count }, (_, number) => one(number)));
  const balancer = await Balancer.start(all);
  return {
    ...{ redis: shared, all, started, balancer, origin: balancer.origin, url: `${balancer.origin}/mcp` },
    add: async () => {
      const served = await one(all.length);
      all.push(served);
      return served;
    },
  };
}

export interface Balanced {
  readonly session: string | undefined;
  readonly replica: Served;
}

/** Takes the next replica for each request, whatever it belongs to. One that is not ready is left out. */
export class Balancer {
  readonly log: Balanced[] = [];
  readonly origin: string;
  readonly #replicas: readonly Served[];
  readonly #unready = new Set<Served>();
  #turn = 0;

  constructor(origin: string, replicas: readonly Served[]) {
    this.origin = origin;
    this.#replicas = replicas;
  }

  static async start(replicas: readonly Served[]): Promise<Balancer> {
    const server = createServer((req, res) => void balancer.#pass(req, res));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const balancer: Balancer = new Balancer(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, replicas);
    const looking = setInterval(() => void balancer.#look(), LOOK_MS);
    onTestFinished(() => {
      clearInterval(looking);
      server.close();
      server.closeAllConnections();
    });
    return balancer;
  }

  /** The part of a session's requests that reached a process which did not open it. */
  shareElsewhere(session: string): number {
    const own = this.log.filter((one) => one.session === session);
    const counts = this.#replicas.map((replica) => own.filter((one) => one.replica === replica).length);
    return own.length === 0 ? 0 : 1 - Math.max(...counts) / own.length;
  }

  /** As a balancer with health checks does. */
  async #look(): Promise<void> {
    for (const replica of [...this.#replicas]) {
      const { status } = await fetch(`${replica.origin}/readyz`).catch(() => ({ status: 0 }));
      if (status === 200) this.#unready.delete(replica);
      else this.#unready.add(replica);
    }
  }

  async #pass(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    for (let tries = 0; tries < 2 * this.#replicas.length; tries++) {
      const replica = this.#replicas[this.#turn++ % this.#replicas.length] as Served;
      if (this.#unready.has(replica)) continue;
      if (!(await this.#send(replica, req, body, res))) continue;
      const session = req.headers['mcp-session-id'];
      this.log.push({ replica, session: typeof session === 'string' ? session : undefined });
      return;
    }
    res.writeHead(502).end();
  }

  /** False where no connection was made. */
  #send({ origin }: Served, req: IncomingMessage, body: Buffer, res: ServerResponse): Promise<boolean> {
    const { hostname, port } = new URL(origin);
    return new Promise((resolve) => {
      const onward = request({
        hostname,
        port,
        method: req.method,
        path: req.url,
        headers: { ...req.headers, connection: 'close' },
      });
      onward.on('error', (error: NodeJS.ErrnoException) => {
        if (error.code === 'ECONNREFUSED' && !res.headersSent) resolve(false);
        else {
          resolve(true);
          if (res.headersSent) res.destroy();
          else res.writeHead(502).end(String(error));
        }
      });
      onward.on('response', (answer) => {
        resolve(true);
        res.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
        res.flushHeaders();
        answer.pipe(res);
        answer.on('error', () => res.destroy());
        answer.on('close', () => {
          if (!answer.complete) res.destroy();
        });
      });
      res.on('close', () => onward.destroy());
      onward.end(body);
    });
  }
}
