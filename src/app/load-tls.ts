/** Loads TLS of the listener, only where it is configured. */
import type { Config } from '../config/config.ts';
import type { Log } from '../observe/log.ts';
import type { ReloadingTls } from './serve-tls.ts';

/** Rejects with a ListFileError where there is no certificate that can be used. */
export async function loadTls({ listen }: Config, log: Log): Promise<ReloadingTls | undefined> {
  if (listen.tls === undefined) return undefined;
  const { serveTls } = await import('./serve-tls.ts');
  return serveTls(listen.tls, log);
}
