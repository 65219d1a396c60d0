/** Notifications that the gateway writes or rewrites. */
import { notificationBytes, spliceMessage } from '../wire/compose.ts';
import type { Notification } from '../wire/message.ts';
import { skimMessage } from '../wire/skim.ts';
import { member } from '../wire/values.ts';

export function ownNotification(method: string, params: object): Notification {
  return skimMessage(notificationBytes(method, JSON.stringify(params))) as Notification;
}

/** The same notification with the URI that the client knows the resource by. */
export function withUri(notification: Notification, uri: string): Notification {
  const span = member(notification.params, 'uri');
  if (span === undefined) return notification;
  return skimMessage(spliceMessage(notification, [{ span, with: JSON.stringify(uri) }])) as Notification;
}
