/** Messages about subscriptions that the gateway writes or rewrites. */
import type { Exchange } from '../exchange/exchange.ts';
import { notificationBytes, spliceMessage } from '../wire/compose.ts';
import type { Notification, Request } from '../wire/message.ts';
import { skimMessage } from '../wire/skim.ts';
import { filterOf, type SubscriptionFilter } from '../wire/subscription-filter.ts';
import { member } from '../wire/values.ts';

export function ownNotification(method: string, params: object): Notification {
  return skimMessage(notificationBytes(method, JSON.stringify(params))) as Notification;
}

/** Tells the client which parts of its filter are honoured. Notifications may follow. */
export function acknowledge(exchange: Exchange, honoured: SubscriptionFilter): void {
  const params = { notifications: filterOf(honoured) };
  exchange.sendSubscribed(ownNotification('notifications/subscriptions/acknowledged', params));
}

/** The same message with another value of one parameter. A message without the parameter stays as it is. */
export function withParam<M extends Request | Notification>(message: M, key: string, value: unknown): M {
  const span = member(message.params, key);
  if (span === undefined) return message;
  return skimMessage(spliceMessage(message, [{ span, with: JSON.stringify(value) }])) as M;
}
