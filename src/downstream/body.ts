/** Reads a request's body, within limits of size and time. */
import type { IncomingMessage } from 'node:http';
import { Failure } from '../errors/failure.ts';
import type { HttpAnswer, OpenBody } from './answer.ts';
import type { BodyBudget } from './body-budget.ts';
import type { Sweep, Sweepable } from './sweep.ts';

export interface BodyLimits {
  readonly bodyBytes: number;
  /** Times the whole body, from the end of the headers on. */
  readonly sweep: Sweep;
  readonly memory: BodyMemory;
  /** How many bytes of an unwanted body are read and discarded, and for how long. */
  readonly rest: { readonly bytes: number; readonly sweep: Sweep };
}

/** Where incomplete bodies are counted, and under which address. */
export interface BodyMemory {
  readonly budget: BodyBudget;
  addressOf(req: IncomingMessage): string;
}

export interface BodySink {
  /** The whole body. A single chunk is passed on without copying. */
  body(bytes: Uint8Array): void;
  /** The body cannot be read. Bytes of it that still arrive are discarded. */
  unreadable(failure: Failure): void;
}

/** In seconds: incomplete bodies finish, or time out, all the time. */
const RETRY = { 'Retry-After': '1' };
const nothing = Buffer.alloc(0);
const jsonType = /^application\/json\s*(?:;|$)/i;
const charset = /;\s*charset\s*=\s*"?([^";\s]*)"?/i;

/** RFC 8259, 8.1: JSON between systems is UTF-8. A compressed body is refused: to an inspector it would not be JSON. */
export function checkContentType(req: IncomingMessage): Failure | undefined {
  const type = req.headers['content-type'];
  const encoding = req.headers['content-encoding'];
  if (encoding === undefined || encoding === 'identity') {
    if (type === 'application/json') return undefined;
    if (type !== undefined && jsonType.test(type) && /^(?:utf-?8)?$/i.test(charset.exec(type)?.[1] ?? '')) {
      return undefined;
    }
  }
  return new Failure('unsupported_media_type');
}

/** A body whose Content-Length is over the limit is not read here: the caller discards it with `discardRest`. */
export function readBody(req: IncomingMessage, res: HttpAnswer, limits: BodyLimits, sink: BodySink): void {
  const declared = req.headers['content-length'];
  if (declared !== undefined && Number(declared) > limits.bodyBytes) {
    sink.unreadable(tooLarge(limits));
    return;
  }
  if (res.awaitsContinue) res.writeContinue();
  new BodyReader(req, res, limits, sink);
}

/** Reads and discards a body that nothing uses, so that the next request on the connection can be read. */
export function discardRest(req: IncomingMessage, res: HttpAnswer, limits: BodyLimits): void {
  if (res.reading !== undefined || !hasBody(req)) return;
  new BodyReader(req, res, limits, undefined);
}

function hasBody(req: IncomingMessage): boolean {
  const length = req.headers['content-length'];
  return (length !== undefined && length !== '0') || req.headers['transfer-encoding'] !== undefined;
}

function tooLarge(limits: BodyLimits): Failure {
  return new Failure('body_too_large', { message: `The body is over ${limits.bodyBytes} bytes` });
}

class BodyReader implements OpenBody, Sweepable {
  due = 0;
  readonly #req: IncomingMessage;
  readonly #res: HttpAnswer;
  readonly #limits: BodyLimits;
  /** Undefined once the body is no longer wanted. */
  #sink: BodySink | undefined;
  #size = 0;
  #first: Buffer | undefined;
  #rest: Buffer[] | undefined;
  /** The address that this body is counted under, and how many bytes are counted. */
  #address: string | undefined;
  #counted = 0;

  constructor(req: IncomingMessage, res: HttpAnswer, limits: BodyLimits, sink: BodySink | undefined) {
    this.#req = req;
    this.#res = res;
    this.#limits = limits;
    this.#sink = sink;
    if (sink !== undefined) res.reading = this;
    (sink === undefined ? limits.rest.sweep : limits.sweep).add(this);
    req.on('data', (chunk: Buffer) => this.#take(chunk));
    req.on('end', () => this.#end());
    // The connection has ended. After `end` this has no effect.
    req.on('close', () => this.#stop());
  }

  #take(chunk: Buffer): void {
    this.#size += chunk.byteLength;
    if (this.#sink === undefined) {
      if (this.#size > this.#limits.rest.bytes) this.#req.destroy();
    } else if (this.#size > this.#limits.bodyBytes) this.#giveUp(tooLarge(this.#limits));
    else if (!this.#hasRoom(chunk)) this.#giveUp(new Failure('bodies_busy', { http: { headers: RETRY } }));
    else if (this.#first === undefined) this.#first = chunk;
    else if (this.#rest === undefined) this.#rest = [chunk];
    else this.#rest.push(chunk);
  }

  /** A body that came in one chunk is not counted. It may wait in the queue of turns.ts, which holds at most 16 MiB. */
  #hasRoom({ byteLength }: Buffer): boolean {
    if (this.#first === undefined && this.#req.headers['content-length'] === String(byteLength)) return true;
    const { budget, addressOf } = this.#limits.memory;
    this.#address ??= addressOf(this.#req);
    if (!budget.take(this.#address, byteLength)) return false;
    this.#counted += byteLength;
    return true;
  }

  #giveUp(failure: Failure): void {
    this.#limits.sweep.remove(this);
    this.#limits.rest.sweep.add(this);
    this.#refuse(failure);
  }

  #end(): void {
    this.#stop();
    const sink = this.#sink;
    if (sink === undefined) return;
    this.#sink = undefined;
    const first = this.#first ?? nothing;
    sink.body(this.#rest === undefined ? first : Buffer.concat([first, ...this.#rest], this.#size));
  }

  expire(): void {
    if (this.#sink === undefined) this.#req.destroy();
    else this.fail(new Failure('request_timeout'));
  }

  /** The rest of the body is not valid HTTP, or will not come: no request can follow it on this connection. */
  fail(failure: Failure): void {
    this.#stop();
    this.#res.isLast = true;
    this.#refuse(failure);
  }

  #refuse(failure: Failure): void {
    const sink = this.#sink;
    this.#sink = undefined;
    this.#first = undefined;
    this.#rest = undefined;
    this.#res.reading = undefined;
    this.#release();
    sink?.unreadable(failure);
  }

  #release(): void {
    if (this.#address === undefined) return;
    this.#limits.memory.budget.give(this.#address, this.#counted);
    this.#address = undefined;
    this.#counted = 0;
  }

  #stop(): void {
    this.#limits.sweep.remove(this);
    this.#limits.rest.sweep.remove(this);
    this.#res.reading = undefined;
    this.#release();
  }
}
