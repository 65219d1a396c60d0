/** The levels of log messages, and what a client that named one wants to hear. */
import type { Notification, ObjectSpan, Span } from './message.ts';
import { member, stringAt } from './values.ts';

/** https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/logging#log-levels, the least urgent first. */
const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];

/** Undefined where the span holds no level that there is. */
export function logLevelAt(bytes: Uint8Array, span: Span | undefined): string | undefined {
  const level = span && stringAt(bytes, span);
  return level !== undefined && levels.includes(level) ? level : undefined;
}

/** The one that brings the most, among levels that there are; undefined where there is none. */
export function mostVerbose(among: Iterable<string>): string | undefined {
  return [...among].sort((a, b) => levels.indexOf(a) - levels.indexOf(b))[0];
}

/**
 * Whether a client that named a level wants the notification. Backends are told the level and keep to it, or not; and one
 * session upstream may serve clients with different wishes.
 */
export function isWanted(notification: Notification, threshold: string | undefined): boolean {
  if (threshold === undefined || notification.method !== 'notifications/message') return true;
  return rank(notification.bytes, notification.params) >= levels.indexOf(threshold);
}

/** A message of a level that nobody knows is not ours to hold back. */
function rank(bytes: Uint8Array, params: ObjectSpan | undefined): number {
  const level = logLevelAt(bytes, member(params, 'level'));
  return level === undefined ? levels.length : levels.indexOf(level);
}
