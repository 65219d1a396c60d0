/**
 * Removes from a backend's messages what the client may not receive: server requests that the backend may not make,
 * updates of resources that the client may not read, list entries that the client may not use.
 */

import { readInputRequired } from '../../bridge/input-required.ts';
import { requiredVisits } from '../../bridge/url-elicitation.ts';
import { sessionOwner } from '../../catalog/readers.ts';
import { Failure } from '../../errors/failure.ts';
import type { CallOutcome, ServerRequest } from '../../exchange/call.ts';
import { ownRequest } from '../../exchange/own-call.ts';
import type { Authorizer } from '../../policy/authorizer.ts';
import { checkOneList, ownUri, withoutHidden } from '../../policy/filtered-list.ts';
import type { Viewer } from '../../policy/visibility.ts';
import type { Session, SessionFilter } from '../../session/session.ts';
import type { Notification } from '../../wire/message.ts';
import { changedList } from '../../wire/subscription-filter.ts';
import { asksForInput, textMember } from '../../wire/values.ts';
import type { RequestContext } from '../context.ts';
import type { SharedServices } from '../services.ts';
import { withoutHeld } from './pin-filter.ts';

/** Whether a notification during the call may be passed on. The generation that is current at that moment decides. */
export function filterNotification(shared: SharedServices, context: RequestContext, said: Notification): boolean {
  if (context.session !== undefined) noteListChange(shared, context.session, context.resolved.backend, said);
  return hears(asOfNow(shared, context), said);
}

/** Whether a server request during the call may be passed on. Where it may not, it is answered here. */
export function filterAsk(shared: SharedServices, context: RequestContext, ask: ServerRequest): boolean {
  const failure = refusedAsk(asOfNow(shared, context), ask);
  if (failure !== undefined) ask.answer({ failure: forBackend(failure) });
  return failure === undefined;
}

export interface Now extends Viewer {
  readonly authorizer: Authorizer;
  readonly backend: string;
}

export function asOfNow(
  { currentGeneration }: SharedServices,
  { principal, endpoint, resolved: { backend } }: RequestContext,
): Now {
  const { authorizer, endpoints } = currentGeneration.now;
  return { authorizer, principal, endpoint: endpoints.get(endpoint.path) ?? endpoint, backend };
}

/** Why the backend may not ask this. Undefined where it may. */
export function refusedAsk(now: Now, ask: Pick<ServerRequest, 'row' | 'message'>): Failure | undefined {
  const { authorizer, endpoint, backend } = now;
  return authorizer.watchesAsks(endpoint, backend) ? authorizer.denyAsk(now, backend, ask) : undefined;
}

/** The backend gets the error of a client that cannot answer: a backend must not learn about the rules. */
function forBackend(failure: Failure): Failure {
  if (failure.reason !== 'policy_denied') return failure;
  return new Failure('ask_not_supported', { message: failure.message });
}

/** Filters what backends send to sessions outside any call. One filter serves all sessions. */
export function sessionFilter(shared: Pick<SharedServices, 'currentGeneration' | 'listCache'>): SessionFilter {
  const { currentGeneration } = shared;
  const now = ({ principal, endpoint }: Session, backend: string): Now => {
    return { authorizer: currentGeneration.now.authorizer, principal, endpoint, backend };
  };
  return {
    denyAsk: (session, backend, ask) => {
      const failure = refusedAsk(now(session, backend), ask);
      return failure && forBackend(failure);
    },
    mayHear: (session, backend, said) => {
      noteListChange(shared, session, backend, said);
      return hears(now(session, backend), said);
    },
  };
}

/** Pins and budgets judge calls by the cached lists of a session. At a merged endpoint its links invalidate them. */
function noteListChange(
  { currentGeneration, listCache }: Pick<SharedServices, 'currentGeneration' | 'listCache'>,
  session: Session,
  backend: string,
  { method }: Notification,
): void {
  const isRead = currentGeneration.now.pins !== undefined || session.endpoint.budget !== undefined;
  const kind = isRead ? changedList(method) : undefined;
  if (kind !== undefined) listCache.changed(backend, kind.lists, sessionOwner(session));
}

/** Updates of a resource are for clients that may read it. */
export function hears(to: Now, notification: Notification): boolean {
  if (!to.authorizer.visibility.isShaping || notification.method !== 'notifications/resources/updated') return true;
  const uri = textMember(notification.bytes, notification.params, 'uri');
  return uri !== undefined && hearsOf(to, uri);
}

/** `uri` is the address that the endpoint lists. */
export function hearsOf(to: Now, uri: string): boolean {
  const { authorizer, backend, endpoint } = to;
  if (!authorizer.visibility.isShaping) return true;
  return authorizer.visibility.shows(to, backend, { kind: 'resource', name: uri, own: ownUri(endpoint, backend, uri) });
}

/** The outcome without what the client may not see. The authorizer that allowed the call decides about that. */
export function filterOutcome(shared: SharedServices, context: RequestContext, outcome: Answered): CallOutcome {
  const { row } = context;
  try {
    const failure = row.mayAsk === true ? refusedInput(shared, context, outcome) : undefined;
    if (failure !== undefined) return { kind: 'failure', failure };
    if (outcome.kind === 'error' || (row.list === undefined && row.cacheable !== true)) return outcome;
    const { principal, endpoint, authorization, resolved } = context;
    const to = { authorizer: authorization.authorizer, principal, endpoint, backend: resolved.backend, row };
    const { pins } = shared.currentGeneration.now;
    const isFiltered = pins !== undefined || to.authorizer.visibility.hides(endpoint);
    const list = row.list ?? row.entries;
    if (list !== undefined && isFiltered) checkOneList(outcome.message, list);
    const pinned = pins === undefined ? outcome.message : withoutHeld(pins, resolved.backend, row, outcome.message);
    return { ...outcome, message: withoutHidden(pinned, outcome.vocabulary, to) };
  } catch (error) {
    // A result that cannot be checked is not passed on.
    return {
      kind: 'failure',
      failure: error instanceof Failure ? error : new Failure('internal_error', { cause: error }),
    };
  }
}

export type Answered = Exclude<CallOutcome, { kind: 'failure' }>;

/**
 * A result can carry server requests, too: the call is over, and the next round brings the answers. Returns the failure
 * of the first one that is denied.
 */
function refusedInput(shared: SharedServices, context: RequestContext, outcome: Answered): Failure | undefined {
  const { kind, message, vocabulary } = outcome;
  if (kind === 'result' && (vocabulary !== 'modern' || !asksForInput(message))) return undefined;
  const now = asOfNow(shared, context);
  if (!now.authorizer.watchesAsks(now.endpoint, now.backend)) return undefined;
  if (kind === 'error') {
    const visits = vocabulary === 'legacy' ? requiredVisits(message) : undefined;
    return visits === undefined ? undefined : refusedAsk(now, visit);
  }
  for (const request of readInputRequired(message).requests) {
    const failure = refusedAsk(now, request);
    if (failure !== undefined) return failure;
  }
  return undefined;
}

const visit = ownRequest('elicitation/create', { mode: 'url' });
