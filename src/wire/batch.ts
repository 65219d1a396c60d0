/**
 * Batches: arrays of messages, which only revision 2025-03-26 has. Each member becomes a message with its own bytes.
 */
import { Failure, type Reason } from '../errors/failure.ts';
import type { Batch, Message } from './message.ts';
import { skipWhite } from './outline.ts';
import { type ReadLimits, readMessage } from './scan.ts';
import { passOver, skimMessage } from './skim.ts';

const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

export interface BatchLimits extends ReadLimits {
  readonly members: number;
}

export function readBatch(batch: Batch, limits: BatchLimits): Message[] {
  return readMembers(batch, limits, (part, inner) => {
    const message = readMessage(part, inner);
    // 2025-03-26, basic/lifecycle: `initialize` must not be part of a batch.
    if ('method' in message && message.method === 'initialize') {
      throw new Failure('invalid_batch', { message: 'initialize inside a batch' });
    }
    return message;
  });
}

/** Strict. One unreadable member makes the whole batch invalid: a batch is served or refused as one. */
export function readMembers<T extends { readonly kind: string }>(
  { bytes }: Batch,
  { depth, members }: BatchLimits,
  read: (bytes: Uint8Array, limits: ReadLimits) => T | Batch,
): T[] {
  const parts = splitBatch(bytes, 'parse_error', members);
  if (parts.length === 0) throw new Failure('invalid_batch', { message: 'An empty batch' });
  return parts.map((part) => {
    const message = read(part, { depth: depth - 1 });
    if (message.kind === 'batch') throw new Failure('invalid_request', { message: 'A message must be an object' });
    return message as T;
  });
}

/** Lenient, for backends. */
export function skimBatch(batch: Batch): Message[] {
  return splitBatch(batch.bytes, 'backend_invalid').map((part) => {
    const message = skimMessage(part);
    if (message.kind === 'batch') throw new Failure('backend_invalid');
    return message;
  });
}

/**
 * Splits at the commas between the members. Only brackets and strings are checked here; the reader of each member
 * checks the rest. Stops at the limit of members: a member of two bytes costs a hundred bytes of memory.
 */
function splitBatch(bytes: Uint8Array, reason: Reason, most = Number.POSITIVE_INFINITY): Uint8Array[] {
  const end = bytes.byteLength;
  const broken = (at: number): Failure => new Failure(reason, { data: { offset: at } });
  const parts: Uint8Array[] = [];
  let i = skipWhite(bytes, 0, end);
  if (i >= end || bytes[i] !== OPEN_BRACKET) throw broken(i);
  i = skipWhite(bytes, i + 1, end);
  if (i < end && bytes[i] === CLOSE_BRACKET) i++;
  else {
    for (;;) {
      if (parts.length >= most) throw new Failure('invalid_batch', { message: `More than ${most} in one batch` });
      const start = i;
      const after = passOver(bytes, start, reason);
      parts.push(bytes.subarray(start, after));
      i = skipWhite(bytes, after, end);
      const byte = i < end ? bytes[i++] : -1;
      if (byte === CLOSE_BRACKET) break;
      if (byte !== COMMA) throw broken(i);
      i = skipWhite(bytes, i, end);
    }
  }
  i = skipWhite(bytes, i, end);
  if (i < end) throw broken(i);
  return parts;
}
