/**
 * JSON-RPC 2.0 outside MCP: parameters by position, results of any type, ids that are fractions or null. Read as
 * strictly as all input of clients. https://www.jsonrpc.org/specification
 */
import { Failure } from '../errors/failure.ts';
import { type BatchLimits, splitBatch } from './batch.ts';
import type { Batch, Member, Span } from './message.ts';
import type { OutlineReader } from './outline.ts';
import { type ReadLimits, readStrictly } from './scan.ts';
import { stringAt, textAt } from './values.ts';

/** A method call: a request or a notification. */
export interface RpcCall {
  readonly kind: 'request' | 'notification';
  readonly bytes: Uint8Array;
  /** The raw id. Only of a request. */
  readonly id: string | undefined;
  readonly method: string;
  /** An object or an array, if present. */
  readonly params: Span | undefined;
}

/** A client's response to a service. It has no method. */
export interface RpcAnswer {
  readonly kind: 'answer';
  readonly bytes: Uint8Array;
}

export type RpcMessage = RpcCall | RpcAnswer;

/** The members of a batch are not read here. */
export function readRpc(bytes: Uint8Array, limits: ReadLimits): RpcMessage | Batch {
  return readStrictly(bytes, limits, false, toRpc);
}

/** One unreadable member makes the whole batch invalid: the effect of forwarding only the others is undefined. */
export function readRpcBatch({ bytes }: Batch, { depth, members }: BatchLimits): readonly RpcMessage[] {
  const parts = splitBatch(bytes, 'parse_error', members);
  if (parts.length === 0) throw new Failure('invalid_batch', { message: 'An empty batch' });
  return parts.map((part) => {
    const message = readRpc(part, { depth: depth - 1 });
    if (message.kind === 'batch') throw new Failure('invalid_request', { message: 'A message must be an object' });
    return message;
  });
}

function toRpc(outline: OutlineReader): RpcMessage {
  const { bytes, jsonrpc, id, method, result, error } = outline;
  const refused = (message: string) => {
    const echoed = method !== undefined && id !== undefined && isId(bytes, id) ? textAt(bytes, id) : undefined;
    return new Failure('invalid_request', echoed === undefined ? { message } : { message, id: echoed });
  };
  if (jsonrpc === undefined || stringAt(bytes, jsonrpc) !== '2.0') throw refused('jsonrpc must be "2.0"');
  if (id !== undefined && !isId(bytes, id)) throw refused('id must be a string, a finite number or null');

  if (method !== undefined) {
    if (result !== undefined || error !== undefined) throw refused('Both a method and an answer');
    const name = stringAt(bytes, method);
    if (name === undefined || name === '') throw refused('method must be a string that is not empty');
    const params = outline.params?.span;
    if (params !== undefined && !isStructured(bytes, params)) throw refused('params must be an object or an array');
    const called = { bytes, method: name, params };
    if (id === undefined) return { kind: 'notification', id: undefined, ...called };
    return { kind: 'request', id: textAt(bytes, id), ...called };
  }

  if (id === undefined) throw refused('Neither a method nor an id');
  if ((result === undefined) === (error === undefined)) throw refused('One of result and error is needed');
  if (error !== undefined && bytes[error.span.start] !== 0x7b /* { */) throw refused('error must be an object');
  return { kind: 'answer', bytes };
}

/**
 * The grammar was checked, so the first byte is enough. A number beyond doubles is infinity, null or an error,
 * depending on the reader.
 */
function isId(bytes: Uint8Array, id: Member): boolean {
  const byte = bytes[id.start] as number;
  if (byte === 0x22 /* " */ || byte === 0x6e /* n */) return true;
  const isNumber = byte === 0x2d /* - */ || (byte >= 0x30 && byte <= 0x39);
  return isNumber && Number.isFinite(Number(textAt(bytes, id)));
}

function isStructured(bytes: Uint8Array, { start }: Span): boolean {
  return bytes[start] === 0x7b /* { */ || bytes[start] === 0x5b /* [ */;
}
