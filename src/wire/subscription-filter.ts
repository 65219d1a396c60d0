/** The filter of a subscription: which notifications a client wants. Names follow `subscriptions/listen`. */
import { Failure } from '../errors/failure.ts';
import type { Notification, Request } from './message.ts';
import { isObject, member, textMember, valueAt } from './values.ts';

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

/**
 * One row per kind of list: the notification of a change, the flag that requests it, the capability that offers it, and
 * the list methods.
 */
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
    // Skills are resources, and have no notification of their own.
    lists: ['resources/list', 'resources/templates/list', 'skills/list'],
  },
] as const;

export const listKinds: readonly ListKind[] = lists;
export type ListKind = (typeof lists)[number];

/** The methods of all lists. */
export const everyList: readonly string[] = lists.flatMap((kind) => [...kind.lists]);

/** The kind of list that the notification is about, if any. */
export function changedList(method: string): ListKind | undefined {
  return lists.find((kind) => kind.method === method);
}

function filterWhere(isWanted: (kind: ListKind) => boolean, resourceSubscriptions: readonly string[]) {
  const flags = Object.fromEntries(lists.map((kind) => [kind.flag, isWanted(kind)]));
  return { ...flags, resourceSubscriptions } as SubscriptionFilter;
}

/** The list changes that a backend with these capabilities can announce. Resources are subscribed to one by one. */
export function offeredLists(capabilities: Readonly<Record<string, unknown>>): SubscriptionFilter {
  return filterWhere(({ capability }) => says(capabilities, capability, 'listChanged'), []);
}

export function offersSubscriptions(capabilities: Readonly<Record<string, unknown>>): boolean {
  return says(capabilities, 'resources', 'subscribe');
}

/** The part of the wanted filter that is offered. */
export function honoured(wanted: SubscriptionFilter, offered: SubscriptionFilter): SubscriptionFilter {
  const uris = wanted.resourceSubscriptions.filter((uri) => offered.resourceSubscriptions.includes(uri));
  return filterWhere(({ flag }) => wanted[flag] && offered[flag], uris);
}

/** The filter as JSON, for a request or an acknowledgement. Whatever is not wanted is left out. */
export function filterOf(wanted: SubscriptionFilter): Record<string, unknown> {
  const flags = lists.flatMap(({ flag }) => (wanted[flag] ? [[flag, true]] : []));
  const { resourceSubscriptions } = wanted;
  return { ...Object.fromEntries(flags), ...(resourceSubscriptions.length > 0 && { resourceSubscriptions }) };
}

/** The filter of a request or an acknowledgement. Undefined if it is invalid. */
export function readFilter(message: Request | Notification): SubscriptionFilter | undefined {
  const span = member(message.params, 'notifications');
  const given = span && valueAt(message.bytes, span);
  if (!isObject(given)) return undefined;
  const uris = given.resourceSubscriptions ?? [];
  if (!Array.isArray(uris) || !uris.every((uri) => typeof uri === 'string')) return undefined;
  return filterWhere(({ flag }) => given[flag] === true, [...new Set(uris)]);
}

/** The filter of a `subscriptions/listen` request. Throws where it has none. */
export function filterIn(request: Request): SubscriptionFilter {
  const filter = readFilter(request);
  if (filter === undefined) throw new Failure('invalid_params', { message: 'notifications must be a filter' });
  return filter;
}

/** Whether the filter includes the notification. */
export function admits(wanted: SubscriptionFilter, notification: Notification): boolean {
  if (!admitsKind(wanted, notification.method)) return false;
  if (notification.method !== 'notifications/resources/updated') return true;
  const uri = textMember(notification.bytes, notification.params, 'uri');
  return uri !== undefined && wanted.resourceSubscriptions.includes(uri);
}

/**
 * Whether a stream with this filter can carry such notifications at all. Only the backend knows which resources belong
 * together: it may report an update of a part of the subscribed resource.
 */
export function admitsKind(wanted: SubscriptionFilter, method: string): boolean {
  const list = changedList(method);
  if (list !== undefined) return wanted[list.flag];
  return method === 'notifications/resources/updated' && wanted.resourceSubscriptions.length > 0;
}

export function isEmpty(wanted: SubscriptionFilter): boolean {
  return Object.keys(filterOf(wanted)).length === 0;
}

function says(capabilities: Readonly<Record<string, unknown>>, area: string, what: string): boolean {
  const found = capabilities[area];
  return isObject(found) && found[what] === true;
}
