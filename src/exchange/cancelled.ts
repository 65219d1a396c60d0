/** Reads a client's `notifications/cancelled`. */
import type { Id, Notification } from '../wire/message.ts';
import { idAt, member, stringAt } from '../wire/values.ts';

/** Undefined where the notification names no request: it is ignored then. */
export function readCancelled(
  message: Notification,
): { readonly id: Id; readonly reason: string | undefined } | undefined {
  const span = member(message.params, 'requestId');
  const id = span && idAt(message.bytes, span);
  const reason = member(message.params, 'reason');
  return id && { id, reason: reason && stringAt(message.bytes, reason) };
}
