/**
 * One HTTP request on a socket of its own: the request goes out as it is given, and every byte of the response is
 * recorded.
 */
import { connect, type Socket } from 'node:net';
import type { Message } from './behaviour.ts';
import type { Transcript } from './transcript.ts';

/** An answer that takes longer is one that does not come; the transcript says so. */
const WAIT_MS = 10_000;

export class HttpExchange {
  status = 0;
  readonly headers = new Map<string, string>();
  /** Messages of the body: of a JSON body when it is whole, of a stream as they come. */
  readonly messages: Message[] = [];
  /** Of the events of a stream. */
  readonly eventIds: string[] = [];
  /** Data of an event of HTTP+SSE that is no message: the address for messages. */
  endpoint: string | undefined;
  ended = false;
  readonly #socket: Socket;
  readonly #transcript: Transcript;
  readonly #channel: string;
  #wake: (() => void)[] = [];
  #bytes = Buffer.alloc(0);
  #body = '';
  /** Bytes of the body that are still to come; undefined: chunked. */
  #rest: number | undefined;
  #isHeadRead = false;
  readonly #hasBody: boolean;

  constructor(port: number, transcript: Transcript, channel: string, request: string | Uint8Array) {
    this.#transcript = transcript;
    this.#channel = channel;
    this.#hasBody = !Buffer.from(request).subarray(0, 5).equals(Buffer.from('HEAD '));
    transcript.add(channel, '>', request);
    this.#socket = connect(port, '127.0.0.1', () => this.#socket.write(request));
    this.#socket.on('data', (chunk) => this.#take(chunk));
    this.#socket.on('error', () => undefined);
    this.#socket.once('close', () => this.#end());
  }

  close(): void {
    this.#socket.destroy();
  }

  /** Waits until the condition holds, or nothing more can come. */
  async until(condition: () => boolean): Promise<void> {
    const timer = setTimeout(() => {
      this.#transcript.add(this.#channel, '!', `[nothing more within ${WAIT_MS} ms]\n`);
      this.close();
    }, WAIT_MS);
    while (!condition() && !this.ended) await new Promise<void>((resolve) => this.#wake.push(resolve));
    clearTimeout(timer);
  }

  whole(): Promise<void> {
    return this.until(() => false);
  }

  head(): Promise<void> {
    return this.until(() => this.#isHeadRead);
  }

  #take(chunk: Buffer): void {
    if (this.ended) return;
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
    if (!this.#isHeadRead && !this.#readHead()) return;
    this.#readBody();
    this.awake();
  }

  #readHead(): boolean {
    const end = this.#bytes.indexOf('\r\n\r\n');
    if (end === -1) return false;
    const head = this.#bytes.toString('latin1', 0, end);
    this.#bytes = this.#bytes.subarray(end + 4);
    this.#transcript.add(this.#channel, '<', `${head}\r\n\r\n`);
    const [first = '', ...fields] = head.split('\r\n');
    this.status = Number(first.split(' ')[1]);
    for (const field of fields) {
      const colon = field.indexOf(':');
      this.headers.set(field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim());
    }
    this.#isHeadRead = true;
    if (!this.#hasBody) this.#rest = 0;
    else if (this.headers.get('transfer-encoding') !== 'chunked')
      this.#rest = Number(this.headers.get('content-length') ?? 0);
    return true;
  }

  /** Chunks are undone: how a body is cut is up to the time at which its parts were written. */
  #readBody(): void {
    if (this.#rest !== undefined) {
      const part = this.#bytes.subarray(0, this.#rest);
      this.#rest -= part.length;
      this.#bytes = this.#bytes.subarray(part.length);
      this.#add(part);
      if (this.#rest === 0) this.#end();
      return;
    }
    for (;;) {
      const line = this.#bytes.indexOf('\r\n');
      if (line === -1) return;
      const length = Number.parseInt(this.#bytes.toString('latin1', 0, line), 16);
      if (this.#bytes.length < line + 2 + length + 2) return;
      this.#add(this.#bytes.subarray(line + 2, line + 2 + length));
      this.#bytes = this.#bytes.subarray(line + 2 + length + 2);
      if (length > 0) continue;
      this.#end();
      return;
    }
  }

  #add(part: Buffer): void {
    this.#transcript.add(this.#channel, '<', part);
    this.#body += part.toString('utf8');
    if (this.headers.get('content-type')?.startsWith('text/event-stream') !== true) return;
    const events = this.#body.split('\n\n');
    this.#body = events.pop() ?? '';
    for (const event of events) {
      const field = (name: string) => new RegExp(`^${name}: ?(.*)$`, 'm').exec(event)?.[1];
      const id = field('id');
      if (id !== undefined) this.eventIds.push(id);
      const data = field('data');
      if (field('event') === 'endpoint') this.endpoint = data;
      else if (data !== undefined && data !== '') this.messages.push(JSON.parse(data) as Message);
    }
  }

  #end(): void {
    if (this.ended) return;
    this.ended = true;
    if (this.headers.get('content-type')?.startsWith('application/json') === true) {
      try {
        this.messages.push(...([JSON.parse(this.#body)].flat() as Message[]));
      } catch {
        // It is in the transcript as it is.
      }
    }
    this.#socket.destroy();
    this.awake();
  }

  awake(): void {
    const waiting = this.#wake;
    this.#wake = [];
    for (const wake of waiting) wake();
  }
}

export type Headers = Readonly<Record<string, string | undefined>>;

export interface HttpRequest {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Headers;
  readonly body?: string | Uint8Array;
}

/** The bytes of a request as clients send it. A header that is undefined is left out. */
export function requestText(port: number, { method = 'POST', path, headers = {}, body }: HttpRequest): Buffer {
  const all: Headers = {
    Host: `127.0.0.1:${port}`,
    ...(body !== undefined && {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'Content-Length': String(Buffer.byteLength(body)),
    }),
    ...headers,
  };
  const lines = Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]));
  const head = [`${method} ${path} HTTP/1.1`, ...lines, '', ''].join('\r\n');
  return Buffer.concat([Buffer.from(head), Buffer.from(body ?? '')]);
}
