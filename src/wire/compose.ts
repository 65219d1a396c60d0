/** Building messages as bytes. What was received is spliced, never parsed and written again. */
import { Failure } from '../errors.ts';
import type { Message, ObjectSpan, Request, Response, ResultResponse, Span } from './message.ts';
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
/** Up to here writing character by character beats the call into native code. */
const SHORT_TEXT = 24;
/** Up to here a string's worst-case size is reserved rather than measured. */
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
  return withParams(`{"jsonrpc":"2.0","id":${idRaw},"method":${JSON.stringify(method)}`, params);
}

export function notificationBytes(method: string, params?: Raw): Buffer {
  return withParams(`{"jsonrpc":"2.0","method":${JSON.stringify(method)}`, params);
}

function withParams(head: string, params: Raw | undefined): Buffer {
  return params === undefined ? concat([`${head}}`]) : concat([`${head},"params":`, params, '}']);
}

export function resultBytes(idRaw: string, result: Raw): Buffer {
  return concat([`{"jsonrpc":"2.0","id":${idRaw},"result":`, result, '}']);
}

/** Where no id was readable the member is absent, never null: a widespread client's parser breaks on `id: null`. */
export function errorBytes(
  idRaw: string | undefined,
  error: { readonly code: number; readonly message: string; readonly data?: Raw },
): Buffer {
  const id = idRaw === undefined ? '' : `"id":${idRaw},`;
  const head = `{"jsonrpc":"2.0",${id}"error":{"code":${error.code},"message":${JSON.stringify(error.message)}`;
  return error.data === undefined ? concat([`${head}}}`]) : concat([`${head},"data":`, error.data, '}}']);
}

/** The JSON-RPC error that tells a peer of a failure. The text of an unexpected exception never leaves the house. */
export function failureBytes(failure: Failure, era: Era, idRaw?: string): Buffer {
  const { row, reason } = failure;
  return errorBytes(idRaw ?? failure.id, {
    code: row[era],
    message: reason === 'internal_error' ? row.message : failure.message,
    data: JSON.stringify({ reason, ...failure.data }),
  });
}

/** The same message under another id; all other bytes stay. */
export function withId(message: Request | Response, idRaw: string): Buffer {
  const { bytes, top } = message;
  for (const { key, start, end } of top) {
    if (key === 'id') return concat([bytes.subarray(0, start), idRaw, bytes.subarray(end)]);
  }
  // Only an error response may lack one, and it has at least `jsonrpc` and `error`.
  const first = top[0]?.keyStart ?? 0;
  return concat([bytes.subarray(0, first), `"id":${idRaw},`, bytes.subarray(first)]);
}

/** The same response under another id and with another result; all other bytes stay. */
export function withResult(message: ResultResponse, idRaw: string, result: Raw): Buffer {
  const edits: Edit[] = [{ span: message.result, with: result }];
  for (const own of message.top) if (own.key === 'id') edits.push({ span: own, with: idRaw });
  return splice(message.bytes, edits);
}

/** From here on a message is cheaper to send in pieces than to copy: a fresh megabyte costs more than all the rest of a call. */
const LARGE = 64 * 1024;

/** Bytes in one piece, or in several that follow each other. */
export type Pieces = Uint8Array | readonly Uint8Array[];

/** As `withId`, without copying what is large. */
export function piecesWithId(message: Request | Response, idRaw: string): Pieces {
  const { bytes, top } = message;
  const id = bytes.byteLength < LARGE ? undefined : top.find(({ key }) => key === 'id');
  if (id === undefined) return withId(message, idRaw);
  return [bytes.subarray(0, id.start), concat([idRaw]), bytes.subarray(id.end)];
}

export function inOnePiece(pieces: Pieces): Uint8Array {
  return pieces instanceof Uint8Array ? pieces : concat(pieces);
}

/**
 * One object anew: kept members byte for byte and in order, `set` in place where the key exists, else at the end.
 * A key that is both set and dropped is set.
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

export function spliceMessage(message: Message, edits: readonly Edit[]): Buffer {
  return splice(message.bytes, edits);
}

/** Replaces spans that do not overlap, given in any order. An empty span inserts. */
export function splice(bytes: Uint8Array, edits: readonly Edit[]): Buffer {
  const ordered = [...edits].sort((a, b) => a.span.start - b.span.start || a.span.end - b.span.end);
  const parts: Raw[] = [];
  let at = 0;
  for (const { span, with: replacement } of ordered) {
    if (span.start < at || span.end > bytes.byteLength) {
      throw new Failure('internal_error', { cause: new RangeError('splices overlap or lie outside the message') });
    }
    parts.push(bytes.subarray(at, span.start), replacement);
    at = span.end;
  }
  parts.push(bytes.subarray(at));
  return concat(parts);
}
