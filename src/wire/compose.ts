/** Builds messages as bytes. Received values are copied byte for byte, never parsed and serialised again. */
import { Failure } from '../errors/failure.ts';
import type { Message, Notification, ObjectSpan, Request, Response, Span } from './message.ts';
import { methods } from './methods.ts';
import type { Era } from './revisions.ts';
import { member } from './values.ts';

/** Raw JSON text. */
export type Raw = string | Uint8Array;

export interface Edit {
  readonly span: Span;
  readonly with: Raw;
}

/** UTF-8 needs at most this many bytes for one UTF-16 unit. */
const UTF8_MAX = 3;
/** Up to this length, writing character by character is faster than a native call. */
const SHORT_TEXT = 24;
/** Up to this length, a string's worst-case size is reserved instead of measured. */
const SMALL_TEXT = 512;

export function concat(parts: readonly Raw[]): Buffer {
  let size = 0;
  for (const part of parts) {
    if (typeof part !== 'string') size += part.byteLength;
    else if (part.length <= SMALL_TEXT) size += part.length * UTF8_MAX;
    else size += Buffer.byteLength(part);
  }
  const out = Buffer.allocUnsafe(size);
  let at = 0;
  for (const part of parts) {
    if (typeof part === 'string') at = writeText(out, part, at);
    else {
      out.set(part, at);
      at += part.byteLength;
    }
  }
  return at === size ? out : out.subarray(0, at);
}

function writeText(out: Buffer, text: string, at: number): number {
  if (text.length > SHORT_TEXT) return at + out.write(text, at);
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit > 0x7f) return at + i + out.write(text.slice(i), at + i);
    out[at + i] = unit;
  }
  return at + text.length;
}

export function requestBytes(idRaw: string, method: string, params?: Raw): Buffer {
  return withBody({ kind: 'request', method }, idRaw, params === undefined ? [] : [params]);
}

export function notificationBytes(method: string, params?: Raw): Buffer {
  return withBody({ kind: 'notification', method }, undefined, params === undefined ? [] : [params]);
}

export function resultBytes(idRaw: string, result: Raw): Buffer {
  return withBody({ kind: 'result' }, idRaw, [result]);
}

/** If no id could be read, the member is absent, never null: a widespread client's parser fails on `id: null`. */
export function errorBytes(
  idRaw: string | undefined,
  error: { readonly code: number; readonly message: string; readonly data?: Raw },
): Buffer {
  const id = idRaw === undefined ? '' : `"id":${idRaw},`;
  const head = `{"jsonrpc":"2.0",${id}"error":{"code":${error.code},"message":${JSON.stringify(error.message)}`;
  return error.data === undefined ? concat([`${head}}}`]) : concat([`${head},"data":`, error.data, '}}']);
}

/** The JSON-RPC error for a failure. The text of an unexpected exception is never sent. */
export function failureBytes(failure: Failure, era: Era, idRaw?: string): Buffer {
  const { row, reason } = failure;
  return errorBytes(idRaw ?? failure.id, {
    code: row[era],
    message: reason === 'internal_error' ? row.message : failure.message,
    data: JSON.stringify({ reason, ...failure.data }),
  });
}

/**
 * A message to pass on. Its top level is rebuilt with exactly the members of JSON-RPC 2.0: the receiver might take a
 * member that we do not know for one that we do. The bytes of `params`, `result` and `error` stay as received.
 */
export function forwarded(message: Message): Buffer {
  return spliceMessage(message, []);
}

/** The same message with a different id. */
export function withId(message: Request | Response, idRaw: string): Buffer {
  const body = bodySpan(message);
  return withBody(message, idRaw, body === undefined ? [] : [message.bytes.subarray(body.start, body.end)]);
}

// Every call runs this, and copying bytes is faster than writing text.
const opening = Buffer.from('{"jsonrpc":"2.0","id":');
const calling = new Map(methods.map(({ method }) => [method, Buffer.from(`,"method":"${method}"`)]));
const before = {
  request: Buffer.from(',"params":'),
  notification: Buffer.from(',"params":'),
  result: Buffer.from(',"result":'),
  error: Buffer.from(',"error":'),
};
const closing = Buffer.from('}');

/** What of a message is needed to write its top level. */
type Head = Pick<Request | Notification, 'kind' | 'method'> | Pick<Response, 'kind'>;

/**
 * The same message with a different id and body: the pieces of `params`, `result` or `error`. An empty `body` means
 * that the message has none.
 */
export function withBody(head: Head, idRaw: string | undefined, body: readonly Raw[]): Buffer {
  const parts: Raw[] = idRaw === undefined ? ['{"jsonrpc":"2.0"'] : [opening, idRaw];
  if ('method' in head) parts.push(calling.get(head.method) ?? `,"method":${JSON.stringify(head.method)}`);
  if (body.length > 0) parts.push(before[head.kind], ...body);
  parts.push(closing);
  return concat(parts);
}

/**
 * From this size on, sending pieces is cheaper than copying: allocating a megabyte costs more than the rest of a call.
 */
const LARGE = 64 * 1024;

/** Bytes in one piece, or in several that follow each other. */
export type Pieces = Uint8Array | readonly Uint8Array[];

/** Like `withId`, without copying a large body. */
export function piecesWithId(message: Response, idRaw: string): Pieces {
  const { kind, bytes } = message;
  const { start, end } = message.kind === 'result' ? message.result : message.error;
  const body = bytes.subarray(start, end);
  if (end - start < LARGE) return concat([opening, idRaw, before[kind], body, closing]);
  return [concat([opening, idRaw, before[kind]]), body, closing];
}

function bodySpan(message: Message): Span | undefined {
  switch (message.kind) {
    case 'result':
      return message.result;
    case 'error':
      return message.error;
    default:
      return message.params;
  }
}

export function inOnePiece(pieces: Pieces): Uint8Array {
  return pieces instanceof Uint8Array ? pieces : concat(pieces);
}

/**
 * Rewrites one object: kept members byte for byte and in order, `set` in place where the key exists, else at the end. A
 * key that is both set and dropped is set.
 */
export function rewrite(
  bytes: Uint8Array,
  object: ObjectSpan,
  edit: { readonly drop?: (key: string) => boolean; readonly set?: Readonly<Record<string, Raw>> },
): Buffer {
  const set = edit.set ?? {};
  const parts: Raw[] = [];
  let separator = '{';
  let runStart = -1;
  let runEnd = -1;
  const endRun = (): void => {
    if (runStart === -1) return;
    parts.push(separator, bytes.subarray(runStart, runEnd));
    separator = ',';
    runStart = -1;
  };
  for (const { key, keyStart, start, end } of object.members) {
    const replaced = Object.hasOwn(set, key) ? set[key] : undefined;
    if (replaced !== undefined) {
      endRun();
      parts.push(separator, bytes.subarray(keyStart, start), replaced);
      separator = ',';
    } else if (edit.drop?.(key) === true) endRun();
    else {
      if (runStart === -1) runStart = keyStart;
      runEnd = end;
    }
  }
  endRun();
  for (const [key, value] of Object.entries(set)) {
    if (member(object, key) !== undefined) continue;
    parts.push(`${separator}${JSON.stringify(key)}:`, value);
    separator = ',';
  }
  parts.push(separator === '{' ? '{}' : '}');
  return concat(parts);
}

/** Replaces spans inside the message's `params`, `result` or `error`. The top level is rebuilt. */
export function spliceMessage(message: Message, edits: readonly Edit[]): Buffer {
  const body = bodySpan(message);
  const idRaw = message.kind === 'notification' ? undefined : message.id?.raw;
  return withBody(message, idRaw, body === undefined ? [] : pieces(message.bytes, body, edits));
}

/** Replaces spans that do not overlap, given in any order. An empty span inserts. */
export function splice(bytes: Uint8Array, edits: readonly Edit[]): Buffer {
  return concat(pieces(bytes, { start: 0, end: bytes.byteLength }, edits));
}

function pieces(bytes: Uint8Array, within: Span, edits: readonly Edit[]): readonly Raw[] {
  const ordered = [...edits].sort((a, b) => a.span.start - b.span.start || a.span.end - b.span.end);
  const parts: Raw[] = [];
  let at = within.start;
  for (const { span, with: replacement } of ordered) {
    if (span.start < at || span.end > within.end) {
      throw new Failure('internal_error', { cause: new RangeError('splices overlap or lie outside the message') });
    }
    parts.push(bytes.subarray(at, span.start), replacement);
    at = span.end;
  }
  parts.push(bytes.subarray(at, within.end));
  return parts;
}
