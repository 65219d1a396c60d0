/**
 * Serves a modern client. A backend that settles with `input_required` is passed on untouched, and nothing is held. A backend
 * that asks in the middle of its call has the call parked: the exchange settles with `input_required`, the call goes on
 * waiting, and the client's retry, which is a new exchange, attaches to it.
 */
import { Failure } from '../../errors.ts';
import type { Principal } from '../../identity/principal.ts';
import { missingFor } from '../../wire/capabilities.ts';
import { concat, type Raw, rewrite } from '../../wire/compose.ts';
import type { Notification, Request, ResultResponse } from '../../wire/message.ts';
import { methodRow } from '../../wire/methods.ts';
import { membersAt } from '../../wire/skim.ts';
import { member, slice, valueAt } from '../../wire/values.ts';
import type { Ask, Call, CallRequest, CallSink, Outcome } from '../call.ts';
import type { Clock } from '../clock.ts';
import type { Exchange } from '../exchange.ts';
import { isWanted } from '../log-level.ts';
import { urgencyOf } from '../urgency.ts';
import { attempt, type DriveLimits, type Fault, type StartCall, screened, type Warn } from './drive.ts';
import type { Parking } from './parking.ts';
import { admitsKind, nothingWanted, readFilter, type Wanted } from './subscriptions.ts';
import { completed, errorCode, errorFor, modernResult } from './vocabulary.ts';

/** Whom a drive serves, and by whom. */
export interface Parties {
  readonly principal: Principal;
  /** The path of the address that was called. */
  readonly endpoint: string;
  /** Who answers, for backends that do not say it in every result. */
  readonly serverInfo: unknown;
}

export interface ModernContext {
  readonly parking: Parking;
  readonly limits: DriveLimits & { readonly eventsPerStream: number; readonly eventBytesPerStream: number };
  readonly clock: Clock;
  readonly fault: Fault;
  readonly warn: Warn;
  /** What was survived is counted. */
  readonly count: (name: string) => void;
}

/** Members of an ask that the modern era does not have. */
const legacyAskMembers: ReadonlySet<string> = new Set(['elicitationId', 'task']);

export class ModernDrive implements CallSink {
  readonly #context: ModernContext;
  readonly #parties: Parties;
  readonly #request: CallRequest;
  /** Undefined while the call is parked. */
  #exchange: Exchange | undefined;
  #call: Call | undefined;
  /** What the backend said while nobody listened. */
  #buffered: Notification[] = [];
  #bufferedBytes = 0;
  #outcome: Outcome | undefined;
  readonly #asks = new Map<string, Ask>();
  #asked = 0;
  #rounds = 0;
  /** Of a subscription alone. */
  #acknowledged = false;
  #wanted: Wanted | undefined;

  constructor(context: ModernContext, parties: Parties, exchange: Exchange, request: CallRequest) {
    this.#context = context;
    this.#parties = parties;
    this.#exchange = exchange;
    this.#request = request;
  }

  begin(start: StartCall): void {
    const exchange = this.#exchange;
    this.#call = start(this.#request, this);
    exchange?.drivenBy(this.#call);
  }

  notify(notification: Notification): void {
    if (this.#exchange !== undefined) this.#send(this.#exchange, notification);
    else this.#keep(notification);
  }

  #keep(notification: Notification): void {
    const { eventsPerStream, eventBytesPerStream } = this.#context.limits;
    const size = notification.bytes.byteLength;
    if (this.#buffered.length >= eventsPerStream || this.#bufferedBytes + size > eventBytesPerStream) {
      this.#context.count('exchange.parked_notification_dropped');
      return;
    }
    this.#buffered.push(notification);
    this.#bufferedBytes += size;
  }

  pause(): void {
    // Streams of this era are not resumed: the connection stays open.
  }

  ask(ask: Ask): void {
    const params = ask.message.params;
    const question = { method: ask.row.method, params: params && valueAt(ask.message.bytes, params) };
    const missing = missingFor(question, this.#request.client.capabilities);
    if (missing !== undefined || this.#request.row.mayAsk !== true) {
      ask.answer({ failure: new Failure('ask_not_supported') });
      // It was told what the client can do, and asks for more: the request cannot be processed without it.
      // https://modelcontextprotocol.io/specification/2026-07-28/basic#_meta
      if (missing !== undefined)
        this.#exchange?.abort(new Failure('missing_capability', { data: { requiredCapabilities: missing } }));
      return;
    }
    const key = `ask-${++this.#asked}`;
    this.#asks.set(key, ask);
    ask.onWithdrawn(() => this.#asks.delete(key));
    // Questions that arrived together are put together.
    this.#context.clock.soon(() => this.#requireInput());
  }

  settle(outcome: Outcome): void {
    this.#outcome = outcome;
    this.#call = undefined;
    this.#asks.clear();
    const exchange = this.#exchange;
    if (exchange === undefined) return;
    const { fault, warn } = this.#context;
    attempt(exchange, fault, () => this.#respond(exchange, screened(outcome, this.#request.row, warn)));
  }

  /** The client came back. What it left unanswered is asked again. */
  resume(exchange: Exchange): void {
    if (exchange.settled) {
      this.abandon('The client is gone');
      return;
    }
    this.#exchange = exchange;
    exchange.drivenBy(this.#call);
    this.#bufferedBytes = 0;
    for (const notification of this.#buffered.splice(0)) this.#send(exchange, notification);
    if (this.#outcome !== undefined) {
      this.settle(this.#outcome);
      return;
    }
    for (const { key, result } of inputResponses(exchange.request)) {
      const ask = this.#asks.get(key);
      this.#asks.delete(key);
      ask?.answer({ result });
    }
    if (this.#asks.size > 0) this.#context.clock.soon(() => this.#requireInput());
  }

  /** Nobody comes back any more. */
  abandon(reason: string): void {
    this.#asks.clear();
    this.#call?.cancel(reason);
    this.#call = undefined;
  }

  #requireInput(): void {
    const exchange = this.#exchange;
    if (exchange === undefined || exchange.settled || this.#asks.size === 0) return;
    if (++this.#rounds > this.#context.limits.rounds) {
      exchange.abort(new Failure('too_many_rounds'));
      return;
    }
    const { principal, endpoint } = this.#parties;
    const state = this.#context.parking.park(this, { principal, endpoint, request: exchange.request });
    if (state instanceof Failure) {
      exchange.abort(state);
      return;
    }
    this.#exchange = undefined;
    exchange.respondResult(inputRequired(this.#asks, state));
  }

  #send(exchange: Exchange, notification: Notification): void {
    if (this.#request.row.longLived) this.#sendSubscribed(exchange, notification);
    else if (notification.method === 'notifications/progress') exchange.sendProgress(notification);
    else if (notification.method === 'notifications/message') this.#sendLog(exchange, notification);
    // What nobody here knows is the backend's own affair. All the others are told to who subscribed to them.
    else if (methodRow(notification.method) === undefined) exchange.send(notification.bytes, urgencyOf(notification));
    else this.#context.count('exchange.foreign_notification');
  }

  /** Only for a request that named a level: https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/logging */
  #sendLog(exchange: Exchange, notification: Notification): void {
    const { logLevel } = this.#request;
    if (logLevel !== undefined && isWanted(notification, logLevel)) exchange.send(notification.bytes, 'log');
  }

  /**
   * Nothing before the acknowledgement, and nothing that was not asked for, whatever the backend says.
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

  #respond(exchange: Exchange, outcome: Outcome): void {
    switch (outcome.kind) {
      case 'failure':
        exchange.fail(outcome.failure);
        return;
      case 'error': {
        const error = errorFor('modern', outcome, this.#request.row, undefined);
        exchange.respond(error, modernStatus(errorCode(error)));
        return;
      }
      case 'result':
        if (this.#request.row.longLived) exchange.respondSubscribed(completed(outcome.message, this.#request.row));
        else if (outcome.vocabulary === 'modern') exchange.respond(completed(outcome.message, this.#request.row));
        else this.#translate(exchange, outcome.message);
    }
  }

  #translate(exchange: Exchange, message: ResultResponse): void {
    exchange.respondTranslated(message, modernResult(message, this.#request.row, this.#parties.serverInfo));
  }
}

/** https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#protocol-version-header */
function modernStatus(code: number): number | undefined {
  if (code === -32601) return 404;
  return code === -32020 || code === -32021 || code === -32022 ? 400 : undefined;
}

function inputRequired(asks: ReadonlyMap<string, Ask>, state: string): Raw {
  const requests = [...asks].flatMap(([key, { row, message }]) => {
    const params =
      message.params && rewrite(message.bytes, message.params, { drop: (name) => legacyAskMembers.has(name) });
    const head = `,${JSON.stringify(key)}:{"method":${JSON.stringify(row.method)}`;
    return params === undefined ? [`${head}}`] : [`${head},"params":`, params, '}'];
  });
  const [first = '', ...rest] = requests;
  const members = [typeof first === 'string' ? first.slice(1) : first, ...rest];
  return concat([
    '{"resultType":"input_required","inputRequests":{',
    ...members,
    `},"requestState":${JSON.stringify(state)}}`,
  ]);
}

/** The answers of a retry, each as it was sent. */
function inputResponses(request: Request): readonly { readonly key: string; readonly result: Raw }[] {
  const responses = member(request.params, 'inputResponses');
  const answers = responses && membersAt(request.bytes, responses);
  return answers?.members.map((answer) => ({ key: answer.key, result: slice(request.bytes, answer) })) ?? [];
}
