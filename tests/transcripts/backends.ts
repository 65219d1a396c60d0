/** The scripted backends: plain HTTP servers and pipes that answer by `behaviour.ts`, and record what reaches them. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createPipes, type Server as PipeServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { answerTo, type Character, isModern, type Json, type Message, news, type Talk } from './behaviour.ts';
import type { Transcript } from './transcript.ts';

export type Transport = 'streamable-http' | 'sse' | 'stdio' | 'json-rpc';

export interface BackendRow extends Character {
  readonly transport: Transport;
  /** Answers with event streams wherever it can. */
  readonly streams?: true;
}

/** Sends a message to whoever listens; `filter` is what a modern listener asked for. */
interface Listener {
  readonly id?: unknown;
  readonly filter?: Json;
  say(message: object): void;
}

const notice = (method: string, params: Json) => ({ jsonrpc: '2.0', method, params });

/** The part that all transports share: questions that wait for answers, and listeners. */
class Backend {
  readonly row: BackendRow;
  readonly transcript: Transcript;
  readonly listeners = new Set<Listener>();
  readonly #asked = new Map<string, (answer: Message) => void>();
  #questions = 0;
  sessions = 0;
  streams = 0;

  constructor(row: BackendRow, transcript: Transcript) {
    this.row = row;
    this.transcript = transcript;
  }

  record(direction: '>' | '<', text: string | Uint8Array, lane = ''): void {
    this.transcript.add(`backend ${this.row.name}${lane}`, direction, text);
  }

  /** Answers of clients go to the question that waits. */
  heard(message: Message): void {
    this.#asked.get(String(message.id))?.(message);
  }

  async answer(message: Message, say: (message: object) => void): Promise<string | undefined> {
    const talk: Talk = {
      notify: (method, params) => say(notice(method, params)),
      ask: (method, params) => {
        this.#questions += 1;
        const id = `ask-${this.#questions}`;
        say({ jsonrpc: '2.0', id, method, ...(params && { params }) });
        return new Promise((resolve) => this.#asked.set(id, resolve));
      },
      announce: () => {
        for (const listener of this.listeners) for (const one of news) tell(listener, one);
      },
    };
    return answerTo(message, this.row, talk);
  }
}

function tell({ id, filter, say }: Listener, { method, params, flag }: (typeof news)[number]): void {
  const uris = (filter?.resourceSubscriptions ?? []) as unknown[];
  if (filter === undefined) say(notice(method, params));
  else if (flag === undefined ? uris.includes(params.uri) : filter[flag] === true)
    say(notice(method, { ...params, _meta: { 'io.modelcontextprotocol/subscriptionId': id } }));
}

/** Tools that speak before they answer, which only a stream can carry. */
const speaking = new Set(['progress', 'elicit', 'url', 'sample', 'roots', 'two', 'thrice', 'twins', 'crowded', 'hang']);

async function overHttp(backend: Backend, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  const { row } = backend;
  const fields = request.rawHeaders.flatMap((field, i, all) => (i % 2 === 0 ? [`${field}: ${all[i + 1]}`] : []));
  const head = [`${request.method} ${request.url} HTTP/${request.httpVersion}`, ...fields, '', ''].join('\n');
  // At the end, requests of all sessions come at once.
  const isEnd = backend.transcript.exchanges.at(-1)?.kind === 'shutdown';
  let lane = isEnd
    ? ` ${request.method} ${request.headers['mcp-session-id']} ${body.toString().match(/"method":"[^"]*/)}`
    : '';
  backend.record('>', `${head}${body.toString('latin1')}\n`, lane);
  response.sendDate = false;
  const send = (status: number, text = '', headers: Record<string, string> = {}) => {
    backend.record('<', `${status} ${text}\n`, lane);
    response.writeHead(status, { ...(text !== '' && { 'Content-Type': 'application/json' }), ...headers }).end(text);
  };
  // What happens on a stream is in no defined order with other requests.
  const stream = () => {
    backend.streams += 1;
    lane = ` stream ${backend.streams}`;
    response.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders();
    response.once('close', () => response.writableEnded || backend.record('>', '[the stream is closed]\n', lane));
  };
  const event = (text: string, name = 'message') => {
    backend.record('<', `${name} ${text}\n`, lane);
    response.write(`event: ${name}\ndata: ${text}\n\n`);
  };
  const say = (message: object) => event(JSON.stringify(message));
  const listening = (listener: Listener) => {
    backend.listeners.add(listener);
    response.once('close', () => backend.listeners.delete(listener));
  };

  if (row.transport === 'json-rpc') return send(200, rpcAnswer(body.toString('utf8')));
  const isSse = row.transport === 'sse';
  if (request.method === 'GET' && isSse) {
    backend.sessions += 1;
    stream();
    event(`/messages?session=${backend.sessions}`, 'endpoint');
    sseSessions.set(`${row.name} ${backend.sessions}`, { event, say });
    return listening({ say });
  }
  if (request.method === 'GET' && !isModern(row)) {
    stream();
    return listening({ say });
  }
  if (request.method === 'DELETE' && !isModern(row)) return send(204);
  if (request.method !== 'POST' || (isSse && request.url === '/mcp')) return send(405, '', { Allow: 'POST' });

  const message = JSON.parse(body.toString('utf8')) as Message;
  const isCall = message.method !== undefined && message.id !== undefined;
  if (isSse) {
    send(202);
    if (!isCall) return backend.heard(message);
    const session = sseSessions.get(
      `${row.name} ${new URL(request.url ?? '', 'http://x').searchParams.get('session')}`,
    );
    const answer = await backend.answer(message, (said) => session?.say(said));
    if (answer !== undefined) session?.event(answer);
    return;
  }
  if (!isCall) {
    send(202);
    return backend.heard(message);
  }
  if (message.method === 'subscriptions/listen' && isModern(row)) {
    const filter = message.params?.notifications as Json;
    stream();
    const _meta = { 'io.modelcontextprotocol/subscriptionId': message.id };
    say(notice('notifications/subscriptions/acknowledged', { notifications: filter, _meta }));
    return listening({ id: message.id, filter, say });
  }
  const isStream = row.streams === true || speaking.has(String(message.params?.name));
  const isFirst = message.method === 'initialize' && !isModern(row);
  if (isStream && !isFirst) stream();
  const answer = await backend.answer(message, say);
  if (answer === undefined) return;
  if (isStream && !isFirst) {
    event(answer);
    response.end();
    return;
  }
  if (isFirst) backend.sessions += 1;
  const status = message.method === 'server/discover' && !isModern(row) ? 400 : 200;
  send(status, answer, isFirst ? { 'Mcp-Session-Id': `session-${backend.sessions}` } : {});
}

const sseSessions = new Map<string, { event(text: string): void; say(message: object): void }>();

/** A service that is not MCP: results are the parameters; notifications alone have no answer. */
function rpcAnswer(body: string): string {
  const one = (message: Message) =>
    message.id === undefined
      ? []
      : [JSON.stringify({ id: message.id, result: message.params ?? null, jsonrpc: '2.0' })];
  const read = JSON.parse(body) as Message | Message[];
  return Array.isArray(read) ? (read.length > 0 ? `[${read.flatMap(one).join(', ')}]` : '') : one(read).join('');
}

function overPipe(backend: Backend, socket: Socket, lines: AsyncIterable<string>): Promise<void> {
  backend.sessions += 1;
  const lane = ` process ${backend.sessions}`;
  // The two directions of a pipe are in no defined order.
  const write = (text: string) => {
    backend.record('<', `${text}\n`, `${lane}, stdout`);
    // Two questions at once arrive at once.
    socket.cork();
    socket.write(`${text}\n`);
    process.nextTick(() => socket.uncork());
  };
  const say = (message: object) => write(JSON.stringify(message));
  const listener: Listener = { say };
  if (!isModern(backend.row)) backend.listeners.add(listener);
  const subscriptions = new Map<string, Listener>();
  const take = async (line: string) => {
    backend.record('>', `${Buffer.from(line).toString('latin1')}\n`, `${lane}, stdin`);
    const message = JSON.parse(line) as Message;
    if (message.method === 'notifications/cancelled') {
      const ended = subscriptions.get(String(message.params?.requestId));
      if (ended !== undefined) backend.listeners.delete(ended);
    }
    if (message.id === undefined || message.method === undefined) return backend.heard(message);
    if (message.method === 'subscriptions/listen' && isModern(backend.row)) {
      const filter = message.params?.notifications as Json;
      const _meta = { 'io.modelcontextprotocol/subscriptionId': message.id };
      say(notice('notifications/subscriptions/acknowledged', { notifications: filter, _meta }));
      const subscribed = { id: message.id, filter, say };
      subscriptions.set(String(message.id), subscribed);
      backend.listeners.add(subscribed);
      return;
    }
    const answer = await backend.answer(message, say);
    if (answer !== undefined) write(answer);
  };
  return (async () => {
    for await (const line of lines) take(line).catch(() => socket.destroy());
    for (const one of [listener, ...subscriptions.values()]) backend.listeners.delete(one);
    backend.record('>', '[stdin is closed]\n', `${lane}, stdin`);
  })();
}

/** All backends of a play. Their addresses stay the same from one play to the next. */
export class Backends {
  readonly #servers = new Map<string, Server>();
  readonly #pipes: PipeServer;
  /** The second connection of each pipe. */
  readonly #asked = new Set<Socket>();
  #running = new Map<string, Backend>();

  constructor() {
    this.#pipes = createPipes((socket) => {
      socket.on('error', () => undefined);
      const lines = createInterface({ input: socket })[Symbol.asyncIterator]();
      const run = async () => {
        const name = String((await lines.next()).value);
        if (name === 'asked') {
          this.#asked.add(socket);
          socket.once('close', () => this.#asked.delete(socket));
        }
        const backend = this.#running.get(name);
        if (backend !== undefined) await overPipe(backend, socket, { [Symbol.asyncIterator]: () => lines });
      };
      run().catch(() => socket.destroy());
    });
  }

  async listen(rows: readonly BackendRow[]): Promise<void> {
    await new Promise<void>((resolve) => this.#pipes.listen(0, '127.0.0.1', resolve));
    for (const { name, transport } of rows) {
      if (transport === 'stdio') continue;
      const server = createServer((request, response) => {
        const backend = this.#running.get(name);
        response.on('error', () => undefined);
        if (backend === undefined) request.destroy();
        else overHttp(backend, request, response).catch(() => response.destroy());
      });
      // The gateway's pool must not depend on how long a play takes.
      server.keepAliveTimeout = 0;
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      this.#servers.set(name, server);
    }
  }

  /** Forgets everything that was before. */
  begin(rows: readonly BackendRow[], transcript: Transcript): void {
    for (const server of this.#servers.values()) server.closeAllConnections();
    this.#running = new Map(rows.map((row) => [row.name, new Backend(row, transcript)]));
  }

  /** Resolves when every pipe has passed on what it has read. */
  async rest(): Promise<void> {
    await Promise.all(
      [...this.#asked].map(
        (socket) =>
          new Promise<void>((resolve) => {
            const done = () => {
              socket.off('data', done).off('close', done);
              resolve();
            };
            socket.on('data', done).on('close', done);
            socket.write('?');
          }),
      ),
    );
  }

  /** Entry in the config of a gateway. */
  config({ name, transport }: BackendRow): object {
    if (transport === 'stdio') {
      const { port } = this.#pipes.address() as AddressInfo;
      return { command: process.execPath, args: [new URL('pipe.js', import.meta.url).pathname, String(port), name] };
    }
    const port = (this.#servers.get(name)?.address() as AddressInfo | undefined)?.port;
    if (transport === 'sse') return { url: `http://127.0.0.1:${port}/mcp`, transport: 'auto' };
    return { url: `http://127.0.0.1:${port}/mcp`, ...(transport === 'json-rpc' && { protocol: 'json-rpc' }) };
  }

  close(): void {
    this.#pipes.close();
    for (const server of this.#servers.values()) {
      server.close();
      server.closeAllConnections();
    }
  }
}
