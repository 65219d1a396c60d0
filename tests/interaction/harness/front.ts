/**
 * What clients of the SDK suites talk to: a gateway in this process, or replicas behind a balancer where the run asks
 * for them (`tests/redis/vitest.sdk.config.ts`). The cases are the same.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'vitest';
import { launchReplicas } from '../../redis/launch.ts';
import { type ConfigValue, launchGateway } from './gateway.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** How many processes the gateway is. */
    readonly replicas: number | undefined;
  }
}

export interface Front {
  /** The address of one backend alone. */
  url(backend: string): string;
  close(): Promise<void>;
}

/** The caller closes it. */
export async function openFront(config: ConfigValue): Promise<Front> {
  const count = inject('replicas');
  if (count === undefined) return launchGateway(config);
  const folder = mkdtempSync(join(tmpdir(), 'bascule-replicas-'));
  const command = [process.execPath, inject('executable') ?? '', 'serve'];
  const { b: { url: address } = {} } = config.backends as { readonly b?: { readonly url?: string } };
  const backend = address === undefined ? undefined : new URL(address);
  const { url, stop } = await launchReplicas(config, { command, count, folder, backend });
  return {
    url: (backend) => new URL(`/servers/${backend}/mcp`, url).href,
    close: async () => {
      await stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
