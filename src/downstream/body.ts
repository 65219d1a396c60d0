/** Reads a request's body, within limits of size and time. */
import type { IncomingMessage } from 'node:http';
import { Failure } from '../errors/failure.ts';
import type { Authenticated, Endpoint } from '../exchange/arrival.ts';
import type { Sweep, Sweepable } from '../exchange/sweep.ts';
import { Tally } from '../exchange/tally.ts';
import type { HttpAnswer, OpenBody } from './respond.ts';

/** In seconds: incomplete bodies finish, or time out, all the time. */
const RETRY = { 'Retry-After': '1' };
/**
 * How much of a refused body is discarded before the connection is closed, as a multiple of the limit. A client that
 * sends first and reads afterwards gets its response, and keeps its connection, if it was not absurdly over the limit.
 */
const DISCARDED_LIMITS = 4;
const nothing = Buffer.alloc(0);
const jsonType = /^application\/json\s*(?:;|$)/i;
const charset = /;\s*charset\s*=\s*"?([^";\s]*)"?/i;

/** RFC 8259, 8.1: JSON between systems is UTF-8. A compressed body is refused: to an inspector it would not be JSON. */
export function checkContentType({ req }: HttpAnswer): Failure | undefined {
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

/** Takes what arrives of a body. */
interface BodyTarget {
  take(chunk: Buffer): void;
  /** The body is complete. */
  ended(): void;
  /** The connection has ended. After `ended` this has no effect. */
  closed(): void;
}

const target = Symbol('takes the body');
type ReadRequest = IncomingMessage & { [target]?: BodyTarget };

/** From now on the body goes to `to`. Node calls a listener with the request as `this`, so no request needs its own. */
function attach(req: ReadRequest, to: BodyTarget): void {
  const isNew = req[target] === undefined;
  req[target] = to;
  if (isNew) req.on('data', onData).on('end', onEnd).on('close', onClose);
}

function onData(this: ReadRequest, chunk: Buffer): void {
  this[target]?.take(chunk);
}

function onEnd(this: ReadRequest): void {
  this[target]?.ended();
}

function onClose(this: ReadRequest): void {
  this[target]?.closed();
}

/** The body of one POST. What is done with it is the subclass's. */
export abstract class IncomingBody<S extends Authenticated | undefined = Authenticated>
  implements BodyTarget, OpenBody, Sweepable
{
  due = 0;
  previous: Sweepable | undefined = undefined;
  next: Sweepable | undefined = undefined;
  list: Sweepable['list'] = undefined;
  readonly endpoint: Endpoint;
  sender: S;
  protected readonly res: HttpAnswer;
  readonly #sweep: Sweep;
  readonly #most: number;
  #size = 0;
  #first: Buffer | undefined = undefined;
  #rest: Buffer[] | undefined = undefined;
  /** The address that this body is counted under, and how many bytes are counted. */
  #address: string | undefined = undefined;
  #counted = 0;

  /** Without a sender, the limits are those for refused ones. */
  constructor(res: HttpAnswer, endpoint: Endpoint, sender: S) {
    this.res = res;
    this.endpoint = endpoint;
    this.sender = sender;
    const { shared } = res;
    const { limits } = shared;
    const isRefused = sender === undefined;
    this.#sweep = isRefused ? shared.refusedBodies : shared.bodies;
    this.#most = isRefused ? limits.refusedBodyBytes : (endpoint.profile.bodyBytes ?? limits.bodyBytes);
  }

  /** `X-Request-Id`, as the response carries it. */
  get requestId(): string | undefined {
    return this.res.requestId;
  }

  /** Of the response, once it is sent. */
  get status(): number | undefined {
    return this.res.headersSent ? this.res.statusCode : undefined;
  }

  /** The whole body, when it is the sender's turn. A single chunk is passed on without copying. Must not throw. */
  protected abstract received(bytes: Uint8Array): void;
  /** The body cannot be read. Bytes of it that still arrive are discarded. */
  protected abstract unreadable(failure: Failure): void;

  /** A body whose Content-Length is over the limit is not read here: the caller discards it with `discardRest`. */
  read(): void {
    const declared = this.res.req.headers['content-length'];
    if (declared !== undefined && Number(declared) > this.#most) {
      this.unreadable(this.#tooLarge());
      return;
    }
    if (this.res.awaitsContinue) this.res.writeContinue();
    this.res.reading = this;
    this.#sweep.add(this);
    attach(this.res.req, this);
  }

  take(chunk: Buffer): void {
    const { byteLength } = chunk;
    this.#size += byteLength;
    // A body that came in one chunk is not counted. It may wait in the queue of turns.ts, which holds at most 16 MiB.
    const isWhole = this.#first === undefined && this.res.req.headers['content-length'] === String(byteLength);
    if (this.#size > this.#most) this.#giveUp(this.#tooLarge());
    else if (!isWhole && !this.#reserve(byteLength)) {
      this.#giveUp(new Failure('bodies_busy', { http: { headers: RETRY } }));
    } else if (this.#first === undefined) this.#first = chunk;
    else if (this.#rest === undefined) this.#rest = [chunk];
    else this.#rest.push(chunk);
  }

  ended(): void {
    this.closed();
    const first = this.#first ?? nothing;
    const bytes = this.#rest === undefined ? first : Buffer.concat([first, ...this.#rest], this.#size);
    if (this.sender === undefined) this.received(bytes);
    else {
      const { principal } = this.sender;
      const holder = principal.holder ?? principal;
      this.res.shared.turns.begin(holder.key, bytes.byteLength, () => this.received(bytes));
    }
  }

  closed(): void {
    this.#sweep.remove(this);
    this.res.reading = undefined;
    if (this.#address !== undefined) this.#release(this.#address);
  }

  expire(): void {
    this.fail(new Failure('request_timeout'));
  }

  /** The rest of the body is not valid HTTP, or will not come: no request can follow it on this connection. */
  fail(failure: Failure): void {
    this.res.isLast = true;
    this.#giveUp(failure);
  }

  #giveUp(failure: Failure): void {
    this.closed();
    this.#first = undefined;
    this.#rest = undefined;
    attach(this.res.req, new DiscardedBody(this.res, this.#size));
    this.unreadable(failure);
  }

  #tooLarge(): Failure {
    return new Failure('body_too_large', { message: `The body is over ${this.#most} bytes` });
  }

  #reserve(bytes: number): boolean {
    this.#address ??= this.res.shared.currentGeneration.now.addresses.of(this.res.req);
    if (!this.res.shared.bodyBudget.take(this.#address, bytes)) return false;
    this.#counted += bytes;
    return true;
  }

  #release(address: string): void {
    this.res.shared.bodyBudget.give(address, this.#counted);
    this.#address = undefined;
    this.#counted = 0;
  }
}

/** Reads and discards a body that nothing uses, so that the next request on the connection can be read. */
export function discardRest(res: HttpAnswer): void {
  const { req } = res;
  const { 'content-length': length, 'transfer-encoding': encoding } = req.headers;
  const hasBody = (length !== undefined && length !== '0') || encoding !== undefined;
  if (hasBody) attach(req, new DiscardedBody(res, 0));
}

/** Closes the connection if too much of it comes, or for too long. */
class DiscardedBody implements BodyTarget, Sweepable {
  due = 0;
  readonly #res: HttpAnswer;
  #size: number;

  constructor(res: HttpAnswer, size: number) {
    this.#res = res;
    this.#size = size;
    res.shared.bodies.add(this);
  }

  take({ byteLength }: Buffer): void {
    this.#size += byteLength;
    if (this.#size > this.#res.shared.limits.bodyBytes * DISCARDED_LIMITS) this.#res.req.destroy();
  }

  ended(): void {
    this.closed();
  }

  closed(): void {
    this.#res.shared.bodies.remove(this);
  }

  expire(): void {
    this.#res.req.destroy();
  }
}

export interface BodyBudgetLimits {
  readonly bodyBytesTotal: number;
  readonly bodyBytesPerAddress: number;
}

/**
 * The memory for incomplete bodies, of all connections together and per address. A body that arrives in one chunk, as
 * most do, is never counted: it is processed at once.
 */
export class BodyBudget {
  readonly #limits: BodyBudgetLimits;
  readonly #byAddress = new Tally();
  #total = 0;

  constructor(limits: BodyBudgetLimits) {
    this.#limits = limits;
  }

  /** False when over the limit; then nothing is counted. */
  take(address: string, bytes: number): boolean {
    const { bodyBytesTotal, bodyBytesPerAddress } = this.#limits;
    const own = this.#byAddress.of(address) + bytes;
    if (own > bodyBytesPerAddress || this.#total + bytes > bodyBytesTotal) return false;
    this.#byAddress.add(address, bytes);
    this.#total += bytes;
    return true;
  }

  give(address: string, bytes: number): void {
    this.#byAddress.add(address, -bytes);
    this.#total -= bytes;
  }
}
