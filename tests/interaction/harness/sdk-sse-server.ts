/**
 * An official SDK server (v1) that knows HTTP+SSE alone, on a real socket: a session for each stream. Closed when the
 * test is over.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { onTestFinished } from 'vitest';
import type { ServerV1 } from './sdk-servers.ts';

export interface SseServer {
  /** Of the stream. */
  readonly url: string;
  /** Method and path of each HTTP request, in order. */
  readonly heard: readonly string[];
  /** The servers of the sessions that are open. */
  readonly sessions: ReadonlyMap<string, ServerV1>;
  /** Ends a session without a word, or forgets it and leaves its stream open. */
  end(session: string, how: 'cut' | 'forget'): void;
}

/** `create` is called for each session. */
export async function startSseV1(create: () => ServerV1): Promise<SseServer> {
  const heard: string[] = [];
  const sessions = new Map<string, ServerV1>();
  const transports = new Map<string, { readonly transport: SSEServerTransport; readonly response: ServerResponse }>();

  const open = async (response: ServerResponse): Promise<void> => {
    const transport = new SSEServerTransport('/messages', response);
    const { sessionId } = transport;
    const server = create();
    transports.set(sessionId, { transport, response });
    sessions.set(sessionId, server);
    response.on('close', () => {
      transports.delete(sessionId);
      sessions.delete(sessionId);
    });
    await server.connect(transport as Parameters<ServerV1['connect']>[0]);
  };
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
    heard.push(`${request.method} ${pathname}`);
    const known = transports.get(searchParams.get('sessionId') ?? '');
    if (pathname === '/messages' && known !== undefined) await known.transport.handlePostMessage(request, response);
    else if (pathname === '/messages') response.writeHead(404).end('Session not found');
    else if (request.method === 'GET') await open(response);
    else response.writeHead(405, { allow: 'GET' }).end();
  };

  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/sse`,
    heard,
    sessions,
    end: (session, how) => {
      if (how === 'cut') transports.get(session)?.response.destroy();
      transports.delete(session);
    },
  };
}
