/**
 * Removes from a backend's messages what the client may not receive: server requests that the backend may not make,
 * updates of resources that the client may not read, list entries that the client may not use.
 */

import { resultType } from '../../bridge/era-translation.ts';
import { readInputRequired } from '../../bridge/input-required.ts';
import { requiredVisits } from '../../bridge/url-elicitation.ts';
import { Failure } from '../../errors/failure.ts';
import type { CallOutcome, CallSink, ServerRequest } from '../../exchange/call.ts';
import { ownRequest } from '../../exchange/own-call.ts';
import type { Authorizer, Viewer } from '../../policy/authorizer.ts';
import { ownUri, withoutHidden } from '../../policy/filtered-list.ts';
import type { Session } from '../../session/session.ts';
import type { Notification } from '../../wire/message.ts';
import type { MethodRow } from '../../wire/methods.ts';
import { textMember } from '../../wire/values.ts';
import type { CurrentGeneration } from '../generation.ts';

export interface ResponseAudience extends Viewer {
  /** The authorizer that allowed the call. It also decides what is shown of the response. */
  readonly authorizer: Authorizer;
  /** For server requests during the call: the generation that is current at that moment decides about them. */
  readonly currentGeneration: CurrentGeneration;
  readonly backend: string;
  readonly row: MethodRow;
}

/** The current generation may change while the call runs. */
export function filterResponse(sink: CallSink, to: ResponseAudience): CallSink {
  return new ResponseFilter(sink, to);
}

/** Created for every call, so it does as little as possible where nothing has to be removed. */
class ResponseFilter implements CallSink {
  readonly #sink: CallSink;
  readonly #to: ResponseAudience;

  constructor(sink: CallSink, to: ResponseAudience) {
    this.#sink = sink;
    this.#to = to;
  }

  notify(notification: Notification): void {
    if (hears(asOfNow(this.#to), notification)) this.#sink.notify(notification);
  }

  ask(ask: ServerRequest): void {
    const failure = refusedAsk(asOfNow(this.#to), ask);
    if (failure === undefined) this.#sink.ask(ask);
    else ask.answer({ failure: forBackend(failure) });
  }

  pause(retryMs: number | undefined): void {
    this.#sink.pause(retryMs);
  }

  settle(outcome: CallOutcome): void {
    this.#sink.settle(settled(outcome, this.#to));
  }
}

interface Now extends Viewer {
  readonly authorizer: Authorizer;
  readonly backend: string;
}

function asOfNow({
  currentGeneration,
  principal,
  endpoint,
  backend,
}: Omit<ResponseAudience, 'authorizer' | 'row'>): Now {
  const { authorizer, endpoints } = currentGeneration.now;
  return { authorizer, principal, endpoint: endpoints.get(endpoint.path) ?? endpoint, backend };
}

function refusedAsk(now: Now, ask: Pick<ServerRequest, 'row' | 'message'>): Failure | undefined {
  const { authorizer, endpoint, backend } = now;
  return authorizer.watchesAsks(endpoint, backend) ? authorizer.denyAsk(now, backend, ask) : undefined;
}

/** The backend gets the error of a client that cannot answer: a backend must not learn about the rules. */
function forBackend(failure: Failure): Failure {
  if (failure.reason !== 'policy_denied') return failure;
  return new Failure('ask_not_supported', { message: failure.message });
}

/** Filters what backends send to a session outside any call. */
export function filterSession(currentGeneration: CurrentGeneration, session: Session): void {
  const { principal, endpoint } = session;
  session.denyAsk = (backend, ask) => {
    const failure = refusedAsk({ authorizer: currentGeneration.now.authorizer, principal, endpoint, backend }, ask);
    return failure && forBackend(failure);
  };
  session.mayHear = (backend, said) =>
    hears({ authorizer: currentGeneration.now.authorizer, principal, endpoint, backend }, said);
}

/** Updates of a resource are for clients that may read it. */
export function hears(to: Now, notification: Notification): boolean {
  if (!to.authorizer.isShaping || notification.method !== 'notifications/resources/updated') return true;
  const uri = textMember(notification.bytes, notification.params, 'uri');
  return uri !== undefined && hearsOf(to, uri);
}

/** `uri` is the address that the endpoint lists. */
export function hearsOf(to: Now, uri: string): boolean {
  const { authorizer, backend, endpoint } = to;
  if (!authorizer.isShaping) return true;
  return authorizer.shows(to, backend, { kind: 'resource', name: uri, own: ownUri(endpoint, backend, uri) });
}

function settled(outcome: CallOutcome, to: ResponseAudience): CallOutcome {
  try {
    if (outcome.kind === 'failure') return outcome;
    const failure = refusedInput(outcome, to);
    if (failure !== undefined) return { kind: 'failure', failure };
    if (outcome.kind === 'error') return outcome;
    return { ...outcome, message: withoutHidden(outcome.message, outcome.vocabulary, to) };
  } catch (error) {
    // A result that cannot be checked is not passed on.
    return {
      kind: 'failure',
      failure: error instanceof Failure ? error : new Failure('internal_error', { cause: error }),
    };
  }
}

/**
 * A result can carry server requests, too: the call is over, and the next round brings the answers. Returns the failure
 * of the first one that is denied.
 */
function refusedInput(outcome: Exclude<CallOutcome, { kind: 'failure' }>, to: ResponseAudience): Failure | undefined {
  if (to.row.mayAsk !== true) return undefined;
  const now = asOfNow(to);
  if (!now.authorizer.watchesAsks(now.endpoint, now.backend)) return undefined;
  if (outcome.kind === 'error') {
    const visits = outcome.vocabulary === 'legacy' ? requiredVisits(outcome.message) : undefined;
    return visits === undefined ? undefined : refusedAsk(now, visit);
  }
  if (outcome.vocabulary !== 'modern' || resultType(outcome.message) !== 'input_required') return undefined;
  for (const request of readInputRequired(outcome.message).requests) {
    const failure = refusedAsk(now, request);
    if (failure !== undefined) return failure;
  }
  return undefined;
}

const visit = ownRequest('elicitation/create', { mode: 'url' });
