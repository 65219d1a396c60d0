/** An HTTP server that hands each request over once its body is there. Closed when the test is over. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import type { Json } from '../harness/client.ts';

type Handle = (request: IncomingMessage, response: ServerResponse, text: string) => void;

/** Returns its origin. */
export async function serveBodies(handle: Handle): Promise<string> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => handle(request, response, Buffer.concat(chunks).toString()));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** What cannot be read is a request without an id and a method. */
export function readOrNothing(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return { id: null };
  }
}
