/** The port through which a handler sees its request and reaches its client, whatever era the client is of. */
import { atLeast, type Revision } from '../wire/revisions.ts';
import type { Ask } from './asks.ts';
import { BadValue } from './failure.ts';
import { isId, isObject, type JsonObject, notification, type Send } from './message.ts';
import type { World } from './world.ts';

/** Least severe first, as RFC 5424 orders them: a level admits itself and all that follow. */
export const logLevels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const;
export type LogLevel = (typeof logLevels)[number];

export function logLevelOf(value: unknown): LogLevel {
  const level = logLevels.find((known) => known === value);
  if (level === undefined) throw new BadValue(`A log level must be one of ${logLevels.join(', ')}`);
  return level;
}

export interface Call {
  readonly params: JsonObject;
  readonly revision: Revision;
  readonly world: World;
  /** Aborted when the client cancels: nothing that is sent or returned afterwards reaches it. */
  readonly signal: AbortSignal;
  readonly ask: Ask;
  /** Does nothing unless the client gave a progress token. */
  readonly progress: (done: number, total: number, message: string) => void;
  /** Whether the message was sent: the client decides which levels it wants. */
  readonly log: (level: LogLevel, data: unknown) => boolean;
}

export interface CallOptions extends Pick<Call, 'params' | 'revision' | 'world' | 'signal' | 'ask'> {
  readonly send: Send;
  /** The least severe level that the client wants; none where it wants no messages at all. */
  readonly threshold: LogLevel | undefined;
}

export function openCall({ send, threshold, ...port }: CallOptions): Call {
  const { params, revision, signal } = port;
  const token = isObject(params._meta) ? params._meta.progressToken : undefined;
  return {
    ...port,
    progress: (done, total, message) => {
      if (!isId(token) || signal.aborted) return;
      const progress = { progressToken: token, progress: done, total };
      send(
        notification('notifications/progress', atLeast(revision, '2025-03-26') ? { ...progress, message } : progress),
      );
    },
    log: (level, data) => {
      if (threshold === undefined || signal.aborted) return false;
      if (logLevels.indexOf(level) < logLevels.indexOf(threshold)) return false;
      send(notification('notifications/message', { level, logger: 'demo', data }));
      return true;
    },
  };
}
