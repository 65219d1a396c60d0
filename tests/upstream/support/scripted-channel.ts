import { Failure } from '../../../src/errors/failure.ts';
import type { Channel, ChannelSink, HttpFacts, Outgoing, Pending, RequestSink } from '../../../src/upstream/channel.ts';
import type { Notification, Request } from '../../../src/wire/message.ts';
import { skimMessage } from '../../../src/wire/skim.ts';

type Headers = Readonly<Record<string, string>>;

export interface Sent {
  readonly text: string;
  readonly headers: Headers;
}

/** A message as a backend would send it. */
export function heard(value: unknown): Notification | Request {
  const message = skimMessage(Buffer.from(JSON.stringify(value)));
  if (message.kind !== 'notification' && message.kind !== 'request') throw new TypeError('not heard, but answered');
  return message;
}

/** One request that the adapter sent, and the means to answer it. */
export class Asked implements Pending {
  readonly text: string;
  readonly headers: Headers;
  readonly key: string;
  readonly sink: RequestSink;
  aborted = false;

  constructor(outgoing: Outgoing, sink: RequestSink) {
    this.text = Buffer.from(outgoing.bytes).toString();
    this.headers = outgoing.headers;
    this.key = outgoing.id;
    this.sink = sink;
  }

  get json(): { id: number; method: string; params: Record<string, unknown> } {
    return JSON.parse(this.text);
  }

  abort(): void {
    this.aborted = true;
  }

  result(result: unknown, http?: HttpFacts): void {
    this.#answer({ jsonrpc: '2.0', id: this.json.id, result }, http);
  }

  error(code: number, http?: HttpFacts, data?: unknown): void {
    this.#answer({ jsonrpc: '2.0', id: this.json.id, error: { code, message: 'no', data } }, http);
  }

  fail(failure: Failure, http?: HttpFacts): void {
    if (!this.aborted) this.sink.failed(failure, http);
  }

  /** On this request's own stream. */
  say(value: unknown): void {
    if (!this.aborted) this.sink.message(heard(value));
  }

  #answer(value: unknown, http: HttpFacts | undefined): void {
    if (this.aborted) return;
    const message = skimMessage(Buffer.from(JSON.stringify(value)));
    if (message.kind !== 'result' && message.kind !== 'error') throw new TypeError('no answer');
    this.sink.answered(message, http);
  }
}

/** A channel whose backend is the test. */
export class ScriptedChannel implements Channel {
  readonly streamPerRequest: boolean;
  readonly asked: Asked[] = [];
  readonly posts: Sent[] = [];
  readonly listens: Headers[] = [];
  readonly forgotten: Headers[] = [];
  closed = false;
  /** What `post` does instead of resolving. */
  refusePosts: Failure | undefined;
  #held: Promise<void> | undefined;
  #sink: ChannelSink | undefined;
  #watchers: (() => void)[] = [];
  /** Called with each request, to answer by rule. */
  onRequest: ((asked: Asked) => void) | undefined;

  constructor(streamPerRequest: boolean) {
    this.streamPerRequest = streamPerRequest;
  }

  attach(sink: ChannelSink): this {
    this.#sink = sink;
    return this;
  }

  request(outgoing: Outgoing, sink: RequestSink): Pending {
    const asked = new Asked(outgoing, sink);
    this.asked.push(asked);
    if (this.closed) queueMicrotask(() => asked.fail(new Failure('backend_unavailable')));
    else if (this.onRequest !== undefined) queueMicrotask(() => this.onRequest?.(asked));
    this.#changed();
    return asked;
  }

  async post(message: Uint8Array, headers: Headers): Promise<void> {
    this.posts.push({ text: Buffer.from(message).toString(), headers });
    this.#changed();
    await this.#held;
    if (this.refusePosts !== undefined) throw this.refusePosts;
  }

  /** Posts are taken when the returned function is called, and not before. */
  holdPosts(): () => void {
    let release: () => void = () => undefined;
    this.#held = new Promise((resolve) => {
      release = resolve;
    });
    return () => {
      this.#held = undefined;
      release();
    };
  }

  async listen(headers: Headers): Promise<void> {
    this.listens.push(headers);
    this.#changed();
  }

  async forget(headers: Headers): Promise<void> {
    this.forgotten.push(headers);
  }

  async close(): Promise<void> {
    this.closed = true;
    for (const asked of this.asked) asked.abort();
  }

  /** Outside any request's stream. */
  say(value: unknown): void {
    this.#sink?.stray(heard(value));
  }

  lose(failure: Failure = new Failure('backend_unavailable')): void {
    for (const asked of [...this.asked]) {
      asked.fail(failure);
      asked.abort();
    }
    this.#sink?.lost(failure);
  }

  get last(): Asked {
    const last = this.asked.at(-1);
    if (last === undefined) throw new TypeError('nothing was asked');
    return last;
  }

  posted(): unknown[] {
    return this.posts.map(({ text }) => JSON.parse(text));
  }

  /** Resolves when so many requests came. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => this.#watchers.push(resolve));
  }

  #changed(): void {
    const watchers = this.#watchers;
    this.#watchers = [];
    for (const watcher of watchers) watcher();
  }
}
