/**
 * For tools of 2025-11-25 that run only as tasks, where the client did not ask for one: the gateway makes the call as
 * a task, waits for its result on the same upstream session, and answers with it. The client sees an ordinary call:
 * progress and server requests come on its stream. A tool that is not listed as running as a task is never called as
 * one: its errors may come after it ran, and it must not run twice.
 * https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#tool-level-negotiation
 */
import { errorCode } from '../../bridge/era-translation.ts';
import { Failure } from '../../errors/failure.ts';
import type { Call, CallOutcome, CallRequest, CallSink, ServerRequest } from '../../exchange/call.ts';
import { LateCall } from '../../exchange/late-call.ts';
import { callOnce, ownRequest } from '../../exchange/own-call.ts';
import type { Discovery } from '../../exchange/upstream-session.ts';
import { namedTask } from '../../session/session-tasks.ts';
import type { UpstreamLease } from '../../upstream/upstream-pool.ts';
import type { Notification } from '../../wire/message.ts';
import {
  cancelsTasks,
  createdTaskId,
  taskStatus,
  taskSupport,
  withoutOwnId,
  withoutRelatedTask,
} from '../../wire/tasks.ts';
import { textMember } from '../../wire/values.ts';
import type { RequestContext } from '../context.ts';
import { readerOf } from '../resolve.ts';
import type { StageServices } from '../services.ts';

/** What the specification lets a server answer to a plain call of such a tool, before it runs. */
const refusals: ReadonlySet<number> = new Set([-32601, -32600]);

/**
 * Cancelled calls at one backend that wait for their tasks, to cancel those. Beyond that a call is cancelled like any
 * other: clients could make and cancel calls without end.
 */
const MOST_DROPPED = 64;
const dropped = new WeakMap<Discovery, number>();

/** How calls are made on one upstream session. */
export interface TaskWaitOptions {
  readonly discovery: Discovery;
  /** The lifetime that the task is asked for. */
  readonly ttlMs: number;
  start(request: CallRequest, sink: CallSink): Call;
  /** Keeps the session for as long as the task needs it. Absent where the client's own session keeps it. */
  hold?(): () => void;
}

export class TaskWait implements Call, CallSink {
  readonly #options: TaskWaitOptions;
  readonly #request: CallRequest;
  readonly #sink: CallSink;
  /** `dropped`: cancelled before the backend said which task it made. */
  #state: 'plain' | 'making' | 'dropped' | 'waiting' | 'over' = 'plain';
  #call: Call | undefined;
  #task: string | undefined;
  #mayBeTask = false;
  #release: (() => void) | undefined;

  constructor(options: TaskWaitOptions, request: CallRequest, sink: CallSink) {
    this.#options = options;
    this.#request = request;
    this.#sink = sink;
  }

  /** `support`: what the backend lists of the tool (`taskSupport`). */
  begin(support: string | undefined): this {
    this.#release = this.#options.hold?.();
    this.#mayBeTask = support === 'optional';
    if (support === 'required') this.#make();
    else this.#start(this.#request);
    return this;
  }

  hear(logLevel: string | undefined): void {
    this.#call?.hear?.(logLevel);
  }

  cancel(reason?: string): void {
    if (this.#state === 'over' || this.#state === 'dropped') return;
    // What becomes a task is cancelled as one:
    // https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/cancellation#behavior-requirements
    const { discovery } = this.#options;
    const before = dropped.get(discovery) ?? 0;
    if (this.#state === 'making' && before < MOST_DROPPED) {
      dropped.set(discovery, before + 1);
      this.#state = 'dropped';
      return;
    }
    this.#call?.cancel(reason);
    this.#cancelTask();
    this.#end();
  }

  notify(notification: Notification): void {
    if (this.#state === 'dropped') return;
    if (this.#state === 'plain') this.#sink.notify(notification);
    else if (notification.method !== taskStatus) this.#sink.notify(withoutRelatedTask(notification));
  }

  ask(ask: ServerRequest): void {
    if (this.#state === 'dropped') ask.answer({ failure: new Failure('ask_not_supported') });
    else this.#sink.ask(this.#state === 'plain' ? ask : namedTask(ask, withoutRelatedTask(ask.message)));
  }

  pause(retryMs: number | undefined): void {
    this.#sink.pause(retryMs);
  }

  settle(outcome: CallOutcome): void {
    const mayBeMade = this.#state === 'plain' && this.#mayBeTask;
    if (mayBeMade && outcome.kind === 'error' && refusals.has(errorCode(outcome.message))) {
      this.#make();
      return;
    }
    if (this.#state === 'dropped') {
      const { discovery } = this.#options;
      dropped.set(discovery, (dropped.get(discovery) ?? 1) - 1);
      this.#task = outcome.kind === 'result' ? createdTaskId(outcome.message) : undefined;
      this.#cancelTask();
      this.#end();
      return;
    }
    const task = this.#state === 'making' && outcome.kind === 'result' ? createdTaskId(outcome.message) : undefined;
    if (task !== undefined) {
      this.#state = 'waiting';
      this.#task = task;
      const { client, logLevel, trace } = this.#request;
      this.#start({ ...ownRequest('tasks/result', { taskId: task }, client), logLevel, trace });
      return;
    }
    if (outcome.kind === 'failure') this.#cancelTask();
    const isPlain = this.#state === 'plain';
    this.#end();
    this.#sink.settle(isPlain ? outcome : this.#ofCall(outcome));
  }

  /** What the task ended with, for a client that knows of no task. */
  #ofCall(outcome: CallOutcome): CallOutcome {
    if (outcome.kind === 'result')
      return { kind: 'result', message: withoutRelatedTask(outcome.message), vocabulary: 'legacy' };
    if (outcome.kind === 'failure') return outcome;
    return { ...outcome, message: withoutOwnId(outcome.message, this.#task ?? '', '(task)') };
  }

  #make(): void {
    this.#state = 'making';
    this.#start({ ...this.#request, task: JSON.stringify({ ttl: this.#options.ttlMs }) });
  }

  #start(request: CallRequest): void {
    this.#call = this.#options.start(request, this);
  }

  #end(): void {
    this.#state = 'over';
    this.#call = undefined;
    this.#release?.();
    this.#release = undefined;
  }

  /** No one waits for its result any more. */
  #cancelTask(): void {
    const { discovery, start } = this.#options;
    if (this.#task === undefined || !cancelsTasks(discovery)) return;
    const request = ownRequest('tasks/cancel', { taskId: this.#task }, this.#request.client);
    callOnce((sink) => start(request, sink)).catch(() => undefined);
  }
}

interface OnUpstream {
  readonly upstream: UpstreamLease;
  start(request: CallRequest, sink: CallSink): Call;
}

/** Some servers refuse a plain call with a tool error, so the list is asked: it is read once, and then known. */
export function waitingForTask(
  services: StageServices,
  context: RequestContext,
  { upstream, start }: OnUpstream,
  request: CallRequest,
  sink: CallSink,
): Call {
  const { limits, lists } = services.shared;
  const { discovery, hold } = upstream;
  const options = { discovery, ttlMs: limits.totalMs, start, ...(hold && { hold }) };
  const { bytes, params } = request.message;
  const name = textMember(bytes, params, 'name');
  const listed = async () => {
    const tools = await lists.parts.entriesOf(context.resolved.backend, readerOf(services, context));
    const tool = tools.find(({ key }) => key === name);
    return tool && taskSupport(tool.bytes);
  };
  // What is not known of its list says nothing of the tool.
  const support = listed().catch(() => undefined);
  const release = () => upstream.release?.();
  return LateCall.after(support, sink, (is) => new TaskWait(options, request, sink).begin(is), release);
}
