/**
 * Serves one exchange of a legacy client. A server request during the call, in either era's form, becomes a JSON-RPC
 * request on the exchange's own stream, and the exchange waits.
 */
import { Failure } from '../errors/failure.ts';
import type { CallOutcome, CallRequest, CallSink, ServerRequest, ServerRequestReply } from '../exchange/call.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { AskTrace } from '../exchange/trace.ts';
import { urgencyOf } from '../exchange/urgency.ts';
import type { Warn } from '../observe/ports.ts';
import type { Named } from '../session/open-server-requests.ts';
import type { Session } from '../session/session.ts';
import { concat, forwarded, notificationBytes, type Raw } from '../wire/compose.ts';
import type { ErrorResponse, Notification, ResultResponse } from '../wire/message.ts';
import type { MethodRow } from '../wire/methods.ts';
import type { Era, Revision } from '../wire/revisions.ts';
import { hasCoreTasks } from '../wire/tasks.ts';
import { asksForInput, slice, textMember } from '../wire/values.ts';
import { degrade, type ObjectPlace, placeOf, withObjectSchemas } from './degrade.ts';
import { errorCode, errorFor, legacyResult } from './era-translation.ts';
import { type InputRequest, readInputRequired } from './input-required.ts';
import { type CallStarter, type Fault, type ResponderLimits, screened, withoutTasks } from './responder.ts';
import { isOlder, olderError } from './revision-compat.ts';

const HEADER_MISMATCH = -32020;

export interface LegacyContext {
  readonly session: Session;
  readonly limits: ResponderLimits;
  readonly fault: Fault;
  readonly warn: Warn;
  /** Calls of the backend's tools can be made as tasks of 2025-11-25. */
  readonly runsTasks: boolean;
  /**
   * The `Mcp-Param-*` headers of the call, where the backend needs them. `again`: the backend refused the previous
   * ones.
   */
  readonly paramHeaders?: ((again: boolean) => Promise<Record<string, string>>) | undefined;
}

export class LegacyResponder implements CallSink {
  readonly #session: Session;
  readonly #exchange: Exchange;
  readonly #request: CallRequest;
  readonly #calls: CallStarter;
  readonly #context: LegacyContext;
  #rounds = 0;
  #paramHeaders: Record<string, string> | undefined;
  #refused = false;
  /** URL elicitations that the user accepted, by the ids that they were given here. */
  #visits: string[] | undefined = undefined;
  /** The request of the current round. */
  #latest: CallRequest;

  constructor(context: LegacyContext, exchange: Exchange, request: CallRequest, calls: CallStarter) {
    this.#session = context.session;
    this.#exchange = exchange;
    this.#request = request;
    this.#latest = request;
    this.#calls = calls;
    this.#context = context;
  }

  begin(): void {
    if (this.#context.paramHeaders === undefined) this.#call(this.#request);
    else this.#callWithHeaders(this.#request, false);
  }

  notify(notification: Notification): void {
    if (notification.method === 'notifications/progress') this.#exchange.sendProgress(notification);
    else if (this.#session.hears(notification)) {
      this.#exchange.send(forwarded(notification), urgencyOf(notification));
    }
  }

  ask(ask: ServerRequest, named?: Named): void {
    const { carries, settled } = this.#exchange;
    // A client that reads this response as JSON may have other streams open. If it has none, the server request could
    // never be answered.
    const hasWay = carries || this.#session.isReachable;
    if (settled || !hasWay) ask.answer({ failure: new Failure('ask_not_supported') });
    else this.#session.asks.relay(ask, (message) => this.#put(message), named);
  }

  /** Sends a server request or its cancellation; the latter may come after the call. */
  #put(message: Uint8Array): void {
    const { carries, settled } = this.#exchange;
    if (carries && !settled) this.#exchange.send(message, 'keep');
    else this.#session.put(message);
  }

  pause(retryMs: number | undefined): void {
    this.#exchange.pause(retryMs);
  }

  settle(outcome: CallOutcome): void {
    const { row } = this.#request;
    try {
      if (this.#triesAgain(outcome)) return;
      this.#respond(row.list === undefined ? outcome : this.#listed(outcome));
    } catch (error) {
      this.#exchange.fail(this.#context.fault(error));
    }
  }

  #listed(outcome: CallOutcome): CallOutcome {
    const list = screened(this.#request.row, outcome, this.#context.warn);
    return this.#context.runsTasks && hasCoreTasks(this.#session.client.revision) ? list : withoutTasks(list);
  }

  #respond(outcome: CallOutcome): void {
    switch (outcome.kind) {
      case 'failure':
        // The client's session depends on the lost upstream session. The client knows how to start a new one.
        this.#exchange.fail(
          outcome.failure.reason === 'backend_session_lost' ? new Failure('session_not_found') : outcome.failure,
        );
        return;
      case 'error':
        this.#respondError(outcome);
        return;
      case 'result':
        if (outcome.vocabulary === 'modern' && asksForInput(outcome.message)) {
          this.#nextRound(outcome.message);
        } else this.#complete(outcome.message, outcome.vocabulary);
    }
  }

  #respondError(outcome: { readonly message: ErrorResponse; readonly vocabulary: Era }): void {
    const { message, vocabulary } = outcome;
    if (vocabulary === 'modern') {
      const { row, message: request } = this.#request;
      this.#exchange.respond(errorFor('legacy', outcome, row, textMember(request.bytes, request.params, 'uri')));
      return;
    }
    const unknown = olderError(this.#session.client.revision, errorCode(message));
    if (unknown === undefined) this.#exchange.respond(message);
    else this.#exchange.fail(unknown);
  }

  #complete(message: ResultResponse, vocabulary: Era): void {
    if (this.#visits !== undefined) this.#reportVisits(this.#visits);
    const result = resultFor(this.#session.client.revision, this.#request.row, message, vocabulary);
    if (result === undefined) this.#exchange.respond(message);
    else this.#exchange.respondResult(result, message);
  }

  #visited(elicitationId: string): void {
    this.#visits ??= [];
    this.#visits.push(elicitationId);
  }

  /**
   * The result proves that the pages were visited. Modern backends do not notify of that, but clients that got an id
   * may wait for it.
   */
  #reportVisits(visits: readonly string[]): void {
    this.#visits = undefined;
    for (const elicitationId of visits) {
      const params = JSON.stringify({ elicitationId });
      this.#exchange.send(notificationBytes('notifications/elicitation/complete', params), 'keep');
    }
  }

  /**
   * Sends the backend's input requests to the client, then repeats the request with the answers and the exact state.
   */
  #nextRound(message: ResultResponse): void {
    if (++this.#rounds > this.#context.limits.rounds) {
      this.#exchange.fail(new Failure('too_many_rounds'));
      return;
    }
    const { roundBytes } = this.#context.limits;
    const { requests, state } = readInputRequired(message);
    if (message.bytes.byteLength > roundBytes) {
      this.#exchange.fail(new Failure('round_too_large'));
      return;
    }
    const answers = new Map<string, Raw>();
    let answered = 0;
    const again = () =>
      this.#call({
        ...this.#request,
        round: { inputResponses: requests.length === 0 ? undefined : join(answers), requestState: state },
      });
    if (requests.length === 0) {
      again();
      return;
    }
    // While they are open, a cancellation must withdraw them here: their call is over, so nothing else would.
    const withdrawals: (() => void)[] = [];
    const takeBack = () => {
      for (const withdraw of withdrawals) withdraw();
    };
    this.#exchange.drivenBy({ cancel: takeBack });
    const giveUp = (failure: Failure) => {
      this.#exchange.fail(failure);
      takeBack();
    };
    for (const request of requests) {
      let visit: string | undefined;
      const ask = askOf(request, this.#request.trace, withdrawals, (reply) => {
        if (this.#exchange.settled) return;
        const answer = inputResponse(request, reply);
        if (answer instanceof Failure) {
          giveUp(answer);
          return;
        }
        answered += answer.length;
        if (answered > roundBytes) {
          giveUp(new Failure('round_too_large'));
          return;
        }
        if (visit !== undefined && isAccepted(answer)) this.#visited(visit);
        answers.set(request.key, answer);
        if (answers.size === requests.length) again();
      });
      this.ask(ask, (elicitationId) => {
        visit = elicitationId;
      });
    }
  }

  #call(request: CallRequest): void {
    this.#latest = request;
    const paramHeaders = this.#paramHeaders;
    const sent = paramHeaders === undefined ? request : { ...request, paramHeaders };
    this.#exchange.drivenBy(this.#calls.start(sent, this));
  }

  #callWithHeaders(request: CallRequest, again: boolean): void {
    const { fault, paramHeaders } = this.#context;
    paramHeaders?.(again).then(
      (headers) => {
        this.#paramHeaders = headers;
        if (!this.#exchange.settled) this.#call(request);
      },
      (error: unknown) => this.#exchange.fail(fault(error)),
    );
  }

  /**
   * The backend's schema has changed since it was read: reads it again, once.
   * https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#client-behavior
   */
  #triesAgain(outcome: CallOutcome): boolean {
    const stale =
      outcome.kind === 'error' && outcome.vocabulary === 'modern' && errorCode(outcome.message) === HEADER_MISMATCH;
    if (!stale || this.#refused || this.#context.paramHeaders === undefined) return false;
    this.#refused = true;
    this.#callWithHeaders(this.#latest, true);
    return true;
  }
}

/** The result in the client's era and revision; undefined where it can stay as it is. */
function resultFor(revision: Revision, row: MethodRow, message: ResultResponse, vocabulary: Era): Raw | undefined {
  const translated = vocabulary === 'modern' ? legacyResult(message) : undefined;
  const schemas = vocabulary === 'modern' && row.list === 'tools';
  if (!schemas && !isOlder(revision, row.method)) return translated;
  const bytes = concat([translated ?? slice(message.bytes, message.result)]);
  const wrapped = schemas ? changedBy(withObjectSchemas, bytes) : undefined;
  return changedBy((result) => degrade(row.method, result, revision), wrapped ?? bytes) ?? wrapped ?? translated;
}

function changedBy(change: (result: ObjectPlace) => Buffer | undefined, bytes: Uint8Array): Buffer | undefined {
  const place = placeOf(bytes);
  return place && change(place);
}

function join(answers: ReadonlyMap<string, Raw>): Raw {
  const members = [...answers].flatMap(([key, answer]) => [',', JSON.stringify(key), ':', answer]);
  return concat(['{', ...members.slice(1), '}']);
}

/** Makes an input request a server request that can be relayed and withdrawn. */
function askOf(
  input: InputRequest,
  trace: AskTrace | undefined,
  withdrawals: (() => void)[],
  answer: (reply: ServerRequestReply) => void,
): ServerRequest {
  const { row, message } = input;
  return { row, message, trace, answer, onWithdrawn: (listener) => void withdrawals.push(listener) };
}

function isAccepted(answer: Raw): boolean {
  const place = placeOf(concat([answer]));
  return place !== undefined && textMember(place.bytes, place.object, 'action') === 'accept';
}

/**
 * `inputResponses` has no form for errors. A failed elicitation counts as cancelled; without a sampled message or the
 * roots, the request cannot continue.
 */
function inputResponse(request: InputRequest, reply: ServerRequestReply): Raw | Failure {
  if ('result' in reply) return reply.result;
  // The user cancelled nothing: the client's revision does not have this server request, and the client gets that
  // error.
  if ('failure' in reply && reply.failure.reason === 'revision_too_old') return reply.failure;
  if (request.row.method === 'elicitation/create') return '{"action":"cancel"}';
  return 'failure' in reply ? reply.failure : new Failure('ask_failed');
}
