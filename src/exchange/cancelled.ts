/** Reads a client's `notifications/cancelled`. */
import type { Id, Notification } from '../wire/message.ts';
import { idIn, textMember } from '../wire/values.ts';

/** Undefined where the notification names no request: it is ignored then. */
export function readCancelled(
  message: Notification,
): { readonly id: Id; readonly reason: string | undefined } | undefined {
  const id = idIn(message, 'requestId');
  return id && { id, reason: textMember(message.bytes, message.params, 'reason') };
}
