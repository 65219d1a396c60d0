/**
 * A TCP proxy that can stop passing bytes on: a Redis that is slow, or a cut that no side notices. It can lead to
 * another server: the name of a primary after a failover.
 */
import { connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export interface StallingProxy {
  readonly url: string;
  /** Bytes of both sides wait. */
  stall(): void;
  resume(): void;
  /** Connections lead to another server from now on. Those that are open stay, unless they are cut. */
  leadTo(port: number, options: { readonly cuts: boolean }): void;
}

export async function startProxy(first: number): Promise<StallingProxy> {
  const sockets = new Set<Socket>();
  let isStalled = false;
  let port = first;
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('data', (bytes) => to.write(bytes));
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      if (isStalled) from.pause();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('the proxy has no port');
  return {
    url: `redis://127.0.0.1:${address.port}`,
    stall: () => {
      isStalled = true;
      for (const socket of sockets) socket.pause();
    },
    leadTo: (next, { cuts }) => {
      port = next;
      if (cuts) for (const socket of sockets) socket.destroy();
    },
    resume: () => {
      isStalled = false;
      for (const socket of sockets) socket.resume();
    },
  };
}
