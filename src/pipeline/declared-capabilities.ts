/** The capabilities that a modern client declares in every request, parsed once for as long as they stay the same. */
import { Failure } from '../errors/failure.ts';
import { type ClientCapabilities, readCapabilities } from '../wire/capabilities.ts';
import type { Span } from '../wire/message.ts';
import { isObject, textAt, valueAt } from '../wire/values.ts';

/**
 * Sessions and pending calls keep a declaration for as long as the client may come back. Real ones have some hundred
 * bytes.
 */
const BYTES = 64 * 1024;
/** How many declarations are kept. A client has one, and all clients of a kind have the same. */
const KEPT = 64;
/** Longer declarations are parsed each time. */
const KEPT_LENGTH = 2_048;

/** By text: equal declarations mean the same, whichever client makes them. */
const known = new Map<string, ClientCapabilities>();

export function checkSize({ start, end }: Span, what: 'capabilities' | 'clientInfo' = 'capabilities'): void {
  if (end - start > BYTES) throw new Failure('invalid_params', { message: `${what} may have at most ${BYTES} bytes` });
}

/** Undefined where the declaration is no object. */
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
