/** Replicas: processes of their own with one Redis, behind a balancer that deals requests out in turn. */
import { onTestFinished } from 'vitest';
import { configFile, type ProgramOptions, type Served, serve } from '../interaction/harness/program.ts';
import { Balancer } from './balancer.ts';
import { startRedis, type TestRedis } from './server.ts';

export const KEY = 'a key that all replicas of the tests have';
export const REPLICAS = 3;
/** Short, so that tests need not wait for long. */
export const LEASE_MS = 2_500;

export interface Replicas {
  readonly redis: TestRedis;
  /** Of the balancer. */
  readonly url: string;
  readonly origin: string;
  /** Those that the balancer uses. */
  readonly all: Served[];
  /** All that were ever started. */
  readonly started: readonly Served[];
  readonly balancer: Balancer<Served>;
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
  /** How the program of each is started. */
  readonly program?: (number: number) => ProgramOptions;
}

export async function startReplicas(
  config: object,
  { count = REPLICAS, redis, args = [], each = () => ({}), program = () => ({}) }: ReplicasOptions = {},
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
    const served = await serve(args, { ...configFile({ ...whole, ...each(number) }), ...program(number) });
    started.push(served);
    return served;
  };
  const all = await Promise.all(Array.from({ length: count }, (_, number) => one(number)));
  const balancer = await Balancer.start(all);
  onTestFinished(() => balancer.close());
  return {
    ...{ redis: shared, all, started, balancer, origin: balancer.origin, url: `${balancer.origin}/mcp` },
    add: async () => {
      const served = await one(all.length);
      all.push(served);
      return served;
    },
  };
}
