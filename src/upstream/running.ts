/**
 * The part of a call that both eras share: it has an id of ours, receives messages, and ends once. The eras differ in
 * how they interpret a message, judge a response, and cancel at the backend.
 */
import { Failure } from '../errors/failure.ts';
import type { Call, CallOutcome, CallRequest, CallSink } from '../exchange/call.ts';
import type { Notification, Request, Response } from '../wire/message.ts';
import { changedList } from '../wire/subscription-filter.ts';
import { idIn } from '../wire/values.ts';
import { asFailure } from './as-failure.ts';
import type { Channel, HttpFacts, Outgoing, Pending, Reception, RequestSink } from './channel.ts';
import type { Deadlines, ExceededLimit, TimedCall } from './deadlines.ts';
import type { BackendNotes } from './events.ts';
import type { HealthReporter } from './health.ts';
import { keyOf } from './ids.ts';
import type { Slots, SlotWaiter, Ticket } from './slots.ts';

/** What a call needs from its upstream session. */
export interface CallHost {
  readonly deadlines: Deadlines;
  readonly notes: BackendNotes;
  readonly channel: Pick<Channel, 'streamPerRequest'>;
  readonly health: HealthReporter;
  /** Limits concurrent calls to the backend. Absent where the caller has the backend's process to itself. */
  readonly slots: Slots | undefined;
  /** The call is over, with any outcome. */
  gone(call: RunningCall, how: CallEnding): void;
}

/** A request that waits for a slot. */
interface Queued {
  readonly channel: Channel;
  readonly outgoing: Outgoing;
  readonly ticket: Ticket;
}

/** `settled`: the backend completed the call. `dropped`: the call was cancelled, or failed. */
export type CallEnding = 'settled' | 'dropped';

const RESOURCE_UPDATED = 'notifications/resources/updated';

export abstract class RunningCall implements Call, RequestSink, TimedCall, SlotWaiter {
  readonly id: string;
  /** `Id.key` of the id. */
  readonly key: string;
  readonly request: CallRequest;
  readonly sink: CallSink;
  /** The principal that the call counts against while calls wait for slots. */
  readonly holder: string;
  startedAt: number;
  readonly longLived: boolean;
  heardAt: number;
  heard = false;
  asking = 0;
  askingMs = 0;
  endBy: number | undefined = undefined;

  /** The backend refused the request without processing it. */
  protected unseen = false;
  protected readonly host: CallHost;
  private pending: Pending | undefined = undefined;
  private starting = true;
  private over = false;
  private hasSlot = false;
  private queued: Queued | undefined = undefined;

  constructor(host: CallHost, request: CallRequest, sink: CallSink, id: string, holder: string) {
    this.host = host;
    this.holder = holder;
    this.request = request;
    this.sink = sink;
    this.id = id;
    this.key = keyOf(id);
    this.longLived = request.row.longLived === true;
    this.startedAt = host.deadlines.now();
    this.heardAt = this.startedAt;
  }

  /** Interprets a message of this call, from its own stream or matched by its token. */
  protected abstract understand(message: Notification | Request): Reception;
  protected abstract judge(message: Response, http: HttpFacts | undefined): CallOutcome;
  protected abstract judgeFailure(failure: Failure, http: HttpFacts | undefined): Failure;
  /** Cancels the request at the backend, where closing the stream does not do so. */
  protected abstract recall(reason: string | undefined): void;

  /** Some calls start only after a wait, so the call may be over already. */
  start(channel: Channel, outgoing: Outgoing): void {
    if (this.over) return;
    const { slots } = this.host;
    // Long-lived requests have limits of their own.
    if (slots === undefined || this.longLived) this.send(channel, outgoing);
    else if (slots.enter()) {
      this.hasSlot = true;
      this.send(channel, outgoing);
    } else this.queued = { channel, outgoing, ticket: slots.wait(this.holder, this) };
    this.starting = false;
  }

  /** The call got its slot. */
  admitted(): void {
    const queued = this.queued;
    this.queued = undefined;
    this.hasSlot = true;
    this.startedAt = this.host.deadlines.now();
    this.heardAt = this.startedAt;
    if (queued !== undefined) this.send(queued.channel, queued.outgoing);
  }

  /** The call got no slot. */
  refused(failure: Failure): void {
    if (this.drop(undefined)) this.tell({ kind: 'failure', failure, unseen: true });
  }

  private send(channel: Channel, outgoing: Outgoing): void {
    this.host.deadlines.watch(this);
    try {
      const pending = channel.request(outgoing, this);
      if (!this.over) this.pending = pending;
    } catch (cause) {
      this.settle({ kind: 'failure', failure: asFailure(cause) });
    }
  }

  /** Called instead of `start`: the request is not sent at all. */
  refuse(failure: Failure): void {
    this.starting = false;
    queueMicrotask(() => {
      if (this.drop(undefined)) this.tell({ kind: 'failure', failure, unseen: true });
    });
  }

  message(message: Notification | Request): Reception {
    if (this.over) return 'none';
    this.touch();
    if (message.method === 'notifications/progress' && !this.isOurs(message)) {
      this.host.notes.odd('unattributed', message.method);
      return 'none';
    }
    try {
      return this.understand(message);
    } catch (cause) {
      this.broke(cause);
      return 'none';
    }
  }

  answered(message: Response, http: HttpFacts | undefined): void {
    if (this.over) return;
    this.host.health.reached();
    let outcome: CallOutcome;
    try {
      outcome = this.judge(message, http);
    } catch (cause) {
      outcome = { kind: 'failure', failure: asFailure(cause) };
    }
    this.settle(outcome);
  }

  failed(failure: Failure, http: HttpFacts | undefined): void {
    if (this.over) return;
    // Where all requests share one channel, the channel itself reports its loss.
    if (http === undefined && this.host.channel.streamPerRequest) this.host.health.unreached(failure, this.startedAt);
    const judged = this.judgeFailure(failure, http);
    this.settle({ kind: 'failure', failure: judged, unseen: this.unseen });
  }

  alive(): void {
    // A long-lived request must get an acknowledgement; an open stream is none.
    if (!this.over && !this.longLived) this.touch();
  }

  paused(retryMs: number | undefined): void {
    if (this.over) return;
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
    if (this.drop(reason)) this.tell({ kind: 'failure', failure });
  }

  touch(): void {
    this.heard = true;
    this.heardAt = this.host.deadlines.now();
  }

  /** Progress with a different token is not about this call, even on its own stream. */
  private isOurs(progress: Notification | Request): boolean {
    return idIn(progress, 'progressToken')?.key === this.key;
  }

  /**
   * Notifications during a call belong to the call's budget, those of extensions too. List and resource changes, and
   * everything in long-lived requests, use the session's budget.
   */
  protected notify(message: Notification): Reception {
    this.sink.notify(message);
    const isChange = changedList(message.method) !== undefined || message.method === RESOURCE_UPDATED;
    return this.longLived || isChange ? 'session' : 'call';
  }

  protected broke(cause: unknown): void {
    const failure = asFailure(cause);
    if (failure.reason === 'internal_error')
      this.host.notes.odd('fault', `a call of ${this.request.row.method}`, cause);
    this.fail(failure);
  }

  private settle(outcome: CallOutcome): void {
    // `call` has not returned to its caller yet.
    if (this.starting) {
      queueMicrotask(() => this.settle(outcome));
      return;
    }
    if (this.over) return;
    this.over = true;
    this.pending = undefined;
    this.leave(outcome.kind === 'failure' ? 'dropped' : 'settled');
    this.tell(outcome);
  }

  private drop(reason: string | undefined): boolean {
    if (this.over) return false;
    this.over = true;
    // Without `pending` the backend never got the request, so there is nothing to cancel.
    if (this.pending !== undefined) {
      this.recall(reason);
      this.pending.abort();
      this.pending = undefined;
    }
    this.leave('dropped');
    return true;
  }

  private leave(how: CallEnding): void {
    this.host.deadlines.forget(this);
    this.host.gone(this, how);
    if (this.queued !== undefined) {
      this.host.slots?.withdraw(this.queued.ticket);
      this.queued = undefined;
    }
    if (!this.hasSlot) return;
    this.hasSlot = false;
    this.host.slots?.leave();
  }

  private tell(outcome: CallOutcome): void {
    try {
      this.sink.settle(outcome);
    } catch (cause) {
      this.host.notes.odd('fault', `the end of a call of ${this.request.row.method}`, cause);
    }
  }
}
