/**
 * Downstream: one client request until it is settled, exactly once: with a result, an error, or silence. What a backend
 * sends afterwards is dropped.
 */
import type { Failure } from '../errors/failure.ts';
import { notificationBytes, piecesWithId, type Raw, resultBytes, rewrite, spliceMessage } from '../wire/compose.ts';
import type { Id, Notification, ObjectSpan, Request, Response, ResultResponse } from '../wire/message.ts';
import type { MethodRow } from '../wire/methods.ts';
import { skimMessage } from '../wire/skim.ts';
import { changedList } from '../wire/subscription-filter.ts';
import { asksForInput, idAt, member } from '../wire/values.ts';
import { metaKeys } from '../wire/vocabulary.ts';
import type { Call } from './call.ts';
import type { Clock } from './clock.ts';
import { Changes } from './coalesced-changes.ts';
import type { InflightPlace } from './inflight.ts';
import type { LinkedList, ListMember } from './linked-list.ts';
import type { MessageEnding } from './observer.ts';
import type { Outlet, Settlement, Urgency } from './outlet.ts';

const { subscriptionId } = metaKeys;

/** How an exchange ended, for the audit record. */
export interface Ending {
  /** `asked`: the call needs input, and a further round follows. */
  readonly outcome: 'result' | 'error' | 'cancelled' | 'asked';
  /** The reason in the failure table, where the gateway itself failed the request. */
  readonly reason?: string | undefined;
}

/** The request that the exchange belongs to. */
export interface ExchangeObserver {
  /** The client was sent the acknowledgement of its `subscriptions/listen`. */
  acknowledged(): void;
  ended(ending: MessageEnding): void;
}

/** Is told once that what it watches is over. */
export interface EndingWatcher {
  over?(ending: Ending): void;
}

export class Exchange implements ListMember<Exchange> {
  readonly request: Request;
  readonly row: MethodRow;
  /** The client's progress token: 0 is a real one. */
  readonly token: Id | undefined;
  previous: Exchange | undefined;
  next: Exchange | undefined;
  list: LinkedList<ListMember> | undefined;
  /** Is told how the exchange ended. Set by the open stage, where anything observes messages. */
  observer: ExchangeObserver | undefined = undefined;
  /** Set by `Inflight` alone. */
  place: InflightPlace | undefined = undefined;
  readonly #outlet: Outlet;
  readonly #onSettled: (exchange: Exchange) => void;
  #call: Call | undefined;
  #settled = false;
  #watcher: EndingWatcher | undefined;
  #begun = false;
  #over: ((ending: Ending) => void) | undefined;
  /** Set for `subscriptions/listen` only. */
  #changes: Changes<string, Notification> | undefined;

  constructor(request: Request, row: MethodRow, outlet: Outlet, onSettled: (exchange: Exchange) => void) {
    this.request = request;
    this.row = row;
    const token = member(request.meta, 'progressToken');
    this.token = token && idAt(request.bytes, token);
    this.#outlet = outlet;
    this.#onSettled = onSettled;
  }

  get settled(): boolean {
    return this.#settled;
  }

  /** Whether the client can receive messages before the response. */
  get carries(): boolean {
    return this.#outlet.carries;
  }

  /** Replaces the watcher, which is called once when the exchange ends; at once where it has ended. */
  watch(watcher: EndingWatcher | undefined): void {
    if (this.#settled) watcher?.over?.({ outcome: 'cancelled' });
    // A watcher that hears of nothing is none: how the exchange ended need not be found out.
    else this.#watcher = watcher?.over === undefined ? undefined : watcher;
  }

  /**
   * Calls `action` once when the exchange is settled, after actions that were added before; at once where it is
   * settled.
   */
  onOver(action: (ending: Ending) => void): void {
    const before = this.#over;
    if (this.#settled) action({ outcome: 'cancelled' });
    else if (before === undefined) this.#over = action;
    else {
      this.#over = (ending) => {
        before(ending);
        action(ending);
      };
    }
  }

  /** Whether the client was sent a message before the response. */
  get begun(): boolean {
    return this.#begun;
  }

  /** The call that currently works for this exchange. */
  drivenBy(call: Call | undefined): void {
    this.#call = call;
    // The exchange was settled while the call was being made: by an immediate response, or by a cancellation.
    if (this.#settled) this.#call = undefined;
  }

  send(message: Uint8Array, urgency: Urgency, key?: string): void {
    if (this.#settled) return;
    this.#outlet.send(message, urgency, key);
    if (this.#begun) return;
    this.#begun = true;
    // The acknowledgement is always the first message of a subscription.
    if (this.row.longLived) this.observer?.acknowledged();
  }

  /** Sends progress only where the client gave a token, and only while its request is open. */
  sendProgress(notification: Notification): void {
    const token = member(notification.params, 'progressToken');
    if (this.token === undefined || token === undefined) return;
    this.send(spliceMessage(notification, [{ span: token, with: this.token.raw }]), 'progress', this.token.key);
  }

  /** A list change that comes again within `quietMs` is sent once at the end of that time. */
  coalesceChanges(clock: Clock, quietMs: number): void {
    this.#changes = new Changes(clock, quietMs, (_method, notification: Notification) =>
      this.#sendTagged(notification),
    );
  }

  /** Notifications on a `subscriptions/listen` are tagged with the request id that this client gave. */
  sendSubscribed(notification: Notification): void {
    const { method } = notification;
    if (this.#changes === undefined || changedList(method) === undefined) this.#sendTagged(notification);
    else if (!this.#settled) this.#changes.changed(method, notification);
  }

  #sendTagged(notification: Notification): void {
    const { params } = notification;
    const { raw } = this.request.id;
    this.send(params === undefined ? taggedAlone(notification, raw) : tagged(notification, params, raw), 'keep');
  }

  pause(retryMs: number | undefined): void {
    if (!this.#settled) this.#outlet.pause(retryMs);
  }

  /** A response of a backend, under the client's own id. */
  respond(message: Response, status?: number): void {
    const bytes = piecesWithId(message, this.request.id.raw);
    const settlement = { kind: 'response', bytes, status } as const;
    // Only watchers and observers need to know whether input is required, and finding out means reading the result.
    const isRead = this.#watcher !== undefined || this.observer !== undefined;
    this.settle(settlement, !isRead && message.kind === 'result' ? 'result' : outcomeOf(message), message);
  }

  /** Ends a `subscriptions/listen` with the backend's result. */
  respondSubscribed(message: ResultResponse): void {
    const result = skimMessage(tagged(message, message.result, this.request.id.raw));
    if (result.kind === 'result') this.respond(result);
  }

  /**
   * Ends a subscription from the gateway's side: the result says that this was no accident. On a persistent connection
   * no stream closes with the subscription, so it is cancelled by its id first.
   * https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions#graceful-closure
   */
  endSubscription(onLine: boolean): void {
    const call = this.#call;
    const { raw } = this.request.id;
    const meta = `"_meta":{${JSON.stringify(subscriptionId)}:${raw}}`;
    this.#changes?.flush();
    if (onLine) this.send(notificationBytes('notifications/cancelled', `{"requestId":${raw},${meta}}`), 'keep');
    this.respondResult(`{"resultType":"complete",${meta}}`);
    call?.cancel();
  }

  /** A result that the gateway made, or translated from a backend's message. */
  respondResult(result: Raw, from?: ResultResponse): void {
    this.settle({ kind: 'response', bytes: resultBytes(this.request.id.raw, result) }, 'result', from);
  }

  /** A result that asks the client for input: a further round follows. */
  askFor(input: Raw): void {
    this.settle({ kind: 'response', bytes: resultBytes(this.request.id.raw, input) }, 'asked');
  }

  fail(failure: Failure): void {
    this.settle({ kind: 'failure', failure, id: this.request.id.raw });
  }

  settle(settlement: Settlement, outcome: Ending['outcome'] = 'result', from?: Response): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#call = undefined;
    this.#changes?.close();
    this.#outlet.settle(settlement);
    this.#onSettled(this);
    this.observer?.ended(observedEnding(settlement, outcome, from));
    if (this.#over === undefined && this.#watcher === undefined) return;
    const ending = endingOf(settlement, outcome);
    this.#over?.(ending);
    this.#watcher?.over?.(ending);
  }

  /** The client no longer wants the response: the backend is told, and nothing is sent downstream. */
  cancel(reason?: string): void {
    const call = this.#call;
    this.settle({ kind: 'silence' });
    call?.cancel(reason);
  }

  /** Ends the exchange from the gateway's side. The client did not cancel, so it gets an error. */
  abort(failure: Failure): void {
    const call = this.#call;
    this.fail(failure);
    call?.cancel(failure.message);
  }
}

function endingOf(settlement: Settlement, outcome: Ending['outcome']): Ending {
  if (settlement.kind === 'failure') return { outcome: 'error', reason: settlement.failure.reason };
  return { outcome: settlement.kind === 'silence' ? 'cancelled' : outcome };
}

function observedEnding(settlement: Settlement, outcome: Ending['outcome'], from?: Response): MessageEnding {
  if (settlement.kind === 'failure') return { outcome: 'error', failure: settlement.failure };
  return settlement.kind === 'silence' ? { outcome: 'cancelled' } : { outcome, response: settlement.bytes, from };
}

function outcomeOf(message: Response): Ending['outcome'] {
  if (message.kind === 'error') return 'error';
  return asksForInput(message) ? 'asked' : 'result';
}

/** The message with the subscription's id in `_meta` of the given object: replaces a backend's own id, or adds one. */
function tagged(message: Notification | ResultResponse, object: ObjectSpan, subscription: string): Uint8Array {
  const tag = member(message.meta, subscriptionId);
  if (tag !== undefined) return spliceMessage(message, [{ span: tag, with: subscription }]);
  const meta: Raw =
    message.meta === undefined
      ? `{${JSON.stringify(subscriptionId)}:${subscription}}`
      : rewrite(message.bytes, message.meta, { set: { [subscriptionId]: subscription } });
  return spliceMessage(message, [{ span: object, with: rewrite(message.bytes, object, { set: { _meta: meta } }) }]);
}

/** A list change needs no parameters, so it is sent with the tag alone. */
function taggedAlone(notification: Notification, subscription: string): Uint8Array {
  return notificationBytes(notification.method, `{"_meta":{${JSON.stringify(subscriptionId)}:${subscription}}}`);
}
