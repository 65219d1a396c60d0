/**
 * Serves a modern client. An `input_required` result is forwarded unchanged, and nothing is kept. If a backend sends a
 * server request during its call, the call becomes pending: the exchange settles with `input_required`, the call keeps
 * waiting, and the client's retry, a new exchange, attaches to it. If a backend ended its call because pages must be
 * visited first, the retry makes a new call.
 */
import { Failure } from '../errors/failure.ts';
import type { Call, CallOutcome, CallRequest, CallSink, Retry, ServerRequest } from '../exchange/call.ts';
import type { Clock } from '../exchange/clock.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { urgencyOf } from '../exchange/urgency.ts';
import type { Principal } from '../identity/principal.ts';
import type { Warn } from '../observe/ports.ts';
import { missingFor } from '../wire/capabilities.ts';
import { forwarded, spliceMessage } from '../wire/compose.ts';
import { isWanted } from '../wire/log-level.ts';
import type { ErrorResponse, Notification, ResultResponse } from '../wire/message.ts';
import { methodRow } from '../wire/methods.ts';
import type { Era } from '../wire/revisions.ts';
import { skimMessage } from '../wire/skim.ts';
import { admitsKind, nothingWanted, readFilter, type SubscriptionFilter } from '../wire/subscription-filter.ts';
import { asksForInput, member, textAt, textMember } from '../wire/values.ts';
import { completed, errorCode, errorFor, modernResult, modernStatus } from './era-translation.ts';
import { type InputQuestion, inputRequired } from './input-required.ts';
import { KeptForRetry, type KeptLimits, missingForAsk } from './kept-for-retry.ts';
import type { Claim, PendingCalls } from './pending-calls.ts';
import { RefusedCall } from './refused-call.ts';
import { type CallStarter, type Fault, type ResponderLimits, screened, withoutTasks } from './responder.ts';
import { declinedVisit, requiredVisits } from './url-elicitation.ts';

/** The client and the backend of an exchange. */
export interface Parties {
  readonly principal: Principal;
  /** The path of the endpoint. */
  readonly endpoint: string;
  readonly backend: string;
  /** The server's identity, for backends that do not put it into every result. */
  readonly serverInfo: unknown;
}

export interface ModernContext {
  readonly pendingCalls: PendingCalls;
  readonly limits: ResponderLimits & KeptLimits;
  readonly clock: Clock;
  readonly fault: Fault;
  readonly warn: Warn;
  /** Counts irregularities that were survived. */
  readonly count: (name: string) => void;
}

export class ModernResponder implements CallSink {
  readonly #context: ModernContext;
  readonly #parties: Parties;
  readonly #request: CallRequest;
  /** The latest request of the client: a retry may change the log level, or declare fewer capabilities. */
  #latest: CallRequest;
  /** Undefined while the call is pending. */
  #exchange: Exchange | undefined;
  #call: Call | undefined;
  #outcome: CallOutcome | undefined;
  /** Created for the first server request: nearly every call has none, and no call is pending without one. */
  #kept: KeptForRetry | undefined;
  #rounds: number;
  /** Set once the backend asked for something that the client did not declare. */
  #refusedCall: RefusedCall | undefined;
  /** Only for a subscription. */
  #acknowledged = false;
  #wanted: SubscriptionFilter | undefined;

  /** `rounds`: how many the request had before this call. */
  constructor(context: ModernContext, parties: Parties, exchange: Exchange, request: CallRequest, rounds = 0) {
    this.#context = context;
    this.#parties = parties;
    this.#exchange = exchange;
    this.#request = request;
    this.#latest = request;
    this.#rounds = rounds;
  }

  begin(calls: CallStarter): void {
    const exchange = this.#exchange;
    this.#call = calls.start(this.#request, this);
    exchange?.drivenBy(this.#call);
  }

  notify(notification: Notification): void {
    if (this.#exchange !== undefined) this.#send(this.#exchange, notification);
    else if (this.#kept?.addNotification(notification) !== true)
      this.#context.count('exchange.parked_notification_dropped');
  }

  pause(): void {
    // Streams of this era are not resumed: the connection stays open.
  }

  ask(ask: ServerRequest): void {
    const missing = missingForAsk(ask, this.#latest.client.capabilities);
    if (missing !== undefined || this.#refusedCall !== undefined || this.#request.row.mayAsk !== true) {
      ask.answer({ failure: new Failure('ask_not_supported') });
      // The backend knows the client's capabilities and demands more: the request cannot be processed without them.
      // https://modelcontextprotocol.io/specification/2026-07-28/basic#_meta
      // While the call is pending no request waits for it: only the question is refused.
      const exchange = this.#outcome === undefined ? this.#exchange : undefined;
      if (missing !== undefined && exchange !== undefined)
        this.#refusedCall ??= new RefusedCall(exchange, lacking(missing), this.#context.clock);
      return;
    }
    this.#kept ??= new KeptForRetry(this.#context.limits);
    if (!this.#kept.addAsk(ask)) {
      const failure = new Failure('round_too_large');
      ask.answer({ failure });
      this.#exchange?.abort(failure);
      return;
    }
    // Server requests that arrive together go to the client together.
    this.#context.clock.soon(() => this.#requireInput());
  }

  settle(outcome: CallOutcome): void {
    this.#outcome = outcome;
    this.#call = undefined;
    this.#kept?.dropAsks();
    const exchange = this.#exchange;
    if (exchange === undefined) return;
    if (this.#refusedCall !== undefined) {
      this.#refusedCall.ended();
      return;
    }
    const { row } = this.#request;
    try {
      this.#respond(
        exchange,
        row.list === undefined ? outcome : withoutTasks(screened(row, outcome, this.#context.warn)),
      );
    } catch (error) {
      exchange.fail(this.#context.fault(error));
    }
  }

  /** Attaches the client's retry. Server requests that it leaves unanswered are asked again. */
  resume(retry: Retry, request: CallRequest): void {
    const { exchange } = retry;
    if (exchange.settled) {
      this.abandon('The client has disconnected');
      return;
    }
    this.#exchange = exchange;
    this.#latest = request;
    this.#call?.hear?.(request.logLevel);
    this.#call?.continueAs?.(retry);
    exchange.drivenBy(this.#call);
    for (const notification of this.#kept?.takeNotifications() ?? []) this.#send(exchange, notification);
    if (this.#outcome !== undefined) {
      this.settle(this.#outcome);
      return;
    }
    this.#kept?.answer(exchange.request);
    if (this.#kept?.hasAsks) this.#context.clock.soon(() => this.#requireInput());
  }

  /** No retry will follow. */
  abandon(reason: string): void {
    this.#kept?.dropAsks();
    this.#call?.cancel(reason);
    this.#call = undefined;
  }

  #requireInput(): void {
    const exchange = this.#exchange;
    if (exchange === undefined || exchange.settled || this.#refusedCall !== undefined || !this.#kept?.hasAsks) return;
    const questions = this.#kept.questions();
    const missing = this.#kept.missing(this.#latest.client.capabilities);
    const state =
      (missing && lacking(missing)) ??
      this.#nextRound(questions) ??
      this.#context.pendingCalls.park(this, this.#claim(exchange), this.#parties.backend);
    if (state instanceof Failure) {
      exchange.abort(state);
      return;
    }
    this.#exchange = undefined;
    exchange.askFor(inputRequired(questions, state));
  }

  /** The same for pages that must be visited before a new call: no call is pending then. */
  #requireVisits(exchange: Exchange, questions: readonly InputQuestion[]): void {
    const missing = missingFor(visit, this.#latest.client.capabilities);
    const failure =
      (missing && lacking(missing)) ??
      // The user has declined already and is not asked again.
      (declinedVisit(exchange.request) ? new Failure('ask_declined') : this.#nextRound(questions));
    if (failure !== undefined) exchange.fail(failure);
    else {
      const state = this.#context.pendingCalls.anew(this.#claim(exchange), this.#rounds);
      exchange.askFor(inputRequired(questions, state));
    }
  }

  /** Starts a new round. Returns why there can be none. */
  #nextRound(questions: readonly InputQuestion[]): Failure | undefined {
    const { rounds, roundBytes } = this.#context.limits;
    if (++this.#rounds > rounds) return new Failure('too_many_rounds');
    const size = questions.reduce((sum, { params }) => sum + (params?.length ?? 0), 0);
    return size > roundBytes ? new Failure('round_too_large') : undefined;
  }

  #claim({ request }: Exchange): Claim {
    const { principal, endpoint } = this.#parties;
    return { principal, endpoint, request };
  }

  #send(exchange: Exchange, notification: Notification): void {
    if (this.#request.row.longLived) this.#sendSubscribed(exchange, notification);
    else if (notification.method === 'notifications/progress') exchange.sendProgress(notification);
    else if (notification.method === 'notifications/message') this.#sendLog(exchange, notification);
    // Unknown notifications pass: they are an extension of the backend. Known ones go to subscribers only.
    else if (methodRow(notification.method) === undefined)
      exchange.send(forwarded(notification), urgencyOf(notification));
    else this.#context.count('exchange.foreign_notification');
  }

  /**
   * Only for a request with a log level:
   * https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/logging
   */
  #sendLog(exchange: Exchange, notification: Notification): void {
    const { logLevel } = this.#latest;
    if (logLevel !== undefined && isWanted(notification, logLevel)) exchange.send(forwarded(notification), 'log');
  }

  /**
   * Sends nothing before the acknowledgement, and nothing that the client did not ask for, whatever the backend sends.
   * https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions#acknowledgment
   */
  #sendSubscribed(exchange: Exchange, notification: Notification): void {
    if (notification.method === 'notifications/subscriptions/acknowledged') this.#acknowledged = true;
    else {
      this.#wanted ??= readFilter(this.#request.message) ?? nothingWanted;
      if (!this.#acknowledged || !admitsKind(this.#wanted, notification.method)) {
        this.#context.count('exchange.foreign_notification');
        return;
      }
    }
    exchange.sendSubscribed(notification);
  }

  #respond(exchange: Exchange, outcome: CallOutcome): void {
    switch (outcome.kind) {
      case 'failure':
        exchange.fail(outcome.failure);
        return;
      case 'error':
        this.#refused(exchange, outcome);
        return;
      case 'result':
        if (this.#request.row.longLived) exchange.respondSubscribed(completed(outcome.message, this.#request.row));
        else if (outcome.vocabulary === 'modern') this.#respondModern(exchange, outcome.message);
        else
          exchange.respondResult(
            modernResult(outcome.message, this.#request.row, this.#parties.serverInfo),
            outcome.message,
          );
    }
  }

  #respondModern(exchange: Exchange, message: ResultResponse): void {
    const { row } = this.#request;
    // Nearly all results need no change.
    const isWhole = row.cacheable !== true && textMember(message.bytes, message.result, 'resultType') === 'complete';
    exchange.respond(isWhole ? message : this.#sealed(exchange, completed(message, row)));
  }

  /**
   * Where several principals share one credential, the backend cannot tell whose state comes back to it, so the state
   * is sealed for the principal that received it. Nothing is kept.
   */
  #sealed(exchange: Exchange, message: ResultResponse): ResultResponse {
    if (this.#parties.principal.kind === 'local' || !asksForInput(message)) return message;
    const span = member(message.result, 'requestState');
    if (span === undefined) return message;
    const sealed = this.#context.pendingCalls.seal(textAt(message.bytes, span), this.#claim(exchange));
    return skimMessage(spliceMessage(message, [{ span, with: JSON.stringify(sealed) }])) as ResultResponse;
  }

  #refused(exchange: Exchange, outcome: { readonly message: ErrorResponse; readonly vocabulary: Era }): void {
    const { row } = this.#request;
    const visits = outcome.vocabulary === 'legacy' && row.mayAsk === true ? requiredVisits(outcome.message) : undefined;
    if (visits !== undefined) {
      this.#requireVisits(exchange, visits);
      return;
    }
    const error = errorFor('modern', outcome, row, undefined);
    exchange.respond(error, modernStatus(errorCode(error)));
  }
}

/** The capability that a URL elicitation demands of a client. */
const visit = { method: 'elicitation/create', params: { mode: 'url' } };

function lacking(requiredCapabilities: Record<string, unknown>): Failure {
  return new Failure('missing_capability', { data: { requiredCapabilities } });
}
