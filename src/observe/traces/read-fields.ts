/** Reads trace context from `_meta` of a message, and from HTTP headers. */
import type { HeaderReader } from '../../exchange/arrival.ts';
import type { Notification, Request } from '../../wire/message.ts';
import { textMember } from '../../wire/values.ts';
import type { ReadField } from './trace-context.ts';

export function readerOfMeta({ bytes, meta }: Pick<Request | Notification, 'bytes' | 'meta'>): ReadField {
  return (key) => textMember(bytes, meta, key);
}

export function readerOfHeaders(header: HeaderReader | undefined): ReadField {
  return (key) => header?.(key);
}
