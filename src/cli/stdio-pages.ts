/**
 * Serves the consent pages, and nothing else, over HTTP on this machine, for a gateway whose client uses stdio: a
 * person gives consent in a browser.
 */
import type { Assembled } from '../app/assemble.ts';
import { systemClock } from '../app/clock.ts';
import type { Config } from '../config/config.ts';
import { type HttpServer, startHttp } from '../downstream/listener.ts';
import type { Counters } from '../observe/counters.ts';
import { ingressNotes } from '../observe/event-counts.ts';
import type { Log } from '../observe/log.ts';

const LOOPBACK = '127.0.0.1';

/**
 * Uses the config's port, because authorization servers may have that one registered; a free port where it is taken.
 */
export async function servePages(
  { listen, limits }: Config,
  { gateway, authenticator, pages }: Assembled,
  { log, counters }: { readonly log: Log; readonly counters: Counters },
): Promise<HttpServer> {
  const at = (port: number) =>
    startHttp({
      listen: { ...listen, host: LOOPBACK, port },
      ...{ endpoints: [], gateway, authenticator, limits, pages },
      ready: () => ({ ready: true, backends: {} }),
      notes: ingressNotes(log, counters),
      clock: systemClock,
    });
  try {
    return await at(listen.port);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error;
    return at(0);
  }
}
