/** `notifications/cancelled` for a request of ours, under the id that the backend knows. */
import { notificationBytes } from '../wire/compose.ts';

export function cancelledBytes(id: string, reason: string | undefined): Buffer {
  const why = reason === undefined ? '' : `,"reason":${JSON.stringify(reason)}`;
  return notificationBytes('notifications/cancelled', `{"requestId":${id}${why}}`);
}
