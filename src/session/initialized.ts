/** The `notifications/initialized` of a session, for backends that are opened later. */
import { notificationBytes } from '../wire/compose.ts';
import type { Notification } from '../wire/message.ts';
import { skimMessage } from '../wire/skim.ts';

const MOST_BYTES = 4 * 1024;

/** Without parameters it is the same for all sessions. */
export const plainInitialized = skimMessage(notificationBytes('notifications/initialized')) as Notification;

/** As a copy, and without parameters where it is longer than `MOST_BYTES`. */
export function keptInitialized(message: Notification): Notification {
  if (message.params === undefined || message.bytes.byteLength > MOST_BYTES) return plainInitialized;
  return { ...message, bytes: new Uint8Array(message.bytes) };
}
