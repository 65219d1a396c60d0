/** Reads and checks `replicas`: where the processes of one gateway on several machines reach each other. */
import { hostname } from 'node:os';
import type * as z from 'zod';
import type { ReplicasConfig, StoreConfig } from './config.ts';
import type { ConfigDocument } from './document.ts';
import * as shape from './shapes.ts';

export const replicasShape = shape.once(() =>
  shape.closed('a map with `listen`', {
    listen: shape.addressWithPort('10.0.0.5:8810'),
    advertise: shape
      .text('a host or address with a port, such as 10.0.0.5:8810', /^(?:[A-Za-z0-9.-]+|\[[0-9a-f:.]+\]):\d{1,5}$/i)
      .exactOptional(),
  }),
);

const wildcards = new Set(['0.0.0.0', '::', '[::]']);

/** Undefined if absent, or invalid and reported. */
export function readReplicas(
  document: ConfigDocument,
  replicas: z.infer<ReturnType<typeof replicasShape>> | undefined,
  store: Partial<StoreConfig> | undefined,
): ReplicasConfig | undefined {
  if (replicas === undefined) return undefined;
  if (store?.url === undefined) {
    document.report(['replicas'], {
      message: '`replicas` needs `store.url`: they find each other there',
      expected: 'a `store` with the `url` of Redis or Valkey in this file',
    });
    return undefined;
  }
  const { listen, advertise } = replicas;
  if (advertise !== undefined) return { listen, advertise };
  // The name of the machine is what others can resolve in most networks.
  return wildcards.has(listen.host) ? { listen, advertisedHost: hostname() } : { listen, advertisedHost: listen.host };
}

/** What `config check` shows. */
export function replicasPlace({ listen: { host, port }, advertise, advertisedHost }: ReplicasConfig): string {
  return `listen to each other at ${host}:${port}; this one is reached at ${advertise ?? `${advertisedHost}:${port}`}`;
}
