/** A real server on a real port, behind it a gateway that does what the test says, and a clock that the test moves. */
import { once } from 'node:events';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import type { IngressNotes } from '../../src/downstream/events.ts';
import { type AuthMetadata, ingressOf, type ListenRules } from '../../src/downstream/ingress.ts';
import { type HttpOptions, type HttpServer, startHttp } from '../../src/downstream/listener.ts';
import type { HttpLimits } from '../../src/downstream/shared.ts';
import type { Failure } from '../../src/errors/failure.ts';
import type {
  Arrival,
  Endpoint,
  Gateway,
  PersistentConnection,
  Sender,
  SessionRequest,
} from '../../src/exchange/arrival.ts';
import type { Connection, StreamEvent } from '../../src/exchange/outlet.ts';
import type { SweepClock } from '../../src/exchange/sweep.ts';
import { localPrincipal } from '../../src/identity/principal.ts';
import type { Generation } from '../../src/pipeline/generation.ts';
import type { Batch, Message } from '../../src/wire/message.ts';
import { revisions } from '../../src/wire/revisions.ts';

export const both = 'application/json, text/event-stream';
export const ping = '{"jsonrpc":"2.0","id":7,"method":"ping"}';
export const note = '{"jsonrpc":"2.0","method":"notifications/initialized"}';
export const pong = Buffer.from('{"jsonrpc":"2.0","id":7,"result":{}}');

export class ManualClock implements SweepClock {
  #now = 0;
  #timers: { at: number; action: () => void }[] = [];

  get pending(): number {
    return this.#timers.length;
  }

  after(ms: number, action: () => void): () => void {
    const timer = { at: this.#now + ms, action };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const next = this.#timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (next === undefined) break;
      this.#timers = this.#timers.filter((other) => other !== next);
      this.#now = next.at;
      next.action();
    }
    this.#now = end;
  }
}

export class RecordingNotes implements IngressNotes {
  readonly drops: string[] = [];
  readonly faults: unknown[] = [];
  readonly hosts: string[] = [];
  cuts = 0;
  refusedConnections = 0;

  dropped(urgency: 'progress' | 'log'): void {
    this.drops.push(urgency);
  }

  cutOff(): void {
    this.cuts += 1;
  }

  originRefused(): void {
    // Seen through the front: the harness of the gateway logs it.
  }

  failed(): void {
    // Seen through the front, too.
  }

  connectionRefused(): void {
    this.refusedConnections += 1;
  }

  hostRefused(host: string): void {
    this.hosts.push(host);
  }

  fault(error: unknown): string {
    this.faults.push(error);
    return `log-${this.faults.length}`;
  }
}

export class FakeLine implements PersistentConnection {
  readonly received: (Message | Batch)[] = [];
  onReceive: (message: Message | Batch) => void = () => undefined;
  closes = 0;
  onRefusal: PersistentConnection['refusal'] = () => undefined;

  refusal(...asked: Parameters<PersistentConnection['refusal']>): ReturnType<PersistentConnection['refusal']> {
    return this.onRefusal(...asked);
  }

  receive(message: Message | Batch): void {
    this.received.push(message);
    this.onReceive(message);
  }

  close(): void {
    this.closes += 1;
  }
}

export interface Connected {
  readonly endpoint: Endpoint;
  readonly sender: Sender;
  readonly via: 'sse' | 'stdio';
  readonly connection: Connection;
}

const noPlaces: Gateway['places'] = {
  ...{ ids: [], has: () => true, openedBy: () => undefined, awaits: () => false, canMove: async () => false },
  canTake: async () => false,
  untilOf: () => undefined,
  busyUntil: () => undefined,
  release: () => undefined,
  askBeforeExpiry: () => undefined,
};

/** Answers pings with pongs and takes everything else, unless the test says otherwise. */
export class FakeGateway implements Gateway {
  readonly places = noPlaces;
  draining = false;
  readonly rpc: Gateway['rpc'] = { receive: ({ reply }) => reply.taken(204) };
  readonly arrivals: Arrival[] = [];
  readonly connected: Connected[] = [];
  readonly line = new FakeLine();
  onReceive: (arrival: Arrival) => void = ({ message, reply }) => {
    if (message.kind === 'request') reply.respond(pong);
    else reply.accepted();
  };
  onListen: (request: SessionRequest, open: () => Connection) => Promise<Failure | undefined> = async (_, open) => {
    open();
    return undefined;
  };
  readonly unreads: Failure[] = [];
  onAuthenticate: Gateway['authenticate'] = (_, credentials) => ({
    ...{ principal: localPrincipal(), credentials, generation: {} as Generation },
  });
  onEnd: (request: SessionRequest) => Failure | undefined = () => undefined;
  onConnect: (connected: Connected) => Promise<PersistentConnection | Failure> = async () => this.line;

  authenticate(...asked: Parameters<Gateway['authenticate']>): ReturnType<Gateway['authenticate']> {
    return this.onAuthenticate(...asked);
  }

  refusal(...[, , failure]: Parameters<Gateway['refusal']>): Failure {
    return failure;
  }

  hop(): undefined {
    return undefined;
  }

  unread(...[, failure]: Parameters<Gateway['unread']>): void {
    this.unreads.push(failure);
  }

  receive(arrival: Arrival): void {
    this.arrivals.push(arrival);
    this.onReceive(arrival);
  }

  listen(request: SessionRequest, open: () => Connection): Promise<Failure | undefined> {
    return this.onListen(request, open);
  }

  memberOfRetry(): undefined {
    return undefined;
  }

  async end(request: SessionRequest): Promise<Failure | undefined> {
    return this.onEnd(request);
  }

  connect(
    endpoint: Endpoint,
    sender: Sender,
    via: 'sse' | 'stdio',
    connection: Connection,
  ): Promise<PersistentConnection | Failure> {
    const connected = { endpoint, sender, via, connection };
    this.connected.push(connected);
    return this.onConnect(connected);
  }
}

export const limits: HttpLimits = {
  bodyBytes: 4096,
  headerBytes: 8192,
  jsonDepth: 128,
  headersMs: 10_000,
  bodyMs: 30_000,
  refusedBodyBytes: 1024,
  refusedBodyMs: 2000,
  bodyBytesTotal: 1024 * 1024,
  bodyBytesPerAddress: 1024 * 1024,
  connectionsTotal: 1000,
  connectionsPerAddress: 1000,
  sseAfterMs: 1000,
  keepAliveMs: 15_000,
  readerStallMs: 60_000,
  slowReaderBytes: 64 * 1024 * 1024,
  requestsPerConnection: 1_000,
  outboxSoftBytes: 64 * 1024,
  outboxBytes: 512 * 1024,
};

export const endpoint: Endpoint = {
  path: '/mcp',
  backends: ['one'],
  profile: { revisions, batches: 'deny', accept: 'lenient', elicitation: 'any', toolNames: 'any' },
  denials: 'error',
  sessions: 'required',
  names: 'always',
};

export interface Running {
  readonly server: HttpServer;
  readonly url: string;
  readonly port: number;
  readonly gateway: FakeGateway;
  readonly clock: ManualClock;
  readonly notes: RecordingNotes;
}

export interface StartOptions {
  readonly limits?: Partial<HttpLimits>;
  readonly listen?: Partial<HttpOptions['listen'] & ListenRules>;
  readonly endpoints?: readonly Endpoint[];
  readonly ready?: HttpOptions['ready'];
}

export async function start(options: StartOptions = {}): Promise<Running> {
  const gateway = new FakeGateway();
  const clock = new ManualClock();
  const notes = new RecordingNotes();
  const rules = { host: '127.0.0.1', allowedOrigins: [], allowedHosts: [], trustedProxies: [], ...options.listen };
  const authenticator: AuthMetadata = {
    document: () => undefined,
    keyHeader: () => undefined,
    hides: () => false,
    mayKnow: async () => undefined,
  };
  const server = await startHttp({
    listen: { port: 0, ...rules },
    currentGeneration: { now: { ...ingressOf(options.endpoints ?? [endpoint], rules), authenticator } },
    gateway,
    limits: { ...limits, ...options.limits },
    ready: options.ready ?? (() => ({ ready: true, backends: {} })),
    notes,
    clock,
  });
  onTestFinished(() => server.close({ drainMs: 0 }));
  return { server, url: server.url, port: Number(new URL(server.url).port), gateway, clock, notes };
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Ask {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array;
}

/** One request on a connection of its own. A body is JSON unless the headers say otherwise. */
export async function ask(running: Running, { method, path, headers, body }: Ask = {}): Promise<Answer> {
  const req = httpRequest(`${running.url}${path ?? '/mcp'}`, {
    method: method ?? 'POST',
    agent: false,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
  });
  req.end(body);
  const [res] = await once(req, 'response');
  const chunks: Buffer[] = [];
  for await (const chunk of res) chunks.push(chunk);
  return { status: res.statusCode, headers: res.headers, body: Buffer.concat(chunks).toString() };
}

/** A socket whose bytes the test chooses, and that remembers what came back. */
export class RawClient {
  readonly socket: Socket;
  readonly closed: Promise<void>;
  #received = Buffer.alloc(0);

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1');
    this.socket.on('error', () => undefined);
    this.socket.on('data', (chunk) => {
      this.#received = Buffer.concat([this.#received, chunk]);
    });
    this.closed = new Promise((resolve) => this.socket.on('close', () => resolve()));
    onTestFinished(() => {
      this.socket.destroy();
    });
  }

  get received(): string {
    return this.#received.toString('latin1');
  }

  send(bytes: string | Uint8Array): void {
    this.socket.write(bytes);
  }

  /** Waits for the text, or fails when the connection ends without it. */
  async until(text: string | RegExp): Promise<string> {
    let from = 0;
    const found = (): boolean => {
      if (typeof text !== 'string') return text.test(this.received);
      const at = this.#received.indexOf(text, from);
      from = Math.max(0, this.#received.length - text.length);
      return at !== -1;
    };
    for (;;) {
      if (found()) return this.received;
      if (this.socket.closed) throw new Error(`The connection ended without ${text}: ${this.received}`);
      await Promise.race([once(this.socket, 'data'), this.closed]);
    }
  }
}

/** A request as text, with the headers that every one needs. */
export function head(method: string, path: string, headers: Record<string, string | number> = {}): string {
  const lines = Object.entries({ Host: 'localhost', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

export function posting(body: string, headers: Record<string, string | number> = {}): string {
  const length = Buffer.byteLength(body);
  return `${head('POST', '/mcp', { 'Content-Type': 'application/json', 'Content-Length': length, ...headers })}${body}`;
}

export function keep(data: string, id?: string): StreamEvent {
  return { id, data: Buffer.from(data), urgency: 'keep' };
}

/** Polls, since some things have no event of their own. */
export async function eventually(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 5000;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error('It never came true');
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** The JSON-RPC error of a failure's body. */
export function errorIn(answer: Answer): { code: number; reason: string; id: unknown } {
  const parsed = JSON.parse(answer.body);
  return { code: parsed.error.code, reason: parsed.error.data.reason, id: parsed.id };
}
