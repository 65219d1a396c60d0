/** A raw HTTP client: sends exactly the given bytes, and shows exactly what came back. */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { onTestFinished } from 'vitest';
import { SseReader } from '../../../src/wire/sse.ts';

/** No test waits longer for anything. */
export const DEADLINE_MS = 10_000;

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
  /** The body as JSON. */
  json(): Json;
  /** The events of a stream that has ended. */
  readonly events: readonly StreamedEvent[];
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into arbitrary JSON
export type Json = any;

export interface StreamedEvent {
  readonly id: string | undefined;
  readonly retry: number | undefined;
  readonly event: string | undefined;
  readonly data: string | undefined;
  json(): Json;
}

export type Headers = Readonly<Record<string, string>>;

export interface Call {
  readonly method?: string;
  readonly headers?: Headers;
  /** Sent as it is where it is text or bytes, as JSON otherwise. */
  readonly body?: unknown;
}

const both = 'application/json, text/event-stream';

/** Sends, and waits for the whole answer. */
export async function send(url: string, call: Call = {}): Promise<Answer> {
  const stream = await open(url, call);
  await stream.ended;
  return {
    status: stream.status,
    headers: stream.headers,
    body: stream.text(),
    json: () => JSON.parse(stream.text()),
    events: stream.events,
  };
}

/** An answer that may still be going on. */
export class OpenAnswer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly events: StreamedEvent[] = [];
  readonly ended: Promise<void>;
  readonly #message: IncomingMessage;
  readonly #chunks: Buffer[] = [];
  #wake: (() => void)[] = [];
  #over = false;

  constructor(message: IncomingMessage) {
    this.#message = message;
    this.status = message.statusCode ?? 0;
    this.headers = message.headers;
    const streaming = message.headers['content-type']?.startsWith('text/event-stream');
    const reader = new SseReader({ eventBytes: 64 * 1024 * 1024 });
    message.on('data', (chunk: Buffer) => {
      this.#chunks.push(chunk);
      if (streaming) for (const event of reader.push(chunk)) this.events.push(readable(event));
      this.#notify();
    });
    this.ended = new Promise((resolve) => {
      const end = () => {
        this.#over = true;
        this.#notify();
        resolve();
      };
      message.on('end', end);
      message.on('close', end);
      message.on('error', end);
    });
  }

  get over(): boolean {
    return this.#over;
  }

  /** Whether it ended as HTTP wants it, and was not cut. */
  get complete(): boolean {
    return this.#message.complete;
  }

  text(): string {
    return Buffer.concat(this.#chunks).toString();
  }

  /** The first event that fits, waiting for it. */
  async event(fits: (event: StreamedEvent) => boolean): Promise<StreamedEvent> {
    for (;;) {
      const found = this.events.find(fits);
      if (found !== undefined) return found;
      if (this.#over) throw new Error(`the stream ended without that event: ${this.text()}`);
      await within(new Promise<void>((resolve) => this.#wake.push(resolve)), () => `no such event in: ${this.text()}`);
    }
  }

  /** The first message with data that fits, as JSON. */
  async message(fits: (message: Json) => boolean): Promise<Json> {
    const isMessage = ({ data, event = 'message' }: StreamedEvent) => Boolean(data) && event === 'message';
    return (await this.event((event) => isMessage(event) && fits(event.json()))).json();
  }

  /**
   * Takes nothing more until `read`; what the system has taken for it by then is all that the other side gets rid of.
   */
  stall(): this {
    this.#message.pause();
    return this;
  }

  read(): this {
    this.#message.resume();
    return this;
  }

  /** Drops the connection. */
  close(): void {
    this.#message.destroy();
  }

  #notify(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }
}

/** Sends, and returns as soon as the headers are there. */
export function open(url: string, call: Call = {}): Promise<OpenAnswer> {
  return begin(url, call).answer;
}

export interface Begun {
  readonly answer: Promise<OpenAnswer>;
  /** Drops the connection, whether headers came or not. */
  drop(): void;
}

export function begin(url: string, { method = 'POST', headers = {}, body }: Call): Begun {
  const raw =
    body === undefined || typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
  const request = httpRequest(url, {
    method,
    agent: false,
    headers: { accept: both, ...(raw === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
  });
  const answer = new Promise<OpenAnswer>((resolve, reject) => {
    request.on('response', (message) => resolve(new OpenAnswer(message)));
    request.on('error', reject);
  });
  const awaited = within(answer, () => `no answer to ${method} ${url}`);
  // A test that drops the connection does not wait for a response.
  awaited.catch(() => undefined);
  // A string would take the headers along into UTF-8.
  request.end(typeof raw === 'string' ? Buffer.from(raw) : raw);
  onTestFinished(() => void request.destroy());
  return { answer: awaited, drop: () => request.destroy() };
}

export async function within<T>(promise: Promise<T>, complaint: () => string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(complaint())), DEADLINE_MS);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Waits until something is so, looking again whenever the event loop turns. */
export async function until(isSo: () => boolean, what: string, withinMs = DEADLINE_MS): Promise<void> {
  const deadline = Date.now() + withinMs;
  while (!isSo()) {
    if (Date.now() > deadline) throw new Error(`it never came that ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

function readable(event: ReturnType<SseReader['push']>[number]): StreamedEvent {
  const data = event.data === undefined ? undefined : Buffer.from(event.data).toString();
  return { id: event.id, retry: event.retry, event: event.event, data, json: () => JSON.parse(data ?? '') };
}
