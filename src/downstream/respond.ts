/** The only place that turns an outcome into status, headers and body. */
import { STATUS_CODES } from 'node:http';
import type { Failure, FailureRow } from '../errors/failure.ts';
import { failureBytes, type Pieces } from '../wire/compose.ts';
import type { Era } from '../wire/revisions.ts';
import type { HttpAnswer } from './answer.ts';
import { pushCors } from './cors.ts';
import { type Deliveries, Delivery, PIECE_BYTES } from './delivery.ts';
import { lingerOnClose } from './linger.ts';

export type ResponseHeaders = Readonly<Record<string, string>>;

/** A JSON document that answers a request. */
export function respondJson(res: HttpAnswer, status: number, body: Pieces, headers?: ResponseHeaders): void {
  const size = sizeOf(body);
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
  readonly era: Era;
  /** The raw id token of the request, if any. */
  readonly id?: string | undefined;
  readonly headers?: ResponseHeaders;
}

/** Caches store 404 and 405 unless this header forbids it. */
const uncached: ResponseHeaders = { 'Cache-Control': 'no-store' };

export function respondFailure(res: HttpAnswer, failure: Failure, context: FailureContext): void {
  const id = context.id ?? failure.id;
  const { http, row } = failure;
  const status = http?.status ?? (id === undefined ? statusOutside(row) : row.status);
  const more = http?.headers ?? context.headers;
  const headers = more === undefined ? uncached : { ...uncached, ...context.headers, ...http?.headers };
  const echoed = id ?? (http?.nullId === true ? 'null' : undefined);
  respondJson(res, status, failureBytes(failure, context.era, echoed), headers);
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

function sizeOf(body: Pieces): number {
  return body instanceof Uint8Array ? body.byteLength : body.reduce((size, piece) => size + piece.byteLength, 0);
}

function finish(res: HttpAnswer, status: number, head: string[], body: Pieces | undefined, size = 0): void {
  if (res.headersSent || res.gone) return;
  writeHead(res, status, head);
  const { deliveries } = res;
  if (size > PIECE_BYTES && body !== undefined && deliveries !== undefined) {
    deliver(res, deliveries, body);
    return;
  }
  if (body === undefined || body instanceof Uint8Array) res.end(body);
  else {
    // Send the head and all pieces in one system call.
    res.cork();
    const last = body.length - 1;
    for (let at = 0; at < last; at++) res.write(body[at]);
    res.end(body[last]);
    res.uncork();
  }
  if (res.writableLength > 0 && deliveries !== undefined) new Delivery(res, deliveries, nothing).watch();
}

function nothing(): void {
  // Nothing follows the end of a response.
}

function deliver(res: HttpAnswer, deliveries: Deliveries, body: Pieces): void {
  const parts = body instanceof Uint8Array ? [body] : body;
  let at = 0;
  const next = () => {
    while (at < parts.length) if (!delivery.write(parts[at++] as Uint8Array)) return;
    delivery.end();
  };
  const delivery = new Delivery(res, deliveries, next);
  next();
}

function writeHead(res: HttpAnswer, status: number, head: string[]): void {
  if (res.origin !== undefined) pushCors(head, res.origin);
  if (res.isLast) head.push('Connection', 'close');
  if ((res.isLast || !res.shouldKeepAlive) && !res.req.complete) lingerOnClose(res.req.socket);
  res.writeHead(status, head);
}

/** A complete response, for a connection on which HTTP parsing failed. */
export function failureOnTheWire(failure: Failure, headers: ResponseHeaders = {}): Buffer {
  const body = failureBytes(failure, 'legacy');
  const { status } = failure.row;
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'Content-Type: application/json',
    `Content-Length: ${body.byteLength}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    'Connection: close',
  ];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), body]);
}
