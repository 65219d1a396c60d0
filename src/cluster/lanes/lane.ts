/**
 * A connection to another process of the gateway, for all requests that this one hands over. It is opened with a hello;
 * nothing is sent before the other process has answered it.
 */
import type { Socket } from 'node:net';
import type { HttpAnswer } from '../../downstream/respond.ts';
import type { PresentedCredentials } from '../../identity/principal.ts';
import type { Forwarded } from '../forwarded.ts';
import { type CarriedHead, headersToCarry, writeHead } from './carried-head.ts';
import { CarriedRequest, type RequestLane } from './carried-request.ts';
import { FRAME_BYTES, FrameReader, FrameWriter, frames, MOST_BYTES } from './frames.ts';

const OPENED_MS = 2_000;
/** Their numbers have 32 bits. */
const MOST_REQUESTS = 2 ** 32 - 1;

/** A request to be carried. */
export interface Carriage {
  readonly res: HttpAnswer;
  /** The key of the principal. */
  readonly principal: string;
  /** Undefined: there is none. */
  readonly body: Uint8Array | undefined;
  readonly takesOver: boolean;
}

export interface LaneOptions {
  /** It takes no more requests. */
  readonly onFull: () => void;
  readonly onClosed: () => void;
  /** It takes so many requests. */
  readonly most?: number | undefined;
}

export class Lane implements RequestLane {
  /** Resolves when the other process has answered. With an error: it cannot be reached. */
  readonly opened: Promise<Error | undefined>;
  readonly #socket: Socket;
  readonly #writer: FrameWriter;
  readonly #requests = new Map<number, CarriedRequest>();
  readonly #options: LaneOptions;
  #settleOpening!: (cause: Error | undefined) => void;
  #isOpen = false;
  #isBye = false;
  #last = 0;
  #cause: Error | undefined = undefined;

  constructor(socket: Socket, hello: string, options: LaneOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#writer = new FrameWriter(socket);
    const late = setTimeout(() => this.cut(new Error('the process does not answer')), OPENED_MS);
    this.opened = new Promise((resolve) => {
      this.#settleOpening = (cause) => {
        clearTimeout(late);
        resolve(cause);
      };
    });
    const reader = new FrameReader((kind, stream, payload) => this.#take(kind, stream, payload));
    socket.on('data', (chunk: Buffer) => this.#read(reader, chunk));
    socket.on('error', (cause: Error) => {
      this.#cause ??= cause;
    });
    socket.on('close', () => this.#closed());
    socket.setNoDelay(true);
    this.#writer.write(frames.hello, 0, hello);
  }

  get isOpen(): boolean {
    return this.#isOpen && !this.#isBye;
  }

  /** Requests that have not been answered. */
  get waiting(): number {
    return this.#requests.size;
  }

  /** To be called while it is open. Resolves when the response is over, or cannot be had. */
  carry({ res, principal, body, takesOver }: Carriage): Promise<Forwarded> {
    const { req } = res;
    const headers = headersToCarry(req);
    if (res.requestId !== undefined && req.headers['x-request-id'] === undefined)
      headers.push('x-request-id', res.requestId);
    const head: CarriedHead = {
      ...{ method: req.method ?? '', url: req.url ?? '', headers, size: body?.byteLength ?? 0 },
      ...{ principal, address: req.socket.remoteAddress ?? '', takesOver },
      forBackend: (req as PresentedCredentials).forBackend,
    };
    const written = writeHead(head);
    // The other process would close the lane, and with it end the requests of others.
    if (written.length > MOST_BYTES)
      return Promise.resolve({ kind: 'cut', cause: new Error('its headers are too large to be handed over') });
    this.#last += 1;
    const stream = this.#last;
    if (stream === (this.#options.most ?? MOST_REQUESTS)) this.#takeNoMore();
    this.#writer.write(frames.request, stream, written);
    for (let at = 0; at < head.size; at += FRAME_BYTES)
      this.#writer.write(frames.body, stream, body?.subarray(at, at + FRAME_BYTES));
    const request = new CarriedRequest(res, this, stream);
    this.#requests.set(stream, request);
    return request.outcome;
  }

  credit(stream: number, bytes: number): void {
    const payload = Buffer.allocUnsafe(4);
    payload.writeUInt32BE(bytes, 0);
    this.#writer.write(frames.credit, stream, payload);
  }

  abandon(stream: number): void {
    this.#writer.write(frames.reset, stream);
    this.#over(stream);
  }

  /** The process does not answer: what waits for it ends. */
  cut(cause: Error): void {
    this.#cause ??= cause;
    this.#socket.destroy();
  }

  #read(reader: FrameReader, chunk: Buffer): void {
    try {
      if (!reader.read(chunk)) this.cut(new Error('the process does not speak in frames'));
    } catch (error) {
      // A response that cannot be passed on, such as one without a head.
      this.cut(error as Error);
    }
  }

  #take(kind: number, stream: number, payload: Buffer): void {
    if (kind === frames.welcome) {
      this.#isOpen = true;
      this.#settleOpening(undefined);
      return;
    }
    if (kind === frames.bye) {
      this.#takeNoMore();
      this.#endIfIdle();
      return;
    }
    const request = this.#requests.get(stream);
    if (request === undefined) return;
    if (kind === frames.data) request.take(payload);
    else if (kind === frames.end) request.end();
    else if (kind === frames.away) request.refused();
    else if (kind === frames.reset) request.settle({ kind: 'cut', cause: new Error('the response was cut off') });
    if (kind !== frames.data) this.#over(stream);
  }

  #takeNoMore(): void {
    this.#isBye = true;
    this.#options.onFull();
  }

  #over(stream: number): void {
    this.#requests.delete(stream);
    this.#endIfIdle();
  }

  #endIfIdle(): void {
    if (!this.#isBye || this.#requests.size > 0) return;
    this.#writer.flush();
    this.#socket.end();
  }

  #closed(): void {
    const isRefused = this.#cause === undefined && !this.#isOpen;
    const cause = isRefused
      ? new Error('the process there does not accept it: it is another one, or keys or clocks differ')
      : (this.#cause ?? new Error('the process has closed the connection'));
    this.#isOpen = false;
    this.#settleOpening(cause);
    this.#options.onFull();
    this.#options.onClosed();
    for (const request of this.#requests.values()) request.settle({ kind: 'cut', cause });
    this.#requests.clear();
  }
}
