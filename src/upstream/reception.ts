/**
 * What a message of a backend was, for the flood budget and for finding idle processes:
 * - `answer`: to a request of ours, aborted ones included.
 * - `call`: progress or a log message of a running call.
 * - `late`: progress of an aborted call. Uses the budget of `call`, and does not count as activity.
 * - `session`: forwarded to the client of the session. Unsolicited.
 * - `none`: answered here, dropped, or a log message outside of calls, which is forwarded anyway. Unsolicited, and not
 *   counted as activity: a process that writes nothing else is idle.
 */
import type { Notification, Request } from '../wire/message.ts';
import { changedList } from '../wire/subscription-filter.ts';

export type Reception = 'answer' | 'call' | 'late' | 'session' | 'none';

/** To whom a message was forwarded. A busy session has running calls. */
export type Receiver = 'call' | 'long-lived call' | 'busy session' | 'idle session';

/**
 * Notifications during a call use the call's budget, those of extensions too. Everything else that is forwarded uses
 * the session's: list and resource changes, what long-lived requests get, and server requests even within a call,
 * because a person can answer some, not thousands.
 */
export function receptionOf(message: Notification | Request, receiver: Receiver): Reception {
  const { kind, method } = message;
  const isChange = changedList(method) !== undefined || method === 'notifications/resources/updated';
  if (kind === 'request' || isChange || receiver === 'long-lived call') return 'session';
  if (receiver === 'call') return 'call';
  // A log message names no request: while calls run, it is taken for one of theirs.
  if (method !== 'notifications/message') return 'session';
  return receiver === 'busy session' ? 'call' : 'none';
}
