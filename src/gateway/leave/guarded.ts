/**
 * What a backend says, on its way to somebody who may not hear everything: questions that it may not ask, changes of what the
 * client may not read, entries of lists that the client may not use.
 */
import { Failure } from '../../errors.ts';
import type { Endpoint } from '../../exchange/arrival.ts';
import { readInputRequired } from '../../exchange/bridge/inputs.ts';
import { requiredVisits } from '../../exchange/bridge/visits.ts';
import { resultType } from '../../exchange/bridge/vocabulary.ts';
import type { CallSink, Outcome } from '../../exchange/call.ts';
import { ownRequest } from '../../exchange/own-call.ts';
import type { Session } from '../../exchange/session.ts';
import type { Notification } from '../../wire/message.ts';
import type { MethodRow } from '../../wire/methods.ts';
import { member, stringAt } from '../../wire/values.ts';
import type { Leave, Onlooker } from './leave.ts';
import { withoutHidden } from './listed.ts';

export interface Guarded extends Onlooker {
  readonly leave: Leave;
  readonly backend: string;
  readonly row: MethodRow;
}

/** Whether there is anything to be kept back. */
export function isGuarded(leave: Leave, endpoint: Endpoint, backend: string): boolean {
  return leave.watchesAsks(endpoint, backend) || endpoint.profile.toolNames !== 'any';
}

/** The same sink where there is nothing to be kept back. */
export function guarded(sink: CallSink, to: Guarded): CallSink {
  const { leave, endpoint, backend } = to;
  if (!isGuarded(leave, endpoint, backend)) return sink;
  return {
    notify: (notification) => {
      if (hears(to, notification)) sink.notify(notification);
    },
    ask: (ask) => {
      const failure = leave.denyAsk(to, backend, ask);
      if (failure === undefined) sink.ask(ask);
      else ask.answer({ failure: forBackend(failure) });
    },
    pause: (retryMs) => sink.pause(retryMs),
    settle: (outcome) => sink.settle(settled(outcome, to)),
  };
}

/** It is told as if the client could not answer: which rules there are is none of a backend's business. */
function forBackend(failure: Failure): Failure {
  if (failure.reason !== 'policy_denied') return failure;
  return new Failure('ask_not_supported', { message: failure.message });
}

/** What comes to a session outside any call. */
export function guardSession(leave: Leave, session: Session): void {
  const { principal, endpoint } = session;
  if (endpoint.backends.every((backend) => !leave.watchesAsks(endpoint, backend))) return;
  const to = { principal, endpoint };
  session.denyAsk = (backend, ask) => {
    const failure = leave.denyAsk(to, backend, ask);
    return failure && forBackend(failure);
  };
  session.mayHear = (backend, said) => hears({ ...to, leave, backend }, said);
}

/** News of a resource are for those who may read it. */
export function hears(to: Omit<Guarded, 'row'>, notification: Notification): boolean {
  const { leave, backend } = to;
  if (!leave.isShaping || notification.method !== 'notifications/resources/updated') return true;
  const span = member(notification.params, 'uri');
  const uri = span && stringAt(notification.bytes, span);
  return uri !== undefined && leave.shows(to, backend, { kind: 'resource', name: uri });
}

function settled(outcome: Outcome, to: Guarded): Outcome {
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
function refusedInput(outcome: Exclude<Outcome, { kind: 'failure' }>, to: Guarded): Failure | undefined {
  const { leave, backend, endpoint } = to;
  if (to.row.mayAsk !== true || !leave.watchesAsks(endpoint, backend)) return undefined;
  if (outcome.kind === 'error') {
    const visits = outcome.vocabulary === 'legacy' ? requiredVisits(outcome.message) : undefined;
    return visits === undefined ? undefined : leave.denyAsk(to, backend, visit);
  }
  if (outcome.vocabulary !== 'modern' || resultType(outcome.message) !== 'input_required') return undefined;
  for (const request of readInputRequired(outcome.message).requests) {
    const failure = leave.denyAsk(to, backend, request);
    if (failure !== undefined) return failure;
  }
  return undefined;
}

const visit = ownRequest('elicitation/create', { mode: 'url' });
