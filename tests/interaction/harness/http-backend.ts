/**
 * Scripted MCP backends over HTTP. A script says what happens for a method; what it leaves out is answered as an
 * ordinary server of that era would. Every byte that arrives is counted and kept.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { type Json, until } from './client.ts';

/** One HTTP request that the backend got. */
export interface Received {
  readonly http: string;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  /** The message in the body; undefined where there was none. */
  readonly message: Json;
}

export type Leaving = 'FIN' | 'RST';

export function leave({ socket }: ServerResponse, how: Leaving): void {
  if (how === 'FIN') socket?.end();
  else socket?.resetAndDestroy();
}

/** How a script answers one request. */
export class Turn {
  readonly received: Received;
  readonly #response: ServerResponse;
  /** Resolves when the gateway has let go of the response. */
  readonly closed: Promise<void>;

  constructor(received: Received, response: ServerResponse) {
    this.received = received;
    this.#response = response;
    this.closed = new Promise((resolve) => response.on('close', () => resolve()));
  }

  get message(): Json {
    return this.received.message;
  }

  result(result: object): void {
    this.json({ jsonrpc: '2.0', id: this.message.id, result });
  }

  error(code: number, message: string, data?: unknown, status = 200): void {
    this.json(
      { jsonrpc: '2.0', id: this.message.id, error: { code, message, ...(data === undefined ? {} : { data }) } },
      status,
    );
  }

  json(body: unknown, status = 200, headers: Record<string, string> = {}): void {
    this.raw(
      status,
      { 'content-type': 'application/json', ...headers },
      typeof body === 'string' ? body : JSON.stringify(body),
    );
  }

  /** Any answer at all. */
  raw(status: number, headers: Record<string, string>, body: string | Uint8Array = ''): void {
    this.#response.writeHead(status, headers).end(body);
  }

  /** Begins a stream. One that is not chunked ends with its connection. */
  stream(headers: Record<string, string> = {}, isChunked = true): this {
    if (!isChunked) this.#response.removeHeader('transfer-encoding');
    this.#response.writeHead(200, { 'content-type': 'text/event-stream', ...headers }).flushHeaders();
    return this;
  }

  event(message: unknown, fields: { id?: string; retry?: number } = {}): this {
    const head = `${fields.id === undefined ? '' : `id: ${fields.id}\n`}${fields.retry === undefined ? '' : `retry: ${fields.retry}\n`}`;
    this.bytes(`${head}data: ${message === '' ? '' : JSON.stringify(message)}\n\n`);
    return this;
  }

  /** Bytes on the stream, as they are. */
  bytes(bytes: string | Uint8Array): this {
    this.#response.write(bytes);
    return this;
  }

  end(): void {
    this.#response.end();
  }

  /** Cuts the connection. */
  cut(): void {
    this.#response.destroy();
  }

  /** Closes the connection, or resets it, in the middle of the response. */
  leave(how: Leaving): void {
    leave(this.#response, how);
  }
}

export type Script = Readonly<Record<string, (turn: Turn) => void>>;

export interface ScriptedBackend {
  readonly url: string;
  readonly received: readonly Received[];
  /** Bytes of all bodies, and of everything else that reached the backend since the last `forget`. */
  readonly bytes: number;
  /** Connections that were ever made. */
  readonly connections: number;
  /** Messages of one method, in order. */
  of(method: string): readonly Received[];
  /** Waits for the nth message of a method (from 1). */
  arrival(method: string, nth?: number): Promise<Received>;
  /** The standalone stream of the newest session, once it is open. */
  standing(): Promise<Turn>;
  forget(): void;
  close(): Promise<void>;
  /** At the same address, after it was closed. */
  reopen(): Promise<void>;
}

interface Standing {
  turn: Turn | undefined;
}

async function serve(handle: (turn: Turn) => void, tls?: ScriptedOptions['tls']): Promise<ScriptedBackend> {
  const received: Received[] = [];
  const standing: Standing = { turn: undefined };
  let bytes = 0;
  let connections = 0;
  const server = tls === undefined ? createServer() : createTlsServer(tls);
  server.on('request', (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      const message: Json = text === '' ? undefined : JSON.parse(text);
      const one: Received = { http: request.method ?? '', headers: request.headers, text, message };
      received.push(one);
      const turn = new Turn(one, response);
      if (request.method === 'GET') standing.turn = turn;
      response.on('error', () => undefined);
      handle(turn);
    });
  });
  server.on('connection', (socket) => {
    connections += 1;
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const of = (method: string) => received.filter(({ message }) => message?.method === method);
  const backend: ScriptedBackend = {
    url: tls === undefined ? `http://127.0.0.1:${port}/mcp` : `https://localhost:${port}/mcp`,
    received,
    get bytes() {
      return bytes;
    },
    get connections() {
      return connections;
    },
    of,
    arrival: async (method, nth = 1) => {
      await until(() => of(method).length >= nth, `the backend got ${method} (${nth})`);
      return of(method)[nth - 1] as Received;
    },
    standing: async () => {
      await until(() => standing.turn !== undefined, 'the standalone stream is open');
      return standing.turn as Turn;
    },
    forget: () => {
      received.length = 0;
      bytes = 0;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
    reopen: () => new Promise((resolve) => server.listen(port, '127.0.0.1', resolve)),
  };
  return backend;
}

/** Closed when the test is over. */
function forThisTest(backend: ScriptedBackend): ScriptedBackend {
  onTestFinished(() => backend.close());
  return backend;
}

export const everyCapability = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  logging: {},
  completions: {},
};

export interface ScriptedOptions {
  readonly capabilities?: object;
  readonly serverInfo?: object;
  readonly instructions?: string;
  /** Legacy: what `initialize` answers; the asked one without it. */
  readonly revision?: string;
  /** Serves https, at `localhost`. */
  readonly tls?: { readonly cert: string; readonly key: string };
}

/** What an ordinary modern server says of itself. */
export function discovered({ capabilities, instructions, serverInfo }: ScriptedOptions): object {
  return {
    resultType: 'complete',
    supportedVersions: ['2026-07-28'],
    capabilities: capabilities ?? everyCapability,
    ...(instructions === undefined ? {} : { instructions }),
    ttlMs: 0,
    cacheScope: 'private',
    _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo ?? { name: 'modern', version: '1' } },
  };
}

/** What an ordinary legacy server answers to `initialize`. */
export function agreed(
  message: Json,
  { capabilities, instructions, revision, serverInfo }: ScriptedOptions = {},
): object {
  return {
    protocolVersion: revision ?? message.params.protocolVersion,
    capabilities: capabilities ?? everyCapability,
    serverInfo: serverInfo ?? { name: 'legacy', version: '1' },
    ...(instructions === undefined ? {} : { instructions }),
  };
}

/** A modern backend: `server/discover`, and what the script says. */
export async function modernBackend(script: Script = {}, options: ScriptedOptions = {}): Promise<ScriptedBackend> {
  return forThisTest(await launchModernBackend(script, options));
}

/** For suites that share one. The caller closes it. */
export function launchModernBackend(script: Script = {}, options: ScriptedOptions = {}): Promise<ScriptedBackend> {
  return serve((turn) => {
    const method: string | undefined = turn.message?.method;
    const scripted = method === undefined ? undefined : script[method];
    if (turn.received.http !== 'POST') turn.raw(405, { allow: 'POST' });
    else if (scripted !== undefined) scripted(turn);
    else if (method === 'server/discover') {
      turn.result(discovered(options));
    } else if (turn.message?.id === undefined) turn.raw(202, {});
    else turn.error(-32601, 'Method not found', undefined, 404);
  }, options.tls);
}

/** A legacy backend with sessions: `initialize`, notifications, GET, DELETE, and what the script says. */
export async function legacyBackend(script: Script = {}, options: ScriptedOptions = {}): Promise<ScriptedBackend> {
  return forThisTest(await launchLegacyBackend(script, options));
}

/** For suites that share one. The caller closes it. */
export function launchLegacyBackend(script: Script = {}, options: ScriptedOptions = {}): Promise<ScriptedBackend> {
  let sessions = 0;
  return serve((turn) => {
    const { message, http } = turn.received;
    const method: string | undefined = message?.method;
    const scripted = script[method ?? http];
    if (scripted !== undefined) scripted(turn);
    else if (http === 'GET') turn.stream();
    else if (http === 'DELETE') turn.raw(204, {});
    else if (method === 'initialize') {
      turn.json({ jsonrpc: '2.0', id: message.id, result: agreed(message, options) }, 200, {
        'mcp-session-id': `upstream-${++sessions}`,
      });
    } else if (method === undefined || message.id === undefined) turn.raw(202, {});
    else if (method === 'server/discover') turn.error(-32601, 'Method not found', undefined, 400);
    else turn.error(-32601, 'Method not found');
  }, options.tls);
}
