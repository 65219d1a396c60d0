/**
 * Serves one exchange of a legacy client. A question in the middle of the call, whichever way the backend has of asking it,
 * becomes a JSON-RPC request on the exchange's own stream, and the exchange waits.
 */
import { Failure } from '../../errors.ts';
import { concat, type Raw } from '../../wire/compose.ts';
import type { Notification, ResultResponse } from '../../wire/message.ts';
import { member, stringAt } from '../../wire/values.ts';
import type { Ask, AskReply, CallRequest, CallSink, Outcome } from '../call.ts';
import type { Exchange } from '../exchange.ts';
import { isWanted } from '../log-level.ts';
import type { Session } from '../session.ts';
import { urgencyOf } from '../urgency.ts';
import { attempt, type DriveLimits, type Fault, type StartCall, screened, type Warn } from './drive.ts';
import { type InputRequest, readInputRequired } from './inputs.ts';
import { errorFor, legacyResult, resultType } from './vocabulary.ts';

export interface LegacyContext {
  readonly session: Session;
  readonly limits: DriveLimits;
  readonly fault: Fault;
  readonly warn: Warn;
}

export class LegacyDrive implements CallSink {
  readonly #session: Session;
  readonly #exchange: Exchange;
  readonly #request: CallRequest;
  readonly #start: StartCall;
  readonly #context: LegacyContext;
  #rounds = 0;

  constructor(context: LegacyContext, exchange: Exchange, request: CallRequest, start: StartCall) {
    this.#session = context.session;
    this.#exchange = exchange;
    this.#request = request;
    this.#start = start;
    this.#context = context;
  }

  begin(): void {
    this.#call(this.#request);
  }

  notify(notification: Notification): void {
    if (notification.method === 'notifications/progress') this.#exchange.sendProgress(notification);
    else if (isWanted(notification, this.#session.logLevel)) {
      this.#exchange.send(notification.bytes, urgencyOf(notification));
    }
  }

  ask(ask: Ask): void {
    if (this.#exchange.settled) ask.answer({ failure: new Failure('ask_not_supported') });
    else this.#session.asks.relay(ask, (message) => this.#exchange.send(message, 'keep'));
  }

  pause(retryMs: number | undefined): void {
    this.#exchange.pause(retryMs);
  }

  settle(outcome: Outcome): void {
    const { fault, warn } = this.#context;
    attempt(this.#exchange, fault, () => this.#respond(screened(outcome, this.#request.row, warn)));
  }

  #respond(outcome: Outcome): void {
    switch (outcome.kind) {
      case 'failure':
        // The session upstream was this session's other half: the client knows how to start again.
        this.#exchange.fail(
          outcome.failure.reason === 'backend_session_lost' ? new Failure('session_not_found') : outcome.failure,
        );
        return;
      case 'error': {
        const { message, vocabulary } = outcome;
        this.#exchange.respond(
          vocabulary === 'legacy' ? message : errorFor('legacy', message, this.#request.row, this.#uri()),
        );
        return;
      }
      case 'result':
        if (outcome.vocabulary === 'legacy') this.#exchange.respond(outcome.message);
        else this.#settleModern(outcome.message);
    }
  }

  #settleModern(message: ResultResponse): void {
    if (resultType(message) === 'input_required') this.#nextRound(message);
    else this.#exchange.respondResult(legacyResult(message));
  }

  /** The backend's questions, one by one, then the same request again with the answers and the exact state. */
  #nextRound(message: ResultResponse): void {
    if (++this.#rounds > this.#context.limits.rounds) {
      this.#exchange.fail(new Failure('too_many_rounds'));
      return;
    }
    const { requests, state } = readInputRequired(message);
    const answers = new Map<string, Raw>();
    const again = () =>
      this.#call({
        ...this.#request,
        round: { inputResponses: requests.length === 0 ? undefined : join(answers), requestState: state },
      });
    if (requests.length === 0) {
      again();
      return;
    }
    for (const request of requests) {
      this.ask(
        askOf(request, (reply) => {
          if (this.#exchange.settled) return;
          const answer = inputResponse(request, reply);
          if (answer instanceof Failure) {
            this.#exchange.fail(answer);
            return;
          }
          answers.set(request.key, answer);
          if (answers.size === requests.length) again();
        }),
      );
    }
  }

  #call(request: CallRequest): void {
    this.#exchange.drivenBy(this.#start(request, this));
  }

  #uri(): string | undefined {
    const uri = member(this.#request.message.params, 'uri');
    return uri && stringAt(this.#request.message.bytes, uri);
  }
}

function join(answers: ReadonlyMap<string, Raw>): Raw {
  const members = [...answers].flatMap(([key, answer]) => [',', JSON.stringify(key), ':', answer]);
  return concat(['{', ...members.slice(1), '}']);
}

/** An input request as a question that can be relayed. It cannot be taken back: its call is over. */
function askOf(input: InputRequest, answer: (reply: AskReply) => void): Ask {
  return { row: input.row, message: input.message, answer, onWithdrawn: () => undefined };
}

/**
 * There is no error form in `inputResponses`: an elicitation that failed was cancelled; without a sampled message or the roots
 * the request cannot go on.
 */
function inputResponse(request: InputRequest, reply: AskReply): Raw | Failure {
  if ('result' in reply) return reply.result;
  if (request.row.method === 'elicitation/create') return '{"action":"cancel"}';
  return 'failure' in reply ? reply.failure : new Failure('ask_failed');
}
