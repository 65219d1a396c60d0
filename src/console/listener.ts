/** The console at an address of its own, where nothing else is served. */
import {
  respondText,
  type SideListener,
  type SideListenerOptions,
  startSideListener,
} from '../downstream/side-listener.ts';
import type { Mounted } from '../web/mount.ts';

/** A browser opens six connections to a host, and operators are few. */
const CONNECTIONS = 200;
const REQUEST_MS = 20_000;

/** Rejects where the address is in use. */
export function listenForConsole(
  options: Pick<SideListenerOptions, 'listen' | 'origins' | 'hostRefused' | 'fault'>,
  mounted: () => Mounted | undefined,
): Promise<SideListener> {
  return startSideListener({
    ...options,
    maxConnections: CONNECTIONS,
    requestMs: REQUEST_MS,
    handle: (req, res, path) => {
      const pages = mounted();
      if (pages?.owns(path) === true) pages.handle(req, res);
      else if (path === '/') respondText(res, 303, '', { Location: '/console' });
      else respondText(res, 404, 'Not found: the console is at /console\n');
    },
  });
}
