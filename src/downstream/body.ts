/** Reads a request's body, within a size and a time. */
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
  /** What is taken off the wire of a body that nobody wants, and for how long. */
  readonly rest: { readonly bytes: number; readonly sweep: Sweep };
}

/** Where bodies that have not come to their end are counted, and for whom. */
export interface BodyMemory {
  readonly budget: BodyBudget;
  addressOf(req: IncomingMessage): string;
}

export interface BodySink {
  /** The whole body. One chunk is handed on as it came. */
  body(bytes: Uint8Array): void;
  /** There is no body to be had. What still comes of it is thrown away. */
  unreadable(failure: Failure): void;
}

/** In seconds: half-sent bodies come to their end, or are cut, all the time. */
const RETRY = { 'Retry-After': '1' };
const nothing = Buffer.alloc(0);
const jsonType = /^application\/json\s*(?:;|$)/i;
const charset = /;\s*charset\s*=\s*"?([^";\s]*)"?/i;

/** RFC 8259, 8.1: JSON between systems is UTF-8. A compressed body would be another media type to whoever inspects it. */
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

/** Where it is too large by its own account, nothing of it is read: the caller of `discardRest` takes it off the wire. */
export function readBody(req: IncomingMessage, res: HttpAnswer, limits: BodyLimits, sink: BodySink): void {
  const declared = req.headers['content-length'];
  if (declared !== undefined && Number(declared) > limits.bodyBytes) {
    sink.unreadable(tooLarge(limits));
    return;
  }
  if (res.awaitsContinue) res.writeContinue();
  new BodyReader(req, res, limits, sink);
}

/** Takes a body that nobody reads off the wire, so that the next request can be read. */
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
  /** Undefined once nobody wants the body. */
  #sink: BodySink | undefined;
  #size = 0;
  #first: Buffer | undefined;
  #rest: Buffer[] | undefined;
  /** Who is counted for it, and with how much. */
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
    // The end of the connection; after `end` it changes nothing.
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

  /** What came whole in one piece is not kept here. It may wait for its turn (turns.ts): at most 16 MiB in all do. */
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

  /** Too slow. */
  expire(): void {
    if (this.#sink === undefined) this.#req.destroy();
    else this.fail(new Failure('request_timeout'));
  }

  /** What still comes cannot be read as HTTP, or will not come: nothing can follow it on this connection. */
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
