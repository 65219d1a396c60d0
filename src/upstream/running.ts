/**
 * The part of a call that both eras share: it has an id of ours, receives messages, and ends once. The eras differ in
 * how they interpret a message, judge a response, and cancel at the backend.
 */
import { Failure } from '../errors/failure.ts';
import type { Call, CallOutcome, CallRequest, CallSink } from '../exchange/call.ts';
import type { LinkedList, ListMember } from '../exchange/linked-list.ts';
import type { ObservedCall } from '../exchange/observer.ts';
import type { SentTrace } from '../exchange/trace.ts';
import type { Notification, Request, Response } from '../wire/message.ts';
import type { Revision } from '../wire/revisions.ts';
import { idIn } from '../wire/values.ts';
import { asFailure } from './as-failure.ts';
import { type CallEvent, type CallState, transitions } from './call-state.ts';
import type { BackendNotes, Channel, HttpFacts, Outgoing, Pending, RequestSink } from './channel.ts';
import type { Deadlines, ExceededLimit, TimedCall } from './deadlines.ts';
import { keyOf } from './envelope.ts';
import type { HealthReporter } from './health.ts';
import { type Reception, receptionOf } from './reception.ts';
import type { Slots, SlotWaiter, Ticket } from './slots.ts';

/** What a call needs from its upstream session. */
export interface CallHost {
  /** The running calls of the session. */
  readonly deadlines: Deadlines<RunningCall>;
  readonly notes: BackendNotes;
  readonly channel: Pick<Channel, 'streamPerRequest'>;
  readonly health: HealthReporter;
  /** The revision that was agreed on with the backend. */
  readonly revision: Revision | undefined;
  /** Limits concurrent calls to the backend. Absent where the caller has the backend's process to itself. */
  readonly slots: Slots | undefined;
  /** A call with open server requests is over. Absent where backends send none. */
  askerEnded?(call: RunningCall, how: CallEnding): void;
}

/** A request that waits for a slot. */
interface Queued {
  readonly channel: Channel;
  readonly outgoing: Outgoing;
  readonly ticket: Ticket;
}

/** `settled`: the backend completed the call. `dropped`: the call was cancelled, or failed. */
export type CallEnding = 'settled' | 'dropped';

export abstract class RunningCall<H extends CallHost = CallHost>
  implements Call, RequestSink, TimedCall, SlotWaiter, ObservedCall
{
  previous: ListMember | undefined = undefined;
  next: ListMember | undefined = undefined;
  list: LinkedList<ListMember> | undefined = undefined;
  readonly id: string;
  /** `Id.key` of the id. */
  readonly key: string;
  readonly request: CallRequest;
  readonly sink: CallSink;
  readonly trace: SentTrace | undefined;
  /** The principal that the call counts against while calls wait for slots. */
  readonly holder: string;
  startedAt = Number.POSITIVE_INFINITY;
  readonly longLived: boolean;
  readonly blocks: boolean;
  heardAt = Number.POSITIVE_INFINITY;
  heard = false;
  asking = 0;
  askingMs = 0;
  endBy: number | undefined = undefined;

  /** The backend refused the request without processing it. */
  protected unseen = false;
  protected readonly host: H;
  private state: CallState = 'created';
  private pending: Pending | undefined = undefined;
  private hasSlot = false;
  private queued: Queued | undefined = undefined;

  constructor(host: H, request: CallRequest, sink: CallSink, id: string, holder: string) {
    this.host = host;
    this.holder = holder;
    this.request = request;
    this.sink = sink;
    this.id = id;
    this.key = keyOf(id);
    this.longLived = request.row.longLived === true;
    this.blocks = request.row.blocks === true;
    this.trace = host.notes.tracer?.request(request.trace);
  }

  get revision(): Revision | undefined {
    return this.host.revision;
  }

  /** Interprets a message of this call, from its own stream or matched by its token. */
  protected abstract understand(message: Notification | Request): Reception;
  protected abstract judge(message: Response, http: HttpFacts | undefined): CallOutcome;
  protected abstract judgeFailure(failure: Failure, http: HttpFacts | undefined): Failure;
  /** Cancels the request at the backend, where closing the stream does not do so. */
  protected abstract recall(reason: string | undefined): void;

  /** Sends the request as soon as it has a slot. Does nothing where the call is over: some calls start after a wait. */
  start(channel: Channel, outgoing: Outgoing): void {
    if (transitions[this.state].send === undefined) return;
    const { deadlines } = this.host;
    const slots = this.blocks ? this.host.slots?.blocking : this.host.slots;
    // Long-lived requests have limits of their own.
    if (slots !== undefined && !this.longLived && !this.hasSlot) {
      this.hasSlot = slots.enter();
      if (!this.hasSlot) {
        this.step('wait');
        this.queued = { channel, outgoing, ticket: slots.wait(this.holder, this) };
        return;
      }
    }
    this.step('send');
    this.startedAt = deadlines.clock.now();
    this.heardAt = this.startedAt;
    this.host.notes.calls?.began(this);
    try {
      const pending = channel.request(outgoing, this);
      // A message may have ended the call meanwhile.
      if (this.state === 'sending') this.pending = pending;
    } catch (cause) {
      this.settle({ kind: 'failure', failure: asFailure(cause) });
    }
    this.step('sent');
  }

  /** The call got its slot. */
  admitted(): void {
    const { queued } = this;
    this.queued = undefined;
    this.hasSlot = true;
    if (queued !== undefined) this.start(queued.channel, queued.outgoing);
  }

  /** The call got no slot. */
  refused(failure: Failure): void {
    const outcome = { kind: 'failure', failure, unseen: true } as const;
    if (this.drop(undefined, outcome)) this.tell(outcome);
  }

  /** Called instead of `start`: the request is not sent at all. */
  refuse(failure: Failure): void {
    // Only after the caller has its call.
    queueMicrotask(() => this.refused(failure));
  }

  message(message: Notification | Request): Reception {
    if (this.state === 'over') return 'none';
    this.touch();
    try {
      if (message.method === 'notifications/progress' && !this.isOurs(message)) return this.foreign(message);
      return this.understand(message);
    } catch (cause) {
      this.broke(cause);
      return 'none';
    }
  }

  answered(message: Response, http: HttpFacts | undefined): void {
    if (this.state === 'over') return;
    const { health } = this.host;
    if (health.phase !== 'closed') health.reached();
    let outcome: CallOutcome;
    try {
      outcome = this.judge(message, http);
    } catch (cause) {
      outcome = { kind: 'failure', failure: asFailure(cause) };
    }
    this.settle(outcome);
  }

  failed(failure: Failure, http: HttpFacts | undefined): void {
    if (this.state === 'over') return;
    // Where all requests share one channel, the channel itself reports its loss.
    if (http === undefined && this.host.channel.streamPerRequest) this.host.health.unreached(failure, this.startedAt);
    const judged = this.judgeFailure(failure, http);
    this.settle({ kind: 'failure', failure: judged, unseen: this.unseen });
  }

  alive(): void {
    // A long-lived request must get an acknowledgement; an open stream is none.
    if (this.state === 'over' || this.longLived) return;
    this.heard = true;
    this.heardAt = this.host.deadlines.clock.now();
  }

  paused(retryMs: number | undefined): void {
    if (this.state === 'over') return;
    this.touch();
    try {
      this.sink.pause(retryMs);
    } catch (cause) {
      this.broke(cause);
    }
  }

  cancel(reason?: string): void {
    this.drop(reason);
  }

  timedOut(limit: ExceededLimit): void {
    if (!this.heard && this.host.channel.streamPerRequest) this.host.health.suspected();
    const failure = new Failure('backend_timeout', { data: { limit } });
    this.fail(failure, 'The request timed out');
  }

  /** Ends the call here and upstream, and reports the failure to the caller. */
  fail(failure: Failure, reason?: string): void {
    const outcome = { kind: 'failure', failure } as const;
    if (this.drop(reason, outcome)) this.tell(outcome);
  }

  touch(): void {
    this.heard = true;
    this.heardAt = this.host.deadlines.clock.now();
  }

  /** Progress with a different token is not about this call, even on its own stream. */
  private isOurs(progress: Notification | Request): boolean {
    return idIn(progress, 'progressToken')?.key === this.key;
  }

  /** Progress of another request. */
  protected foreign(message: Notification | Request): Reception {
    this.host.notes.odd('unattributed', message.method);
    return 'none';
  }

  protected notify(message: Notification): Reception {
    if (message.method === 'notifications/subscriptions/acknowledged') this.host.notes.calls?.acknowledged?.(this);
    this.sink.notify(message);
    return receptionOf(message, this.longLived ? 'long-lived call' : 'call');
  }

  protected broke(cause: unknown): void {
    const failure = asFailure(cause);
    if (failure.reason === 'internal_error')
      this.host.notes.odd('fault', `a call of ${this.request.row.method}`, cause);
    this.fail(failure);
  }

  /** False where the state has no such transition. */
  private step(event: CallEvent): boolean {
    const next = transitions[this.state][event];
    if (next === undefined) return false;
    this.state = next;
    return true;
  }

  private settle(outcome: CallOutcome): void {
    if (this.state === 'sending') {
      queueMicrotask(() => this.settle(outcome));
      return;
    }
    if (!this.step('end')) return;
    this.leave(outcome.kind === 'failure' ? 'dropped' : 'settled', outcome);
    this.tell(outcome);
  }

  /** Ends the call here and at the backend. False where it is over already. */
  private drop(reason: string | undefined, outcome?: CallOutcome): boolean {
    if (!this.step('end')) return false;
    // Without `pending` the backend never got the request, so there is nothing to cancel.
    if (this.pending !== undefined) {
      this.recall(reason);
      this.pending.abort();
    }
    this.leave('dropped', outcome);
    return true;
  }

  /** Gives back what the call holds. */
  private leave(how: CallEnding, outcome: CallOutcome | undefined): void {
    const { deadlines, notes } = this.host;
    const slots = this.blocks ? this.host.slots?.blocking : this.host.slots;
    if (this.startedAt !== Number.POSITIVE_INFINITY) notes.calls?.ended(this, outcome);
    this.pending = undefined;
    deadlines.remove(this);
    if (this.asking > 0) this.host.askerEnded?.(this, how);
    if (this.queued !== undefined) slots?.withdraw(this.queued.ticket);
    this.queued = undefined;
    if (!this.hasSlot) return;
    this.hasSlot = false;
    slots?.leave();
  }

  private tell(outcome: CallOutcome): void {
    try {
      this.sink.settle(outcome);
    } catch (cause) {
      this.host.notes.odd('fault', `the end of a call of ${this.request.row.method}`, cause);
    }
  }
}
