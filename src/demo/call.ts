/** The port through which a handler sees its request and reaches its client, whatever era the client is of. */
import { atLeast, type Revision } from '../wire/revisions.ts';
import type { Ask } from './asks.ts';
import { BadValue, isId, isObject, type JsonObject, notification, type Send } from './message.ts';
import type { ListKind, World } from './world.ts';

/** Least severe first, as RFC 5424 orders them: a level admits itself and all that follow. */
export const logLevels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const;
export type LogLevel = (typeof logLevels)[number];

export function logLevelOf(value: unknown): LogLevel {
  const level = logLevels.find((known) => known === value);
  if (level === undefined) throw new BadValue(`A log level must be one of ${logLevels.join(', ')}`);
  return level;
}

interface CallOptions {
  readonly params: JsonObject;
  readonly revision: Revision;
  readonly world: World;
  /** Aborted when the client cancels: nothing that is sent or returned afterwards reaches it. */
  readonly signal: AbortSignal;
  readonly ask: Ask;
  readonly send: Send;
  /** The least severe level that the client wants; none where it wants no messages at all. */
  readonly threshold: LogLevel | undefined;
}

export interface Call extends CallOptions {
  /** Does nothing unless the client gave a progress token. */
  readonly progress: (done: number, total: number, message: string) => void;
  /** Whether the message was sent: the client decides which levels it wants. */
  readonly log: (level: LogLevel, data: unknown) => boolean;
}

export function openCall(options: CallOptions): Call {
  const { params, revision, signal, send, threshold } = options;
  const token = isObject(params._meta) ? params._meta.progressToken : undefined;
  return {
    ...options,
    progress: (progress, total, message) => {
      if (!isId(token) || signal.aborted) return;
      const words = atLeast(revision, '2025-03-26') ? { message } : {};
      send(notification('notifications/progress', { progressToken: token, progress, total, ...words }));
    },
    log: (level, data) => {
      if (threshold === undefined || signal.aborted) return false;
      if (logLevels.indexOf(level) < logLevels.indexOf(threshold)) return false;
      send(notification('notifications/message', { level, logger: 'demo', data }));
      return true;
    },
  };
}

/** An entry of a list. */
export interface Item {
  /** As the list shows it to the newest revision. */
  readonly definition: JsonObject;
  /** The first revision that has what the item needs; older ones don't get to see it. */
  readonly since?: Revision | undefined;
  /** There only while a toggle tool has put it there. */
  readonly extra?: ListKind | undefined;
}

export function offered<Of extends Item>(items: readonly Of[], { revision, world }: Call): readonly Of[] {
  const isThere = ({ since, extra }: Item) =>
    (since === undefined || atLeast(revision, since)) && (extra === undefined || world.has(extra));
  return items.filter(isThere);
}

type Named = 'tool' | 'prompt' | 'resource template';

export function itemNamed<Of extends Item>(items: readonly Of[], what: Named, name: string, call: Call): Of {
  const key = what === 'resource template' ? 'uriTemplate' : 'name';
  const item = offered(items, call).find(({ definition }) => definition[key] === name);
  if (item === undefined) throw new BadValue(`Unknown ${what}: ${name}`);
  return item;
}

/** More than any list has, but for resources: clients mostly show a list as a whole. */
const usualPageSize = 100;

/**
 * One page of a list. A cursor names the last item that its holder has seen (by `key`), so it stays right when items
 * come or go behind it.
 */
export function listed(list: string, key: string, items: readonly Item[], call: Call, size = usualPageSize) {
  const { cursor } = call.params;
  const all = offered(items, call);
  const cursorAfter = ({ definition }: Item) => Buffer.from(String(definition[key])).toString('base64url');
  const start = cursor === undefined ? 0 : all.findIndex((item) => cursorAfter(item) === cursor) + 1;
  if (cursor !== undefined && start === 0) throw new BadValue('Invalid cursor');
  const page = all.slice(start, start + size);
  const nextCursor = start + size < all.length ? { nextCursor: cursorAfter(page.at(-1)!) } : {};
  return { [list]: page.map(({ definition }) => definition), ...nextCursor };
}
