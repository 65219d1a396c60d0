/**
 * What a backend says, on its way to somebody who may not hear everything: questions that it may not ask, changes of what the
 * client may not read, entries of lists that the client may not use.
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
  /** That allowed the call: what is shown of its answer is decided by the same rules. */
  readonly authorizer: Authorizer;
  /** For what the backend asks meanwhile: that is decided by the rules of the moment. */
  readonly currentGeneration: CurrentGeneration;
  readonly backend: string;
  readonly row: MethodRow;
}

/** Hears a backend for somebody. What is in force may change while it does. */
export function filterResponse(sink: CallSink, to: ResponseAudience): CallSink {
  return new ResponseFilter(sink, to);
}

/** One is made for every call: as little as possible is done where there is nothing to be kept back. */
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

/** It is told as if the client could not answer: which rules there are is none of a backend's business. */
function forBackend(failure: Failure): Failure {
  if (failure.reason !== 'policy_denied') return failure;
  return new Failure('ask_not_supported', { message: failure.message });
}

/** What comes to a session outside any call. */
export function filterSession(currentGeneration: CurrentGeneration, session: Session): void {
  const { principal, endpoint } = session;
  session.denyAsk = (backend, ask) => {
    const failure = refusedAsk({ authorizer: currentGeneration.now.authorizer, principal, endpoint, backend }, ask);
    return failure && forBackend(failure);
  };
  session.mayHear = (backend, said) =>
    hears({ authorizer: currentGeneration.now.authorizer, principal, endpoint, backend }, said);
}

/** News of a resource are for those who may read it. */
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
    // What cannot be judged is not passed on.
    return {
      kind: 'failure',
      failure: error instanceof Failure ? error : new Failure('internal_error', { cause: error }),
    };
  }
}

/** A call that is over and wants answers before the next one asks as well. Of several questions the first that may not be asked. */
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
