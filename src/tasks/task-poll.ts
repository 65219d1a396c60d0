/**
 * Waits for a task of a modern backend in the place of a client that has no tasks: polls it, passes its questions on as
 * server requests, and answers with the result that the call would have had.
 * https://github.com/modelcontextprotocol/ext-tasks: Task Polling
 */
import { Failure } from '../errors/failure.ts';
import type { Call, CallOutcome, CallRequest, CallSink, ServerRequest, ServerRequestReply } from '../exchange/call.ts';
import type { Clock } from '../exchange/clock.ts';
import { callOnce, ownRequest } from '../exchange/own-call.ts';
import { concat, notificationBytes, type Raw, requestBytes, resultBytes } from '../wire/compose.ts';
import type { Notification, Request, ResultResponse } from '../wire/message.ts';
import { skimMessage } from '../wire/skim.ts';
import { member, slice, textMember, valueAt } from '../wire/values.ts';
import { inputsOf, ownTaskId } from './task-message.ts';

/** A backend that wants to be polled more often is polled this often. */
const LEAST_MS = 250;
/** The end of a task is noticed at most this much later. */
const MOST_MS = 60_000;
/** Where the backend names no interval. */
const USUAL_MS = 1_000;
/** Polls that may fail one after the other: the task goes on without them. */
const FAILURES = 3;
/** Questions of one task, as many as a call may have rounds. */
const QUESTIONS = 256;

export interface TaskPollOptions {
  readonly clock: Clock;
  /** One whole call, without the time that it waits for a person. */
  readonly totalMs: number;
  /** Starts a call at the backend of the task. */
  start(request: CallRequest, sink: CallSink): Call;
}

export class TaskPoll implements Call, CallSink {
  readonly #options: TaskPollOptions;
  /** Declares tasks. */
  readonly #request: CallRequest;
  readonly #sink: CallSink;
  #call: Call | undefined;
  #stopWaiting: (() => void) | undefined;
  #taskId: string | undefined;
  #isOver = false;
  #failures = 0;
  #waitedMs = 0;
  #steps = 0;
  #said: string | undefined;
  readonly #asked = new Set<string>();
  /** Questions that are not answered, each with what withdraws it. */
  readonly #open = new Map<string, () => void>();

  constructor(options: TaskPollOptions, request: CallRequest, sink: CallSink) {
    this.#options = options;
    this.#request = request;
    this.#sink = sink;
  }

  begin(): this {
    this.#call = this.#options.start(this.#request, this);
    return this;
  }

  hear(logLevel: string | undefined): void {
    this.#call?.hear?.(logLevel);
  }

  cancel(reason?: string): void {
    if (this.#isOver) return;
    this.#call?.cancel(reason);
    this.#cancelTask();
    this.#end();
  }

  notify(notification: Notification): void {
    if (!this.#isOver) this.#sink.notify(notification);
  }

  ask(ask: ServerRequest): void {
    this.#sink.ask(ask);
  }

  pause(retryMs: number | undefined): void {
    this.#sink.pause(retryMs);
  }

  settle(outcome: CallOutcome): void {
    if (this.#isOver) return;
    this.#call = undefined;
    try {
      if (this.#taskId !== undefined) this.#polled(outcome);
      else if (outcome.kind === 'result' && outcome.type === 'task') this.#made(outcome.message);
      else this.#finish(outcome);
    } catch (error) {
      this.#giveUp(error instanceof Failure ? error : new Failure('internal_error', { cause: error }));
    }
  }

  #made(message: ResultResponse): void {
    this.#taskId = ownTaskId(message.bytes, message.result);
    this.#wait(message);
  }

  #wait(message?: ResultResponse): void {
    const ms = intervalOf(message);
    if (this.#open.size === 0) this.#waitedMs += ms;
    if (this.#waitedMs > this.#options.totalMs) {
      this.#giveUp(new Failure('backend_timeout'));
      return;
    }
    this.#stopWaiting = this.#options.clock.after(ms, () => {
      const { client, trace } = this.#request;
      this.#call = this.#options.start({ ...ownRequest('tasks/get', { taskId: this.#taskId }, client), trace }, this);
    });
  }

  #polled(outcome: CallOutcome): void {
    if (outcome.kind !== 'result') {
      this.#failures += 1;
      if (outcome.kind === 'error') this.#finish({ kind: 'failure', failure: new Failure('task_ended') });
      else if (this.#failures >= FAILURES) this.#giveUp(outcome.failure);
      else this.#wait();
      return;
    }
    this.#failures = 0;
    const { bytes, result } = outcome.message;
    switch (textMember(bytes, result, 'status')) {
      case 'completed':
        this.#finish({ kind: 'result', message: resultOf(outcome.message), vocabulary: 'modern' });
        return;
      case 'failed':
        this.#finish(errorOf(outcome.message));
        return;
      case 'cancelled':
        this.#finish({ kind: 'failure', failure: new Failure('task_ended') });
        return;
      case 'input_required':
        this.#askFor(outcome.message);
        break;
      case 'working':
        break;
      default:
        throw new Failure('backend_invalid', { message: 'The backend sent a task without a known status' });
    }
    if (this.#isOver) return;
    this.#tellProgress(outcome.message);
    this.#wait(outcome.message);
  }

  /** Keys are never used twice, so each is asked once. A question that is gone was settled otherwise. */
  #askFor({ bytes, result }: ResultResponse): void {
    const inputs = inputsOf(bytes, result);
    const keys = new Set(inputs.map(({ key }) => key));
    for (const [key, withdraw] of [...this.#open]) if (!keys.has(key)) withdraw();
    for (const { key, row, message } of inputs) {
      if (this.#isOver || this.#asked.has(key)) continue;
      if (this.#asked.size >= QUESTIONS) throw new Failure('too_many_rounds');
      this.#asked.add(key);
      let tellWithdrawn: () => void = () => undefined;
      this.#open.set(key, () => {
        this.#open.delete(key);
        tellWithdrawn();
      });
      this.#sink.ask({
        row,
        message,
        trace: this.#request.trace,
        answer: (reply) => this.#answer(key, row.method, reply),
        onWithdrawn: (listener) => {
          tellWithdrawn = listener;
        },
      });
    }
  }

  /** An elicitation that failed counts as cancelled. Without a sampled message or the roots the task cannot go on. */
  #answer(key: string, method: string, reply: ServerRequestReply): void {
    if (this.#isOver || !this.#open.delete(key)) return;
    if (!('result' in reply) && method !== 'elicitation/create') {
      this.#giveUp('failure' in reply ? reply.failure : new Failure('ask_failed'));
      return;
    }
    const answer = 'result' in reply ? reply.result : '{"action":"cancel"}';
    this.#tell(this.#updateOf(key, answer));
  }

  #updateOf(key: string, answer: Raw): CallRequest {
    const request = ownRequest('tasks/update', {}, this.#request.client);
    const head = `{"taskId":${JSON.stringify(this.#taskId)},"inputResponses":{${JSON.stringify(key)}:`;
    const message = skimMessage(requestBytes('1', 'tasks/update', concat([head, answer, '}}']))) as Request;
    return { ...request, message };
  }

  /** Status texts become progress. The number only grows: how far the task has come is not known. */
  #tellProgress({ bytes, result }: ResultResponse): void {
    const message = textMember(bytes, result, 'statusMessage');
    if (!this.#request.progress || message === undefined || message === this.#said) return;
    this.#said = message;
    const params = JSON.stringify({ progressToken: 0, progress: ++this.#steps, message });
    this.#sink.notify(skimMessage(notificationBytes('notifications/progress', params)) as Notification);
  }

  #giveUp(failure: Failure): void {
    this.#cancelTask();
    this.#finish({ kind: 'failure', failure });
  }

  #finish(outcome: CallOutcome): void {
    this.#end();
    this.#sink.settle(outcome);
  }

  #end(): void {
    this.#isOver = true;
    this.#call = undefined;
    this.#stopWaiting?.();
    for (const withdraw of [...this.#open.values()]) withdraw();
  }

  #cancelTask(): void {
    if (this.#taskId !== undefined)
      this.#tell(ownRequest('tasks/cancel', { taskId: this.#taskId }, this.#request.client));
  }

  /** What the answer is, the next poll shows. */
  #tell(request: CallRequest): void {
    callOnce((sink) => this.#options.start(request, sink)).catch(() => undefined);
  }
}

function intervalOf(message: ResultResponse | undefined): number {
  const span = message && member(message.result, 'pollIntervalMs');
  const wanted = span && message && valueAt(message.bytes, span);
  const ms = typeof wanted === 'number' && Number.isFinite(wanted) ? wanted : USUAL_MS;
  return Math.min(MOST_MS, Math.max(LEAST_MS, ms));
}

/** What the call would have returned. */
function resultOf({ bytes, result }: ResultResponse): ResultResponse {
  const span = member(result, 'result');
  const message = span && skimMessage(resultBytes('1', slice(bytes, span)));
  if (message?.kind === 'result') return message;
  throw new Failure('backend_invalid', { message: 'The backend sent a completed task without a result' });
}

function errorOf({ bytes, result }: ResultResponse): CallOutcome {
  const span = member(result, 'error');
  const head = '{"jsonrpc":"2.0","id":1,"error":';
  const message = span && skimMessage(concat([head, slice(bytes, span), '}']));
  if (message?.kind === 'error') return { kind: 'error', message, vocabulary: 'modern' };
  throw new Failure('backend_invalid', { message: 'The backend sent a failed task without an error' });
}
