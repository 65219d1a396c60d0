/**
 * The response to one HTTP request: what the checks before it have found out, and the only place that turns an outcome
 * into status, headers and body.
 */
import { type IncomingMessage, ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Failure, FailureRow } from '../errors/failure.ts';
import { failureBytes, type Pieces } from '../wire/compose.ts';
import { type Era, knownRevisions } from '../wire/revisions.ts';
import { pushCors } from './cors.ts';
import { Delivery, PIECE_BYTES } from './delivery.ts';
import type { RefusedSender } from './events.ts';
import type { ForwardedFrom } from './forwarding.ts';
import type { Shared } from './shared.ts';

/** Reads the request's body. `fail` says that the rest of the body will not come. */
export interface OpenBody {
  fail(failure: Failure): void;
}

/** Is told once that a response is gone. */
export interface GoneWatcher {
  gone(res: HttpAnswer): void;
}

export class HttpAnswer extends ServerResponse<IncomingMessage> {
  /** The allowed origin of the browser page that sent the request, for the CORS headers. */
  origin: string | undefined = undefined;
  /** The client waits for `100 Continue` before it sends its body (`Expect: 100-continue`). */
  awaitsContinue = false;
  /** Closes the connection after this response: bytes that follow could not be told apart from the refused body. */
  isLast = false;
  /** Set where another process of this gateway has handed the request over. */
  forwarded: ForwardedFrom | undefined = undefined;
  /** Answered as `X-Request-Id`. Absent where the client sent none and nothing needs one (request-id.ts). */
  requestId: string | undefined = undefined;
  /** Set while the body is being read. */
  reading: OpenBody | undefined = undefined;
  /** Set when the request is entered, like `owner`, who is told first that the response is gone. */
  shared!: Shared;
  owner: GoneWatcher | undefined = undefined;
  /** The response was sent or the connection was lost. Nothing can be written any more. Set by `leave` alone. */
  gone = false;
  #watchers: GoneWatcher[] | undefined = undefined;

  // Node passes options that its types do not declare.
  constructor(...parameters: ConstructorParameters<typeof ServerResponse<IncomingMessage>>) {
    super(...parameters);
    this.on('close', this.leave);
    // Node reports a write after the client has disconnected here. Without a listener it would end the process.
    this.on('error', survive);
  }

  /** Tells the watcher once the response is gone, or at once if it already is. */
  whenGone(watcher: GoneWatcher): void {
    if (this.gone) watcher.gone(this);
    else if (this.#watchers === undefined) this.#watchers = [watcher];
    else this.#watchers.push(watcher);
  }

  /**
   * Marks the response as gone. Idempotent: one queued behind another response on its connection gets no `close` event.
   */
  leave(): void {
    if (this.gone) return;
    this.gone = true;
    const watchers = this.#watchers;
    this.#watchers = undefined;
    this.owner?.gone(this);
    if (watchers !== undefined) for (const watcher of watchers) watcher.gone(this);
  }

  /** The era for failures sent before the body is read: that of the version header. */
  get era(): Era {
    return knownRevisions.get(this.req.headers['mcp-protocol-version'])?.era ?? 'legacy';
  }
}

function survive(): void {
  // The `close` event that follows informs the watchers.
}

export type ResponseHeaders = Readonly<Record<string, string>>;

/** A JSON document that answers a request. */
export function respondJson(res: HttpAnswer, status: number, body: Pieces, headers?: ResponseHeaders): void {
  const size = body instanceof Uint8Array ? body.byteLength : sizeOf(body);
  const head = ['Content-Type', 'application/json', 'Content-Length', String(size)];
  if (headers !== undefined) for (const name in headers) head.push(name, headers[name] as string);
  finish(res, status, head, body, size);
}

/** A document about the gateway itself. */
export function respondState(res: HttpAnswer, status: number, state: unknown): void {
  respondJson(res, status, Buffer.from(JSON.stringify(state)), { 'Cache-Control': 'no-store' });
}

/** 202 for an accepted message, 204 for an empty response. */
export function respondEmpty(res: HttpAnswer, status: 202 | 204, head: string[] = []): void {
  // RFC 9110, 8.6: no Content-Length in a 204.
  if (status === 202) head.push('Content-Length', '0');
  finish(res, status, head, undefined);
}

export interface FailureContext {
  /** Absent: the era of the version header. */
  readonly era?: Era;
  /** The raw id token of the request, if any. */
  readonly id?: string | undefined;
  readonly headers?: ResponseHeaders | undefined;
}

/** Caches store 404 and 405 unless this header forbids it. */
const uncached: ResponseHeaders = { 'Cache-Control': 'no-store' };

export function respondFailure(res: HttpAnswer, failure: Failure, context: FailureContext = {}): void {
  res.shared.notes.failed(failure, () => senderOf(res));
  const id = context.id ?? failure.id;
  const { http, row } = failure;
  const status = http?.status ?? (id === undefined ? statusOutside(row) : row.status);
  const more = http?.headers ?? context.headers;
  const headers = more === undefined ? uncached : { ...uncached, ...context.headers, ...http?.headers };
  const echoed = id ?? (http?.nullId === true ? 'null' : undefined);
  respondJson(res, status, failureBytes(failure, context.era ?? res.era, echoed), headers);
}

function senderOf({ req, shared }: HttpAnswer): RefusedSender {
  const [path = ''] = (req.url ?? '').split('?', 1);
  return { address: shared.currentGeneration.now.addresses.of(req), path };
}

/**
 * Where no JSON-RPC request is answered (a GET, a DELETE, a notification), the HTTP status must report the failure.
 * Policy's legacy codes are HTTP statuses.
 */
function statusOutside(row: FailureRow): number {
  if (row.status !== 200) return row.status;
  if (row.legacy >= 400 && row.legacy < 600) return row.legacy;
  return { client: 400, backend: 502, gateway: 500 }[row.blame];
}

/** The head of an event stream. `X-Accel-Buffering` tells proxies not to buffer events. */
export function beginStream(res: HttpAnswer, headers?: ResponseHeaders): void {
  if (res.headersSent || res.gone) return;
  const head = [
    'Content-Type',
    'text/event-stream',
    'Cache-Control',
    'no-cache, no-transform',
    'X-Accel-Buffering',
    'no',
  ];
  if (headers !== undefined) for (const name in headers) head.push(name, headers[name] as string);
  writeHead(res, 200, head);
}

/**
 * Drops what a stream no longer needs once its head is sent: it may be open for hours, and there may be thousands. Node
 * keeps the head as the pieces that it was put together from, and only asks whether there is one.
 */
export function lightenStream(res: HttpAnswer): void {
  const sent = res as unknown as { _header: string | null; _headerSent: boolean };
  if (!sent._headerSent) return;
  sent._header = 'sent';
  res.req.headers = {};
  res.req.rawHeaders = [];
}

function sizeOf(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((size, piece) => size + piece.byteLength, 0);
}

/**
 * A body up to this size is sent as text, which Node appends to the head: one buffer for the system instead of several,
 * and a copy of so few bytes costs less than the bookkeeping of another buffer. Latin-1 keeps every byte as it is.
 */
const SMALL_BYTES = 8 * 1024;

function finish(res: HttpAnswer, status: number, head: string[], body: Pieces | undefined, size = 0): void {
  if (res.headersSent || res.gone) return;
  writeHead(res, status, head);
  if (size > PIECE_BYTES && body !== undefined) {
    deliver(res, body);
    return;
  }
  if (body === undefined) res.end();
  else if (body instanceof Buffer && size <= SMALL_BYTES) res.end(body.toString('latin1'), 'latin1');
  else if (body instanceof Uint8Array) res.end(body);
  else {
    // Send the head and all pieces in one system call.
    res.cork();
    const last = body.length - 1;
    for (let at = 0; at < last; at++) res.write(body[at]);
    res.end(body[last]);
    res.uncork();
  }
  watchReader(res);
}

/** A response that was written completely: a client that does not read it is cut off. */
export function watchReader(res: HttpAnswer): void {
  if (res.writableLength > 0) new Delivery(res).watch();
}

function deliver(res: HttpAnswer, body: Pieces): void {
  const parts = body instanceof Uint8Array ? [body] : body;
  let at = 0;
  const next = () => {
    while (at < parts.length) if (!delivery.write(parts[at++] as Uint8Array)) return;
    delivery.end();
  };
  const delivery = new Delivery(res, next);
  next();
}

/** Enough for a client to read the response while it is still sending. */
export const LINGER_MS = 2000;

/**
 * Closes a connection on which the client is still sending; replaces what Node does after the last response on it: end
 * and destroy. If the connection were closed at once, the system would answer further bytes with a reset, and the
 * client would lose the response that is being sent (RFC 9112, 9.6). So our half is closed first.
 */
function lingerOnClose(socket: Socket): void {
  socket.destroySoon = () => {
    socket.end();
    destroyAfter(socket, LINGER_MS);
  };
}

/** Does not keep the process alive. */
export function destroyAfter(socket: Duplex, ms: number): void {
  const timer = setTimeout(() => socket.destroy(), ms);
  timer.unref();
  socket.once('close', () => clearTimeout(timer));
}

function writeHead(res: HttpAnswer, status: number, head: string[]): void {
  if (res.origin !== undefined) pushCors(head, res.origin);
  if (res.requestId !== undefined) head.push('X-Request-Id', res.requestId);
  if (res.isLast) head.push('Connection', 'close');
  if ((res.isLast || !res.shouldKeepAlive) && !res.req.complete) lingerOnClose(res.req.socket);
  res.writeHead(status, head);
}

/** A complete response, for a connection on which HTTP parsing failed. */
export function failureOnTheWire(failure: Failure, headers: ResponseHeaders = {}): Buffer {
  const body = failureBytes(failure, 'legacy');
  const status = failure.http?.status ?? failure.row.status;
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'Content-Type: application/json',
    `Content-Length: ${body.byteLength}`,
    ...Object.entries({ ...headers, ...failure.http?.headers }).map(([name, value]) => `${name}: ${value}`),
    'Connection: close',
  ];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), body]);
}
