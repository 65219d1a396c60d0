/** What may happen to a notification whose reader is slow. */
import type { Notification } from '../wire/message.ts';
import type { Urgency } from './outlet.ts';

const urgencies: Readonly<Record<string, Urgency>> = {
  'notifications/progress': 'progress',
  'notifications/message': 'log',
};

export function urgencyOf(notification: Notification): Urgency {
  return urgencies[notification.method] ?? 'keep';
}
