/**
 * What the bench's own HTTP programs share: they gather a body, listen on a port that the system chose, and say which.
 */
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo, Server } from 'node:net';

/** Longer than any pause between two rounds, so that no contestant pays for reconnecting to it. */
const KEEP_ALIVE_MS = 300_000;

export function serve(listener: RequestListener): Server {
  const server = createServer(listener);
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.requestTimeout = 0;
  return listen(server);
}

export function listen(server: Server): Server {
  server.listen(0, '127.0.0.1', () => {
    const { port } = server.address() as AddressInfo;
    process.stdout.write(`http://127.0.0.1:${port}\n`);
  });
  // By this way out, and not by the signal's own, a CPU profile is written.
  process.on('SIGTERM', () => process.exit(0));
  return server;
}

export function gather(request: IncomingMessage, done: (body: Buffer) => void): void {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => done(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)));
}

/** An SSE response that stays open until its client goes. */
export function openStream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  response.write(': open\n\n');
}
