/** The heads of requests and responses on a lane. */
import type { IncomingMessage } from 'node:http';

/** RFC 9110, 7.6.1: these belong to one connection. */
const ownHeaders = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'expect'],
]);

/** What is known of the client's request where it arrived. */
export interface CarriedHead {
  readonly method: string;
  /** As in the request line. */
  readonly url: string;
  /** Names and values in turn. */
  readonly headers: string[];
  /** Of the body. */
  readonly size: number;
  /** The key of the principal that was authenticated there. */
  readonly principal: string;
  /** The peer of the client's connection. */
  readonly address: string;
  /** The process that had the session hands it over. */
  readonly takesOver: boolean;
  /** `Authorization` that the client meant for the backend, where it came through the proxy. */
  readonly forBackend?: string | undefined;
}

/** One byte for each character, as in the headers themselves: such a text is copied, not encoded. */
export function writeHead(head: CarriedHead): string {
  return JSON.stringify({ ...head, principal: Buffer.from(head.principal).toString('latin1') });
}

/** Throws where it is none. */
export function readHead(bytes: Buffer): CarriedHead {
  const head = JSON.parse(bytes.toString('latin1')) as CarriedHead;
  const { method, url, headers, size, principal, address } = head;
  const isHead = [method, url, principal, address, ...headers].every((text) => typeof text === 'string');
  if (!isHead || !Number.isSafeInteger(size) || size < 0) throw new Error('this is no head of a request');
  return { ...head, principal: Buffer.from(head.principal, 'latin1').toString() };
}

export function headersToCarry({ rawHeaders }: IncomingMessage): string[] {
  const headers: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    if (!ownHeaders.has(name.toLowerCase())) headers.push(name, rawHeaders[at + 1] as string);
  }
  return headers;
}

export interface ResponseHead {
  readonly status: number;
  /** Names and values in turn. */
  readonly headers: string[];
  /** `Content-Length`. */
  readonly length: number | undefined;
  /** The bytes that the head takes. */
  readonly size: number;
}

const END = '\r\n\r\n';
const STATUS_AT = 'HTTP/1.1 '.length;

/** The head as Node has written it. */
export function readResponseHead(bytes: Buffer): ResponseHead {
  const end = bytes.indexOf(END);
  const [first = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  const headers: string[] = [];
  let length: number | undefined;
  for (const line of lines) {
    const colon = line.indexOf(': ');
    const name = line.slice(0, colon);
    const lower = name.toLowerCase();
    if (ownHeaders.has(lower)) continue;
    const value = line.slice(colon + 2);
    if (lower === 'content-length') length = Number(value);
    headers.push(name, value);
  }
  return { status: Number(first.slice(STATUS_AT, STATUS_AT + 3)), headers, length, size: end + END.length };
}
