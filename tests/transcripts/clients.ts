/** Clients of both eras over each way in. They answer what backends ask of them. */
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import type { Json, Message } from './behaviour.ts';
import type { Headers, HttpExchange } from './http.ts';
import type { Player } from './player.ts';

export interface Operation {
  readonly method: string;
  readonly params?: Json;
  /** More members of `_meta`. */
  readonly meta?: Json;
}

/** What a client is to a table: operations are played on it, each an exchange of its own. */
export interface Client {
  readonly era: 'legacy' | 'modern';
  open(): Promise<void>;
  request(kind: string, name: string, operation: Operation): Promise<void>;
  notify(kind: string, name: string, operation: Operation): Promise<void>;
  /** Begins a request that is never answered, gives it up in the way of the era, and waits until that is known. */
  cancel(name: string, operation: Operation, isThere: () => boolean): Promise<void>;
  /** Opens the stream for what comes outside of requests. */
  listen(): Promise<void>;
  close(): Promise<void>;
}

export const clientCapabilities = {
  elicitation: { form: {}, url: {} },
  sampling: { tools: {} },
  roots: { listChanged: true },
};
const clientInfo = { name: 'player', title: 'P', version: '1' };

const answers: Readonly<Record<string, unknown>> = {
  'elicitation/create': { action: 'accept', content: { name: 'Ada' } },
  'sampling/createMessage': { role: 'assistant', model: 'm', content: { type: 'text', text: 'Hi' } },
  'roots/list': { roots: [{ uri: 'file:///r', name: 'r' }] },
  ping: {},
};

const rpc = (message: object) => JSON.stringify({ jsonrpc: '2.0', ...message });
const isQuestion = ({ id, method }: Message) => id !== undefined && method !== undefined;

export function initializeOf(revision: string, capabilities: object = clientCapabilities): Operation {
  return { method: 'initialize', params: { protocolVersion: revision, capabilities, clientInfo } };
}

export function modernMeta(more: Json = {}, capabilities: object = clientCapabilities): Json {
  return {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': clientInfo,
    'io.modelcontextprotocol/clientCapabilities': capabilities,
    ...more,
  };
}

function paramsOf({ params, meta }: Operation): { params?: Json } {
  if (params === undefined && meta === undefined) return {};
  return { params: { ...params, ...(meta && { _meta: meta }) } };
}

/** Ids and the counting of a client of legacy revisions, whatever it is connected by. */
abstract class LegacyClient implements Client {
  readonly era = 'legacy';
  protected readonly player: Player;
  protected readonly revision: string;
  protected lastId = 0;
  readonly #label: string;

  constructor(player: Player, label: string, revision: string) {
    this.player = player;
    this.revision = revision;
    this.#label = label;
  }

  /** Sends a message; where it has an id, until its answer is there. Questions in between are answered. */
  protected abstract exchange(text: string, id: number | undefined, channel?: string): Promise<void>;
  abstract listen(): Promise<void>;
  abstract close(): Promise<void>;

  async open(): Promise<void> {
    await this.request('handshake', 'initialize', initializeOf(this.revision));
    await this.notify('handshake', 'initialized', { method: 'notifications/initialized' });
  }

  async request(kind: string, name: string, operation: Operation): Promise<void> {
    this.lastId += 1;
    const id = this.lastId;
    const text = rpc({ id, method: operation.method, ...paramsOf(operation) });
    await this.play(kind, name, () => this.exchange(text, id));
  }

  notify(kind: string, name: string, operation: Operation): Promise<void> {
    return this.play(kind, name, () =>
      this.exchange(rpc({ method: operation.method, ...paramsOf(operation) }), undefined),
    );
  }

  async cancel(name: string, operation: Operation, isThere: () => boolean): Promise<void> {
    let running: Promise<void> | undefined;
    this.lastId += 1;
    const id = this.lastId;
    const text = rpc({ id, method: operation.method, ...paramsOf(operation) });
    await this.play('cancellation', `${name}: begin`, async () => {
      running = this.exchange(text, id, 'client call');
      await this.player.waitFor(isThere);
    });
    const params = { requestId: id, reason: 'Changed my mind' };
    await this.play('cancellation', `${name}: cancel`, async () => {
      await this.exchange(rpc({ method: 'notifications/cancelled', params }), undefined);
      await this.player.reached();
    });
    await this.play('cancellation', `${name}: given up`, () => {
      this.giveUp();
      return running;
    });
  }

  /** Stops waiting for a cancelled request. */
  protected abstract giveUp(): void;

  protected play(kind: string, name: string, action: () => Promise<void> | void): Promise<void> {
    return this.player.play(kind, `${this.#label} / ${name}`, action);
  }

  protected answerOf({ id, method = '' }: Message): string {
    return rpc({ id, result: answers[method] ?? {} });
  }
}

export class LegacyHttpClient extends LegacyClient {
  readonly #path: string;
  readonly #headers: Headers;
  session: string | undefined;
  stream: HttpExchange | undefined;
  last: HttpExchange | undefined;
  /** Done before a question is answered. */
  beforeAnswer: (() => Promise<void>) | undefined;

  constructor(player: Player, label: string, revision: string, path: string, headers: Headers = {}) {
    super(player, label, revision);
    this.#path = path;
    this.#headers = headers;
  }

  get headers(): Headers {
    const isOpen = this.session !== undefined;
    return {
      ...(isOpen && { 'Mcp-Session-Id': this.session }),
      ...(isOpen && this.revision > '2025-03-26' && { 'MCP-Protocol-Version': this.revision }),
      ...this.#headers,
    };
  }

  protected async exchange(body: string, id: number | undefined, channel?: string): Promise<void> {
    const { player } = this;
    const exchange = player.open({ path: this.#path, headers: this.headers, body }, channel);
    this.last = exchange;
    let answered = 0;
    const isDone = () =>
      id !== undefined && exchange.messages.some((message) => message.id === id && !isQuestion(message));
    while (!exchange.ended && !isDone()) {
      const questions = () => exchange.messages.filter(isQuestion);
      await exchange.until(() => isDone() || questions().length > answered);
      for (const question of questions().slice(answered)) {
        answered += 1;
        await this.beforeAnswer?.();
        this.beforeAnswer = undefined;
        const reply = { path: this.#path, headers: this.headers, body: this.answerOf(question) };
        await player.http(reply, `client answer ${answered}`);
      }
    }
    await exchange.whole();
    this.session ??= exchange.headers.get('mcp-session-id');
  }

  protected giveUp(): void {
    this.last?.close();
  }

  /** A call that nobody waits for. */
  begin(name: string, operation: Operation, isThere: () => boolean): Promise<void> {
    this.lastId += 1;
    const body = rpc({ id: this.lastId, method: operation.method, ...paramsOf(operation) });
    return this.play('shutdown', name, async () => {
      this.last = this.player.open({ path: this.#path, headers: this.headers, body });
      await this.player.waitFor(isThere);
    });
  }

  /** A body as it is, with the headers of the session. */
  raw(kind: string, name: string, body: string): Promise<void> {
    return this.play(kind, name, () => this.exchange(body, undefined));
  }

  /** GET, from the event named, or from now on. */
  async listen(lastEventId?: string): Promise<void> {
    const accept = { Accept: 'text/event-stream', ...(lastEventId !== undefined && { 'Last-Event-ID': lastEventId }) };
    await this.play('stream', lastEventId === undefined ? 'GET' : 'GET with Last-Event-ID', async () => {
      const request = { method: 'GET', path: this.#path, headers: { ...this.headers, ...accept } };
      this.stream = this.player.open(request, 'client stream');
      await this.stream.head();
    });
  }

  async close(): Promise<void> {
    const request = { method: 'DELETE', path: this.#path, headers: this.headers };
    await this.play('handshake', 'DELETE', async () => void (await this.player.http(request)));
    await this.play('handshake', 'the stream is closed', () => this.stream?.close());
  }
}

export class SseClient extends LegacyClient {
  readonly #path: string;
  stream: HttpExchange | undefined;
  #given = 0;

  constructor(player: Player, label: string, path: string) {
    super(player, label, '2024-11-05');
    this.#path = path;
  }

  override async open(): Promise<void> {
    await this.play('stream', 'GET of HTTP+SSE', async () => {
      const headers = { Accept: 'text/event-stream' };
      this.stream = this.player.open({ method: 'GET', path: this.#path, headers }, 'client stream');
      await this.stream.until(() => this.stream?.endpoint !== undefined);
    });
    await super.open();
  }

  protected async exchange(body: string, id: number | undefined): Promise<void> {
    const { player, stream } = this;
    const path = stream?.endpoint;
    if (path === undefined) throw new Error('there is no stream');
    const before = stream?.messages.length ?? 0;
    await player.http({ path, body });
    if (id === undefined || stream === undefined) return;
    const mine = () => stream.messages.slice(before);
    const isDone = () => this.#given >= id || mine().some((message) => message.id === id && !isQuestion(message));
    for (let answered = 0; !isDone() && !stream.ended; ) {
      await stream.until(() => isDone() || mine().filter(isQuestion).length > answered);
      for (const question of mine().filter(isQuestion).slice(answered)) {
        answered += 1;
        await player.http({ path, body: this.answerOf(question) }, `client answer ${answered}`);
      }
    }
  }

  protected giveUp(): void {
    this.#given = this.lastId;
    this.stream?.awake();
  }

  async listen(): Promise<void> {
    // The one stream carries everything.
  }

  async close(): Promise<void> {
    await this.play('handshake', 'the stream is closed', () => this.stream?.close());
  }
}

/** Modern requests, and retries with the answers where the result says `input_required`. */
async function modernRounds(
  operation: Operation,
  newId: () => number,
  send: (id: number, operation: Operation, round: number) => Promise<Message | undefined>,
): Promise<void> {
  let { params } = operation;
  for (let round = 0; round < 5; round += 1) {
    const answer = await send(newId(), { ...operation, params: { ...params } }, round);
    const result = answer?.result as Json | undefined;
    if (result?.resultType !== 'input_required') return;
    const questions = Object.entries((result.inputRequests ?? {}) as Record<string, Message>);
    const inputResponses = Object.fromEntries(questions.map(([key, { method = '' }]) => [key, answers[method]]));
    params = { ...operation.params, inputResponses, requestState: result.requestState };
  }
}

function modernText(id: number | undefined, { method, params, meta }: Operation): string {
  return rpc({ ...(id !== undefined && { id }), method, params: { ...params, _meta: modernMeta(meta) } });
}

export function modernHeaders({ method, params }: Operation): Headers {
  const name = method === 'resources/read' ? params?.uri : params?.name;
  const isNamed = ['tools/call', 'prompts/get', 'resources/read'].includes(method);
  return {
    ...{ 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': method },
    ...(isNamed && typeof name === 'string' && { 'Mcp-Name': name }),
  };
}

export class ModernHttpClient implements Client {
  readonly era = 'modern';
  readonly #player: Player;
  readonly #label: string;
  readonly #path: string;
  readonly #headers: Headers;
  #lastId = 0;
  stream: HttpExchange | undefined;
  lastResult: Json | undefined;

  constructor(player: Player, label: string, path: string, headers: Headers = {}) {
    this.#player = player;
    this.#label = label;
    this.#path = path;
    this.#headers = headers;
  }

  open(): Promise<void> {
    return this.request('handshake', 'server/discover', { method: 'server/discover' });
  }

  request(kind: string, name: string, operation: Operation): Promise<void> {
    const newId = () => ++this.#lastId;
    return modernRounds(operation, newId, async (id, changed, round) => {
      let answer: Message | undefined;
      await this.#play(kind, round === 0 ? name : `${name}, retry ${round}`, async () => {
        const { messages } = await this.#player.http(this.#post(modernText(id, changed), changed));
        answer = messages.at(-1);
        this.lastResult = answer?.result as Json | undefined;
      });
      return answer;
    });
  }

  notify(kind: string, name: string, operation: Operation): Promise<void> {
    const request = this.#post(modernText(undefined, operation), operation);
    return this.#play(kind, name, async () => void (await this.#player.http(request)));
  }

  async cancel(name: string, operation: Operation, isThere: () => boolean): Promise<void> {
    let running: HttpExchange | undefined;
    this.#lastId += 1;
    await this.#play('cancellation', `${name}: begin`, async () => {
      running = this.#player.open(this.#post(modernText(this.#lastId, operation), operation));
      await this.#player.waitFor(isThere);
    });
    await this.#play('cancellation', `${name}: the connection is closed`, () => {
      running?.close();
      return this.#player.reached();
    });
  }

  async listen(): Promise<void> {
    const filter = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
    const params = { notifications: { ...filter, resourceSubscriptions: ['demo://note/1'] } };
    const operation = { method: 'subscriptions/listen', params };
    await this.#play('subscription', 'subscriptions/listen', async () => {
      const stream = this.#player.open(this.#post(modernText(++this.#lastId, operation), operation), 'client stream');
      this.stream = stream;
      await stream.until(() => stream.messages.length > 0);
    });
  }

  async close(): Promise<void> {
    await this.#play('subscription', 'the stream is closed', () => this.stream?.close());
  }

  #post(body: string, operation: Operation) {
    return { path: this.#path, headers: { ...modernHeaders(operation), ...this.#headers }, body };
  }

  #play(kind: string, name: string, action: () => Promise<void> | void): Promise<void> {
    return this.#player.play(kind, `${this.#label} / ${name}`, action);
  }
}

/** The pipe to `bascule stdio`. Each of its clients is one of the eras. */
export class Pipe {
  readonly messages: Message[] = [];
  readonly #player: Player;
  readonly #input: Writable;

  constructor(player: Player, input: Writable, output: Readable) {
    this.#player = player;
    this.#input = input;
    createInterface({ input: output }).on('line', (line) => {
      player.transcript.add('client stdout', '<', `${Buffer.from(line).toString('latin1')}\n`);
      this.messages.push(...([JSON.parse(line)].flat() as Message[]));
    });
  }

  write(text: string): void {
    this.#player.transcript.add('client stdin', '>', `${Buffer.from(text).toString('latin1')}\n`);
    this.#input.write(`${text}\n`);
  }

  /** The answer to a request; questions in between are answered. */
  async answerTo(
    id: number | string,
    question: (message: Message) => string,
    isGivenUp: () => boolean = () => false,
  ): Promise<Message | undefined> {
    const before = this.messages.length;
    const mine = () => this.messages.slice(before);
    const found = () => mine().find((message) => message.id === id && !isQuestion(message));
    let answered = 0;
    await this.#player.waitFor(() => {
      for (const asked of mine().filter(isQuestion).slice(answered)) {
        answered += 1;
        this.write(question(asked));
      }
      return found() !== undefined || isGivenUp();
    });
    return found();
  }
}

export class LegacyPipeClient extends LegacyClient {
  readonly #pipe: Pipe;
  #given = 0;

  constructor(player: Player, label: string, revision: string, pipe: Pipe) {
    super(player, label, revision);
    this.#pipe = pipe;
  }

  protected async exchange(text: string, id: number | undefined): Promise<void> {
    if (id === undefined) return this.#pipe.write(text);
    const answer = this.#pipe.answerTo(
      id,
      (question) => this.answerOf(question),
      () => this.#given >= id,
    );
    this.#pipe.write(text);
    await answer;
  }

  protected giveUp(): void {
    this.#given = this.lastId;
  }

  async listen(): Promise<void> {
    // The pipe carries everything.
  }

  async close(): Promise<void> {
    // The process ends with the stage.
  }
}

export class ModernPipeClient implements Client {
  readonly era = 'modern';
  readonly #player: Player;
  readonly #label: string;
  readonly #pipe: Pipe;
  #lastId = 0;
  #listen = 0;

  constructor(player: Player, label: string, pipe: Pipe) {
    this.#player = player;
    this.#label = label;
    this.#pipe = pipe;
  }

  open(): Promise<void> {
    return this.request('handshake', 'server/discover', { method: 'server/discover' });
  }

  request(kind: string, name: string, operation: Operation): Promise<void> {
    const newId = () => ++this.#lastId;
    return modernRounds(operation, newId, async (id, changed, round) => {
      let answer: Message | undefined;
      await this.#play(kind, round === 0 ? name : `${name}, retry ${round}`, async () => {
        const waiting = this.#pipe.answerTo(id, () => '');
        this.#pipe.write(modernText(id, changed));
        answer = await waiting;
      });
      return answer;
    });
  }

  notify(kind: string, name: string, operation: Operation): Promise<void> {
    return this.#play(kind, name, () => this.#pipe.write(modernText(undefined, operation)));
  }

  async cancel(name: string, operation: Operation, isThere: () => boolean): Promise<void> {
    const id = ++this.#lastId;
    await this.#play('cancellation', `${name}: begin`, async () => {
      this.#pipe.write(modernText(id, operation));
      await this.#player.waitFor(isThere);
    });
    await this.#play('cancellation', `${name}: cancel`, () => {
      this.#pipe.write(modernText(undefined, { method: 'notifications/cancelled', params: { requestId: id } }));
      return this.#player.reached();
    });
  }

  async listen(): Promise<void> {
    const params = { notifications: { toolsListChanged: true, resourceSubscriptions: ['demo://note/1'] } };
    this.#listen = ++this.#lastId;
    const before = this.#pipe.messages.length;
    await this.#play('subscription', 'subscriptions/listen', async () => {
      this.#pipe.write(modernText(this.#listen, { method: 'subscriptions/listen', params }));
      await this.#player.waitFor(() => this.#pipe.messages.length > before);
    });
  }

  async close(): Promise<void> {
    const params = { requestId: this.#listen };
    await this.notify('cancellation', 'the listen is cancelled', { method: 'notifications/cancelled', params });
  }

  #play(kind: string, name: string, action: () => Promise<void> | void): Promise<void> {
    return this.#player.play(kind, `${this.#label} / ${name}`, action);
  }
}
