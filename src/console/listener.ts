/** The console at an address of its own, where nothing else is served. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Origins } from '../downstream/origin.ts';
import type { Mounted } from '../web/mount.ts';

export interface ConsoleListener {
  /** Without a path. */
  readonly url: string;
  close(): Promise<void>;
}

/** A browser opens six connections to a host, and operators are few. */
const CONNECTIONS = 200;
const REQUEST_MS = 20_000;

/** Rejects where the address is in use. `origins`: which names in `Host` are ours. */
export async function listenForConsole(
  { host, port }: { readonly host: string; readonly port: number },
  mounted: () => Mounted | undefined,
  origins: Origins,
): Promise<ConsoleListener> {
  const notes = { hostRefused: () => undefined };
  const server = createServer({ requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS }, (req, res) => {
    const path = (req.url ?? '/').split('?', 1)[0] ?? '/';
    const pages = origins.checkHost(req.headers.host, notes) === undefined ? mounted() : undefined;
    if (pages?.owns(path) === true) pages.handle(req, res);
    else {
      res.writeHead(path === '/' ? 303 : 404, { ...(path === '/' && { location: '/console' }), 'content-length': 0 });
      res.end();
    }
  });
  server.maxConnections = CONNECTIONS;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const { address, family, port: bound } = server.address() as AddressInfo;
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${bound}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
