/** Makes this process one of several replicas, only where the config says so. */
import type { Config } from '../config/config.ts';
import type { Log } from '../observe/log.ts';
import type { StoreEngine } from '../store/engine.ts';
import { systemClock } from './clock.ts';
import { digest } from './digest.ts';
import type { Replicas } from './replicas.ts';

export interface LoadReplicasOptions {
  readonly log: Pick<Log, 'warn'>;
  readonly portOffset: number;
  /** The config in force. */
  readonly current: () => Config;
}

export async function loadReplicas(
  config: Config,
  store: StoreEngine | undefined,
  { log, portOffset, current }: LoadReplicasOptions,
): Promise<Replicas | undefined> {
  // The config has no replicas without a store.
  if (config.replicas === undefined || store === undefined) return undefined;
  const { Replicas } = await import('./replicas.ts');
  const known = remembered(digestOf);
  return new Replicas(config, config.replicas, {
    ...{ store, clock: systemClock, timeOfDay: Date.now, portOffset },
    warn: (text, facts) => log.warn(facts, text),
    configDigest: () => known(current()),
  });
}

/** The digest is asked for every second, and a config may be large. */
function remembered(digestOf: (config: Config) => string): (config: Config) => string {
  const digests = new WeakMap<Config, string>();
  return (config) => {
    const text = digests.get(config) ?? digestOf(config);
    digests.set(config, text);
    return text;
  };
}

/** Of what decides about requests: addresses and directories differ between machines. */
function digestOf({ endpoints, backends, services, policy, rates, identity, limits }: Config): string {
  return digest(JSON.stringify([endpoints, backends, services, policy, rates, identity, limits]));
}
