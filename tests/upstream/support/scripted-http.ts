import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { HttpChannel } from '../../../src/upstream/http/channel.ts';
import { type HttpChannelLimits, type HttpChannelOptions, httpContext } from '../../../src/upstream/http/context.ts';
import { type HttpPoolLimits, HttpPools } from '../../../src/upstream/http/pool.ts';
import { realClock } from './clock.ts';
import { anyFlood } from './processes.ts';
import { ChannelRecorder, NotesRecorder } from './recorders.ts';

export interface Heard {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export type Answer = (response: ServerResponse, request: Heard, socket: Socket) => void;

/** A backend that answers its nth request with the nth script; the last one serves the rest. */
export class ScriptedBackend {
  readonly heard: Heard[] = [];
  readonly sockets = new Set<Socket>();
  /**
   * The connection of each request. undici opens a spare one after an abort, so looking at all of them tells nothing.
   */
  readonly #carriers: Socket[] = [];
  readonly #server = createServer();
  readonly #answers: readonly Answer[];
  #watchers: (() => void)[] = [];

  constructor(answers: readonly Answer[]) {
    this.#answers = answers;
    this.#server.on('connection', (socket: Socket) => {
      this.sockets.add(socket);
      socket.on('error', () => undefined);
      socket.once('close', () => {
        this.sockets.delete(socket);
        this.#changed();
      });
    });
    this.#server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.once('end', () => {
        const heard = {
          method: request.method ?? '',
          url: request.url ?? '',
          headers: request.headers,
          body: Buffer.concat(chunks).toString('utf8'),
        };
        const answer = this.#answers[Math.min(this.heard.length, this.#answers.length - 1)] as Answer;
        this.heard.push(heard);
        this.#carriers.push(request.socket);
        answer(response, heard, request.socket);
        this.#changed();
      });
    });
  }

  async start(): Promise<URL> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return new URL(`http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/mcp?key=1`);
  }

  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => this.#watchers.push(resolve));
  }

  /** Resolves when the connection of the nth request was closed. */
  closed(nth: number): Promise<void> {
    return this.until(() => this.#carriers[nth] !== undefined && !this.sockets.has(this.#carriers[nth]));
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #changed(): void {
    const watchers = this.#watchers;
    this.#watchers = [];
    for (const watcher of watchers) watcher();
  }
}

export const poolLimits: HttpPoolLimits = {
  connectMs: 2_000,
  headerBytes: 16 * 1024,
  connections: 8,
  queue: 8,
  streams: 4,
};

export const channelLimits: HttpChannelLimits = {
  resultBytes: 64 * 1024,
  reconnects: 3,
  oneWayMs: 5_000,
};

export interface Setup {
  readonly url: URL;
  /** Those that were made here; where others were handed in, these are idle. */
  readonly pools: HttpPools;
  readonly channel: HttpChannel;
  readonly sink: ChannelRecorder;
  readonly notes: NotesRecorder;
}

export function openChannel(
  url: URL,
  options: Partial<HttpChannelOptions> = {},
  limits: Partial<HttpPoolLimits> = {},
): Setup {
  const pools = new HttpPools({ url }, { ...poolLimits, ...limits });
  const sink = new ChannelRecorder();
  const notes = new NotesRecorder();
  const context = httpContext({
    url,
    pools,
    headers: noHeaders,
    resumable: true,
    limits: channelLimits,
    flood: anyFlood(),
    clock: realClock,
    random: () => 0,
    notes,
    ...options,
  });
  const channel = new HttpChannel(context, sink);
  return { url, pools, channel, sink, notes };
}

/** A channel against a scripted backend; `ends` gets what must be undone, and checks that nothing is left. */
export async function against(
  ends: (() => Promise<void>)[],
  answers: readonly Answer[],
  options: Partial<HttpChannelOptions> = {},
  limits: Partial<HttpPoolLimits> = {},
): Promise<Setup & { readonly backend: ScriptedBackend }> {
  const backend = new ScriptedBackend(answers);
  const setup = openChannel(await backend.start(), options, limits);
  ends.push(async () => {
    await setup.channel.close();
    await setup.pools.close();
    await backend.until(() => backend.sockets.size === 0);
    await backend.stop();
    const { calls, streams, oneWay } = setup.pools;
    if (calls.inFlight + streams.inFlight + oneWay.inFlight !== 0) throw new Error('a dispatch was never done');
  });
  return { backend, ...setup };
}

const noHeaders = {};

export const request = (id: number) => ({
  bytes: Buffer.from(`{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"x"}}`),
  id: `n${id}`,
  headers: { 'mcp-protocol-version': '2025-11-25', 'mcp-session-id': 'S' },
});

export const result = (id: number): string => `{"jsonrpc":"2.0","id":${id},"result":{"ok":true}}`;
export const event = (data: string, id?: string): string => `${id === undefined ? '' : `id: ${id}\n`}data: ${data}\n\n`;

export const bare = (status: number): Answer => {
  return (response) => {
    response.writeHead(status);
    response.end();
  };
};

export const progress = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}';

export function json(status: number, body: string, headers: Record<string, string> = {}): Answer {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(body);
  };
}

/** Writes the head and the events, and leaves the stream open. */
export function sse(...events: readonly string[]): Answer {
  return (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.flushHeaders();
    for (const event of events) response.write(event);
  };
}

export function sseEnd(...events: readonly string[]): Answer {
  return (response, heard, socket) => {
    sse(...events)(response, heard, socket);
    response.end();
  };
}

/** Writes, and when that is on its way cuts the connection. */
export function sseCut(...events: readonly string[]): Answer {
  return (response, _heard, socket) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(events.join(''), () => socket.resetAndDestroy());
  };
}
