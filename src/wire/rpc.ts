/**
 * JSON-RPC 2.0 outside MCP: parameters by position, results of any type, ids that are fractions or null. Read as
 * strictly as all input of clients. https://www.jsonrpc.org/specification
 */
import { Failure } from '../errors/failure.ts';
import { type BatchLimits, readMembers } from './batch.ts';
import type { Batch, Span } from './message.ts';
import { type OutlineReader, skipWhite } from './outline.ts';
import { type ReadLimits, readStrictly } from './scan.ts';
import { elementsAt, membersAt, passOver } from './skim.ts';
import { isInteger, member, stringAt, textAt, textMember } from './values.ts';

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

export function readRpcBatch(batch: Batch, limits: BatchLimits): readonly RpcMessage[] {
  return readMembers(batch, limits, readRpc);
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
    if (result !== undefined || error !== undefined) throw refused('Both a method and a result or error');
    const name = stringAt(bytes, method);
    if (name === undefined || name === '') throw refused('method must be a string that is not empty');
    const params = outline.params;
    if (params !== undefined && !isStructured(bytes, params)) throw refused('params must be an object or an array');
    const called = { bytes, method: name, params };
    if (id === undefined) return { kind: 'notification', id: undefined, ...called };
    return { kind: 'request', id: textAt(bytes, id), ...called };
  }

  if (id === undefined) throw refused('Neither a method nor an id');
  if ((result === undefined) === (error === undefined)) throw refused('One of result and error is needed');
  if (error !== undefined && bytes[error.start] !== 0x7b /* { */) throw refused('error must be an object');
  return { kind: 'answer', bytes };
}

/**
 * The grammar was checked, so the first byte is enough. A number beyond doubles is infinity, null or an error,
 * depending on the reader.
 */
function isId(bytes: Uint8Array, id: Span): boolean {
  const byte = bytes[id.start] as number;
  if (byte === 0x22 /* " */ || byte === 0x6e /* n */) return true;
  const isNumber = byte === 0x2d /* - */ || (byte >= 0x30 && byte <= 0x39);
  return isNumber && Number.isFinite(Number(textAt(bytes, id)));
}

function isStructured(bytes: Uint8Array, { start }: Span): boolean {
  return bytes[start] === 0x7b /* { */ || bytes[start] === 0x5b /* [ */;
}

/**
 * Whether bytes of a service are a response. It is bounded and passed on unread. An object answers a batch as a whole;
 * an array answers its requests one by one.
 */
export function isRpcAnswer(bytes: Uint8Array, toBatch: boolean): boolean {
  const end = bytes.byteLength;
  const start = skipWhite(bytes, 0, end);
  try {
    const after = skipWhite(bytes, passOver(bytes, start, 'backend_invalid'), end);
    if (after < end) return false;
    const elements = elementsAt(bytes, { start, end });
    if (elements === undefined) return isAnswerAt(bytes, { start, end });
    return toBatch && elements.length > 0 && elements.every((element) => isAnswerAt(bytes, element));
  } catch {
    return false;
  }
}

function isAnswerAt(bytes: Uint8Array, span: Span): boolean {
  const object = membersAt(bytes, span);
  if (textMember(bytes, object, 'jsonrpc') !== '2.0') return false;
  return member(object, 'result') !== undefined || member(object, 'error') !== undefined;
}

export interface RpcOutcome {
  readonly outcome: 'result' | 'error';
  /** Of an error, where it is an integer as JSON-RPC 2.0, section 5.1, demands. */
  readonly code?: number | undefined;
}

const succeeded: RpcOutcome = { outcome: 'result' };

/**
 * The outcome by the request's raw id, for bytes that `isRpcAnswer` accepts. A request without a matching error counts
 * as successful.
 */
export function rpcOutcomes(bytes: Uint8Array): (id: string | undefined) => RpcOutcome {
  const span = { start: skipWhite(bytes, 0, bytes.byteLength), end: bytes.byteLength };
  const elements = elementsAt(bytes, span);
  if (elements === undefined) {
    const outcome = outcomeIn(bytes, membersAt(bytes, span));
    return () => outcome;
  }
  const failed = new Map<string, RpcOutcome>();
  for (const element of elements) {
    const object = membersAt(bytes, element);
    const id = member(object, 'id');
    const outcome = outcomeIn(bytes, object);
    if (id !== undefined && outcome !== succeeded) failed.set(textAt(bytes, id), outcome);
  }
  return (id) => (id === undefined ? undefined : failed.get(id)) ?? succeeded;
}

function outcomeIn(bytes: Uint8Array, response: ReturnType<typeof membersAt>): RpcOutcome {
  const error = member(response, 'error');
  if (error === undefined) return succeeded;
  const code = member(membersAt(bytes, error), 'code');
  return { outcome: 'error', code: code && isInteger(bytes, code) ? Number(textAt(bytes, code)) : undefined };
}
