/** What a client wants to hear of. The words are those of `subscriptions/listen`. */
import type { Notification, Request } from './message.ts';
import { member, textMember, valueAt } from './values.ts';

export interface SubscriptionFilter {
  readonly toolsListChanged: boolean;
  readonly promptsListChanged: boolean;
  readonly resourcesListChanged: boolean;
  readonly resourceSubscriptions: readonly string[];
}

export const nothingWanted: SubscriptionFilter = {
  toolsListChanged: false,
  promptsListChanged: false,
  resourcesListChanged: false,
  resourceSubscriptions: [],
};

/** One row a kind of list: the notification that says it changed, the flag that asks for it, the capability that offers it, and the lists. */
const lists = [
  {
    method: 'notifications/tools/list_changed',
    flag: 'toolsListChanged',
    capability: 'tools',
    lists: ['tools/list'],
  },
  {
    method: 'notifications/prompts/list_changed',
    flag: 'promptsListChanged',
    capability: 'prompts',
    lists: ['prompts/list'],
  },
  {
    method: 'notifications/resources/list_changed',
    flag: 'resourcesListChanged',
    capability: 'resources',
    lists: ['resources/list', 'resources/templates/list'],
  },
] as const;

export const listKinds: readonly ListKind[] = lists;
export type ListKind = (typeof lists)[number];

/** The methods of all of them. */
export const everyList: readonly string[] = lists.flatMap((kind) => [...kind.lists]);

/** The kind of list that a notification says has changed, if any. */
export function changedList(method: string): ListKind | undefined {
  return lists.find((kind) => kind.method === method);
}

/** What a backend with these capabilities can tell of at all; resources are asked for one by one. */
export function offeredLists(capabilities: Readonly<Record<string, unknown>>): SubscriptionFilter {
  const flags = lists.map(({ flag, capability }) => ({ [flag]: says(capabilities, capability, 'listChanged') }));
  return Object.assign({}, nothingWanted, ...flags) as SubscriptionFilter;
}

export function offersSubscriptions(capabilities: Readonly<Record<string, unknown>>): boolean {
  return says(capabilities, 'resources', 'subscribe');
}

/** The part of a wish that can be fulfilled. */
export function honoured(wanted: SubscriptionFilter, offered: SubscriptionFilter): SubscriptionFilter {
  const flags = lists.map(({ flag }) => ({ [flag]: wanted[flag] && offered[flag] }));
  const resourceSubscriptions = wanted.resourceSubscriptions.filter((uri) =>
    offered.resourceSubscriptions.includes(uri),
  );
  return Object.assign({}, nothingWanted, { resourceSubscriptions }, ...flags) as SubscriptionFilter;
}

/** As it stands in a request or an acknowledgement: what is not wanted is left out. */
export function filterOf(wanted: SubscriptionFilter): Record<string, unknown> {
  const flags = lists.filter(({ flag }) => wanted[flag]).map(({ flag }) => ({ [flag]: true }));
  const { resourceSubscriptions } = wanted;
  return Object.assign({}, ...flags, resourceSubscriptions.length === 0 ? {} : { resourceSubscriptions }) as Record<
    string,
    unknown
  >;
}

/** The filter of a request or of an acknowledgement. Undefined where it is none. */
export function readFilter(message: Request | Notification): SubscriptionFilter | undefined {
  const span = member(message.params, 'notifications');
  const filter = span && valueAt(message.bytes, span);
  if (typeof filter !== 'object' || filter === null || Array.isArray(filter)) return undefined;
  const given = filter as Record<string, unknown>;
  const uris = given.resourceSubscriptions ?? [];
  if (!Array.isArray(uris) || !uris.every((uri) => typeof uri === 'string')) return undefined;
  const flags = lists.map(({ flag }) => ({ [flag]: given[flag] === true }));
  return Object.assign(
    {},
    nothingWanted,
    { resourceSubscriptions: [...new Set(uris)] },
    ...flags,
  ) as SubscriptionFilter;
}

/** Whether somebody who wants this is to hear of that. */
export function admits(wanted: SubscriptionFilter, notification: Notification): boolean {
  if (!admitsKind(wanted, notification.method)) return false;
  if (notification.method !== 'notifications/resources/updated') return true;
  const uri = textMember(notification.bytes, notification.params, 'uri');
  return uri !== undefined && wanted.resourceSubscriptions.includes(uri);
}

/**
 * Whether a stream with this filter holds such notifications at all. Which resources belong together only the backend knows:
 * it may tell of a part of the one that was asked for.
 */
export function admitsKind(wanted: SubscriptionFilter, method: string): boolean {
  const list = lists.find((row) => row.method === method);
  if (list !== undefined) return wanted[list.flag];
  return method === 'notifications/resources/updated' && wanted.resourceSubscriptions.length > 0;
}

export function isEmpty(wanted: SubscriptionFilter): boolean {
  return Object.keys(filterOf(wanted)).length === 0;
}

function says(capabilities: Readonly<Record<string, unknown>>, area: string, what: string): boolean {
  const found = capabilities[area];
  return typeof found === 'object' && found !== null && (found as Record<string, unknown>)[what] === true;
}
