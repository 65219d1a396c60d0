/** Log levels, and which log messages a client with a chosen level gets. */
import type { Notification, ObjectSpan, Span } from './message.ts';
import { member, stringAt } from './values.ts';

/** https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/logging#log-levels, least urgent first. */
const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];

/** Undefined if the span holds no valid level. */
export function logLevelAt(bytes: Uint8Array, span: Span | undefined): string | undefined {
  const level = span && stringAt(bytes, span);
  return level !== undefined && levels.includes(level) ? level : undefined;
}

/** The most verbose of the given levels; undefined if there is none. */
export function mostVerbose(among: Iterable<string>): string | undefined {
  return [...among].sort((a, b) => levels.indexOf(a) - levels.indexOf(b))[0];
}

/**
 * Whether a client with this level gets the notification. Backends receive the level but may ignore it, and one
 * upstream session may serve clients with different levels.
 */
export function isWanted(notification: Notification, threshold: string | undefined): boolean {
  if (threshold === undefined || notification.method !== 'notifications/message') return true;
  return rank(notification.bytes, notification.params) >= levels.indexOf(threshold);
}

/** A message with an unknown level is never held back. */
function rank(bytes: Uint8Array, params: ObjectSpan | undefined): number {
  const level = logLevelAt(bytes, member(params, 'level'));
  return level === undefined ? levels.length : levels.indexOf(level);
}
