/** Replicas with one Redis, behind a balancer that goes in turn, in place of one gateway. The caller stops them. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Gatekeeper, type Started, startGateway } from '../conformance/processes.ts';
import { Balancer } from './balancer.ts';
import { eventually, startRedis } from './server.ts';

export interface LaunchOptions {
  /** `bascule serve`, as words. */
  readonly command: readonly string[];
  readonly count: number;
  /** For the config and the logs. */
  readonly folder: string;
  /** The address that the gateways may speak of before their own. */
  readonly backend?: URL | undefined;
}

export async function launchReplicas(
  config: object,
  { command, count, folder, backend }: LaunchOptions,
): Promise<Gatekeeper> {
  const redis = await startRedis();
  const running: Started[] = [];
  const stop = async () => {
    await Promise.all(running.map((gateway) => gateway.stop()));
    await redis.close();
  };
  try {
    const shared = {
      seal: { key: 'a key that all replicas of this group have' },
      store: { url: redis.url },
      replicas: { listen: '127.0.0.1:0' },
      // Nobody waits for what a replica hands over at its end.
      limits: { replicaLeaveMs: 0, drainMs: 0 },
    };
    await mkdir(folder, { recursive: true });
    const configFile = join(folder, 'bascule.yaml');
    await writeFile(configFile, JSON.stringify({ ...config, ...shared }));
    const one = async (number: number) => {
      const gateway = await startGateway(command, configFile, join(folder, `gateway-${number}.log`), backend);
      running.push(gateway);
      // Its look at the backends is over then: what they see afterwards is what clients do.
      await eventually('it is ready', async () => (await fetch(new URL('/readyz', gateway.url))).status === 200);
    };
    await Promise.all(Array.from({ length: count }, (_, number) => one(number)));
    const balancer = await Balancer.start(running.map(({ url }) => ({ origin: url.origin })));
    return {
      url: new URL(balancer.origin),
      elsewhere: () => balancer.shareElsewhere(),
      stop: async () => {
        balancer.close();
        await stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
