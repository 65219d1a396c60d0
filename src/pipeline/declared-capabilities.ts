/** What a modern client declares with every request, read once for as long as it says the same. */
import { Failure } from '../errors/failure.ts';
import { type ClientCapabilities, readCapabilities } from '../wire/capabilities.ts';
import type { Span } from '../wire/message.ts';
import { isObject, textAt, valueAt } from '../wire/values.ts';

/** It is remembered for as long as the client may come back; real declarations have some hundred bytes. */
const BYTES = 64 * 1024;
/** Declarations that are kept; a client has one, and all of a kind have the same. */
const KEPT = 64;
/** Longer ones are read anew. */
const KEPT_LENGTH = 2_048;

/** By their text: equal declarations mean the same, whoever makes them. */
const known = new Map<string, ClientCapabilities>();

export function checkSize({ start, end }: Span, what: 'capabilities' | 'clientInfo' = 'capabilities'): void {
  if (end - start > BYTES) throw new Failure('invalid_params', { message: `${what} may have at most ${BYTES} bytes` });
}

/** Undefined where it is no object. */
export function declaredAt(bytes: Uint8Array, span: Span): ClientCapabilities | undefined {
  checkSize(span);
  const text = textAt(bytes, span);
  const kept = known.get(text);
  if (kept !== undefined) return kept;
  const value = valueAt(bytes, span);
  if (!isObject(value)) return undefined;
  const read = readCapabilities(value);
  if (text.length > KEPT_LENGTH) return read;
  if (known.size >= KEPT) known.clear();
  known.set(text, read);
  return read;
}
