/** The members of an object that lies deeper in a message than the reader looks. */
import { notificationBytes } from './compose.ts';
import type { ObjectSpan, Span } from './message.ts';
import { skimMessage } from './skim.ts';
import { slice } from './values.ts';

/** An object with bytes of its own: spans are positions in these, not in the message that it came from. */
export interface ReadObject {
  readonly bytes: Uint8Array;
  readonly object: ObjectSpan;
}

/** Undefined where there is something else than an object. As parameters of a message it is read like any other. */
export function readObject(bytes: Uint8Array, span: Span): ReadObject | undefined {
  if (bytes[span.start] !== 0x7b) return undefined;
  const wrapped = skimMessage(notificationBytes('object', slice(bytes, span)));
  if (wrapped.kind !== 'notification' || wrapped.params === undefined) return undefined;
  return { bytes: wrapped.bytes, object: wrapped.params };
}
