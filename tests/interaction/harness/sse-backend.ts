/**
 * Scripted backends over HTTP+SSE (2024-11-05): a stream for each session, an address for what is said to it. What the
 * script leaves out is answered as an ordinary legacy server would.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import type { Json } from './client.ts';
import { agreed, type Leaving, leave, type ScriptedOptions } from './http-backend.ts';

/** One session: everything that its client hears comes on its stream. */
export class SseSession {
  readonly id: string;
  readonly #stream: ServerResponse;

  constructor(id: string, stream: ServerResponse) {
    this.id = id;
    this.#stream = stream;
  }

  say(message: unknown): void {
    this.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
  }

  /** Bytes on the stream, as they are. */
  write(bytes: string): void {
    this.#stream.write(bytes);
  }

  leave(how: Leaving): void {
    leave(this.#stream, how);
  }
}

/** One message, and the session that it came in. */
export interface SseTurn {
  readonly message: Json;
  readonly session: SseSession;
}

/** By method; `response` for answers to what the backend asked. */
export type SseScript = Readonly<Record<string, (turn: SseTurn) => void>>;

export interface SseBackend {
  /** Of the stream. */
  readonly url: string;
  readonly sessions: ReadonlyMap<string, SseSession>;
  /** Messages of one method, in order. */
  of(method: string): readonly SseTurn[];
  /** Address and headers of every HTTP request, and every message. */
  heard(): string;
}

export interface SseOptions extends ScriptedOptions {
  /** Of the streams. */
  readonly headers?: Record<string, string>;
  readonly isChunked?: boolean;
}

/** Closed when the test is over. */
export async function sseBackend(script: SseScript = {}, options: SseOptions = {}): Promise<SseBackend> {
  const sessions = new Map<string, SseSession>();
  const turns: SseTurn[] = [];
  const requests: unknown[] = [];
  let opened = 0;

  const open = (response: ServerResponse): void => {
    const session = new SseSession(`sse-${++opened}`, response);
    sessions.set(session.id, session);
    response.on('close', () => sessions.delete(session.id));
    if (options.isChunked === false) response.removeHeader('transfer-encoding');
    response.writeHead(200, { 'content-type': 'text/event-stream', ...options.headers });
    response.write(`event: endpoint\ndata: /messages?sessionId=${session.id}\n\n`);
  };
  const take = ({ message, session }: SseTurn): void => {
    turns.push({ message, session });
    const scripted = script[message.method ?? 'response'];
    if (scripted !== undefined) scripted({ message, session });
    else if (message.method === 'initialize') {
      session.say({ jsonrpc: '2.0', id: message.id, result: agreed(message, options) });
    } else if (message.method !== undefined && message.id !== undefined) {
      session.say({ jsonrpc: '2.0', id: message.id, error: { code: -32601, message: 'Method not found' } });
    }
  };
  const server = createServer((request, response) => {
    response.on('error', () => undefined);
    requests.push([request.url, request.headers]);
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
    const session = sessions.get(searchParams.get('sessionId') ?? '');
    if (pathname === '/messages' && session !== undefined) {
      whole(request, (text) => {
        response.writeHead(202).end();
        take({ message: JSON.parse(text), session });
      });
    } else if (request.method === 'GET' && pathname === '/sse') open(response);
    else response.writeHead(pathname === '/sse' ? 405 : 404, { allow: 'GET' }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/sse`,
    sessions,
    heard: () => JSON.stringify([requests, turns.map(({ message }) => message)]),
    of: (method) => turns.filter(({ message }) => message.method === method),
  };
}

function whole(request: IncomingMessage, then: (text: string) => void): void {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => then(Buffer.concat(chunks).toString()));
}
