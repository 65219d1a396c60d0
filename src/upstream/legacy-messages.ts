/**
 * What a legacy backend sends of its own accord, on the streams of calls and outside of them: server requests and
 * notifications. Finds the call or the session that each belongs to.
 */
import { Failure } from '../errors/failure.ts';
import { BoundedMap } from '../exchange/bounded-map.ts';
import type { UpstreamSessionSink } from '../exchange/upstream-session.ts';
import { ambiguousQuestion } from '../wire/ambiguity.ts';
import { errorBytes, failureBytes, resultBytes } from '../wire/compose.ts';
import type { Notification, Request } from '../wire/message.ts';
import { methodRow } from '../wire/methods.ts';
import { era } from '../wire/revisions.ts';
import { changedList } from '../wire/subscription-filter.ts';
import { relatedTask, taskIdIn } from '../wire/tasks.ts';
import { idIn } from '../wire/values.ts';
import { asFailure } from './as-failure.ts';
import { METHOD_NOT_FOUND } from './codes.ts';
import type { LegacyUpstreamSession } from './legacy.ts';
import type { LegacyCall } from './legacy-call.ts';
import { OpenServerRequests } from './open-server-requests.ts';
import { type Reception, receptionOf } from './reception.ts';
import type { CallEnding, RunningCall } from './running.ts';
import type { ListRelay } from './standalone-state.ts';

/** Tasks of one session whose progress is passed on. */
const TASKS = 1_024;

export class LegacyMessages {
  /** Opened for a modern client: log levels are per request, and nothing outside of requests reaches it. */
  forModern = false;
  /** A server request arrived outside the stream of the call that may have caused it. */
  asksElsewhere = false;
  readonly #session: LegacyUpstreamSession;
  readonly #sink: UpstreamSessionSink;
  readonly #relay: ListRelay;
  readonly #asksPerSession: number;
  /** Progress tokens of calls that made tasks. */
  #ofTasks: BoundedMap<true> | undefined;
  /** Created for the first server request: most sessions have none. */
  #asks: OpenServerRequests | undefined;

  /** `asksPerSession`: limit of open server requests. */
  constructor(session: LegacyUpstreamSession, sink: UpstreamSessionSink, relay: ListRelay, asksPerSession: number) {
    this.#session = session;
    this.#sink = sink;
    this.#relay = relay;
    this.#asksPerSession = asksPerSession;
  }

  /** A call was answered with a task: its progress goes on. */
  madeTask(token: string): void {
    this.#ofTasks ??= new BoundedMap(TASKS);
    this.#ofTasks.set(token, true);
  }

  isOfTask(token: string): boolean {
    return this.#ofTasks?.get(token) === true;
  }

  /** A call is over, and with it its server requests. */
  callEnded(call: RunningCall, how: CallEnding): void {
    this.#asks?.callEnded(call, how);
  }

  /** The session is over: the backend can get no more answers. */
  close(): void {
    this.#asks?.close();
  }

  /** A message on no call's stream. Never throws. */
  stray(message: Notification | Request): Reception {
    try {
      return message.kind === 'request' ? this.asked(message, undefined) : this.#notified(message);
    } catch (cause) {
      this.#session.notes.odd('fault', `a stray ${message.method}`, cause);
      return 'none';
    }
  }

  #notified(message: Notification): Reception {
    const { deadlines: calls, notes } = this.#session;
    switch (message.method) {
      case 'notifications/cancelled':
        return this.withdrew(message);
      case 'notifications/progress': {
        const token = idIn(message, 'progressToken');
        const call = token && calls.find(({ key }) => key === token.key);
        if (call?.request.progress === true) return call.message(message);
        if (token !== undefined && this.isOfTask(token.key)) break;
        notes.odd('unattributed', message.method);
        return 'none';
      }
      case 'notifications/message': {
        // A modern client gets log messages only as part of a request: where exactly one call is running, they belong
        // to that call. A legacy client gets them on its session.
        const { first, size } = calls;
        if (first !== undefined && size === 1 && era(first.request.client.revision) === 'modern') {
          return first.message(message);
        }
        if (this.forModern) notes.odd('unattributed', message.method);
        break;
      }
      default:
        if (changedList(message.method) !== undefined) this.#relay.told(message);
    }
    this.#sink.notify(message);
    return receptionOf(message, calls.size === 0 ? 'idle session' : 'busy session');
  }

  /** A server request on the stream of `call`, or on no call's stream. */
  asked(message: Request, call: LegacyCall | undefined): Reception {
    const row = methodRow(message.method);
    if (row?.action !== 'ask') {
      this.#send(ownAnswer(message));
      return 'none';
    }
    const failure = refusedQuestion(message);
    if (failure !== undefined) this.#send(failureBytes(failure, 'legacy', message.id.raw));
    else {
      const task = relatedTask(message);
      const waiting = task === undefined ? undefined : this.#waitingFor(task);
      // Without a stream a task asks no other call: that may be of another client.
      const askers = call === undefined && task === undefined ? this.#askers() : [];
      if (askers.length > 0) this.asksElsewhere = true;
      const owner = waiting ?? call ?? (askers.length === 1 ? askers[0] : undefined);
      this.#asks ??= this.#newAsks();
      this.#asks.put(message, row, {
        call: owner,
        guessed: call === undefined && waiting === undefined,
        put: (ask) => (owner?.sink ?? this.#sink).ask(ask),
      });
    }
    return receptionOf(message, 'call');
  }

  /** `notifications/cancelled` from the backend: it withdraws a server request. */
  withdrew(message: Notification): Reception {
    const id = idIn(message, 'requestId');
    if (id !== undefined) this.#asks?.withdraw(id.key);
    return 'none';
  }

  #newAsks(): OpenServerRequests {
    return new OpenServerRequests({
      asksPerSession: this.#asksPerSession,
      notes: this.#session.notes,
      send: (answer) => this.#send(answer),
      orphaned: (ask) => this.#sink.ask(ask),
    });
  }

  #send(answer: Uint8Array): void {
    this.#session.post(answer, 'an answer');
  }

  /** The call that waits for the result of the backend's task. */
  #waitingFor(task: string): LegacyCall | undefined {
    return this.#session.deadlines.find(
      ({ request: { row, message } }) => row.blocks === true && taskIdIn(message) === task,
    );
  }

  /**
   * Outside of a request's stream nothing says which call a server request belongs to. Where only one call can have
   * caused it, it belongs to that one: some servers use their standalone stream even from within a tool.
   */
  #askers(): readonly LegacyCall[] {
    return this.#session.deadlines.members().filter(({ request }) => request.row.mayAsk === true);
  }
}

/** The gateway's own answer to a request that no client gets: a ping succeeds, anything else is an error. */
export function ownAnswer({ id, method }: Request): Uint8Array {
  if (method === 'ping') return resultBytes(id.raw, '{}');
  return errorBytes(id.raw, { code: METHOD_NOT_FOUND, message: 'Method not found' });
}

/** Why a server request cannot be judged: it is ambiguous, or too large to be read. */
function refusedQuestion(message: Request): Failure | undefined {
  try {
    const ambiguity = ambiguousQuestion(message);
    return ambiguity === undefined ? undefined : new Failure('ambiguous_json', { message: ambiguity });
  } catch (error) {
    return asFailure(error);
  }
}
