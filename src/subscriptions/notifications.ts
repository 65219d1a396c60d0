/** Notifications that the gateway writes, or writes anew. */
import { notificationBytes, spliceMessage } from '../wire/compose.ts';
import type { Notification } from '../wire/message.ts';
import { skimMessage } from '../wire/skim.ts';
import { member } from '../wire/values.ts';

export function ownNotification(method: string, params: object): Notification {
  return skimMessage(notificationBytes(method, JSON.stringify(params))) as Notification;
}

/** The same news about the same resource, under the address that the client knows it by. */
export function withUri(notification: Notification, uri: string): Notification {
  const span = member(notification.params, 'uri');
  if (span === undefined) return notification;
  return skimMessage(spliceMessage(notification, [{ span, with: JSON.stringify(uri) }])) as Notification;
}
