/** A server on loopback that counts who connects. */
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { createOutwardFetch, type Outward, type OutwardOptions } from '../../../src/oauth/fetch/fetch.ts';

export interface CountingServer {
  readonly port: number;
  readonly url: string;
  connections(): number;
}

export async function listen(server: Server): Promise<CountingServer> {
  let count = 0;
  server.on('connection', () => count++);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return { port, url: `http://127.0.0.1:${port}/`, connections: () => count };
}

export const serve = (handler: RequestListener) => listen(createServer(handler));

export function outward(options: OutwardOptions = {}): Outward {
  const made = createOutwardFetch(options);
  onTestFinished(() => made.close());
  return made;
}
