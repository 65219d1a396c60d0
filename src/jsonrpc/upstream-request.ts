/** One POST to a JSON-RPC service, whose response is one JSON document. Settles once, whatever the service does. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { Failure } from '../errors/failure.ts';
import type { LinkedList, ListMember } from '../exchange/linked-list.ts';
import type { Deadlines, ExceededLimit, TimedCall } from '../upstream/deadlines.ts';
import type { HealthReporter } from '../upstream/health.ts';
import { BoundedBody } from '../upstream/http/body.ts';
import { closedByUs } from '../upstream/http/context.ts';
import type { BoundedPool } from '../upstream/http/pool.ts';
import { failureOfError, failureOfStatus } from '../upstream/http/verdict.ts';
import type { Slots, SlotWaiter, Ticket } from '../upstream/slots.ts';
import { isRpcAnswer } from '../wire/rpc.ts';
import type { RpcOutgoing, RpcSending, RpcSink } from './ports.ts';

/** What all requests to a service share. */
export interface RpcServiceParts {
  readonly pool: BoundedPool;
  /** Limits the concurrent requests to the service. */
  readonly slots: Slots;
  readonly path: string;
  headers(): string[];
  readonly resultBytes: number;
  readonly deadlines: Deadlines;
  readonly health: HealthReporter;
  /** Called when the request is settled. */
  over(request: RpcRequest): void;
}

/** How much of an unwanted body is still read, so that the connection can be kept. */
const REST_BYTES = 64 * 1024;
/**
 * For how long an unwanted body is read: it is on its way already. A service that never ends it would otherwise hold
 * one connection after the other.
 */
const REST_MS = 5_000;

/** Event streams are not accepted: a service that streams sends more than one document can hold. */
const jsonType = /^application\/(?:json|json-rpc|jsonrequest)\s*(?:;|$)/i;

/**
 * These statuses are about the gateway's own credentials. Passed on, they would make the client look for other ones.
 */
const aboutUs: readonly number[] = [401, 407];

export class RpcRequest implements RpcSending, TimedCall, SlotWaiter, Dispatcher.DispatchHandler {
  previous: ListMember | undefined = undefined;
  next: ListMember | undefined = undefined;
  list: LinkedList<ListMember> | undefined = undefined;
  startedAt: number;
  heardAt: number;
  heard = false;
  readonly asking = 0;
  askingMs = 0;
  readonly longLived = false;
  /** When reading the unwanted rest of a body ends. */
  endBy: number | undefined;
  readonly #context: RpcServiceParts;
  readonly #outgoing: RpcOutgoing;
  readonly #sink: RpcSink;
  #ticket: Ticket | undefined;
  #hasSlot = false;
  #settled = false;
  #isConnected = false;
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #body: BoundedBody | undefined;
  #restBytes = 0;

  constructor(context: RpcServiceParts, outgoing: RpcOutgoing, sink: RpcSink) {
    this.#context = context;
    this.#outgoing = outgoing;
    this.#sink = sink;
    this.startedAt = context.deadlines.clock.now();
    this.heardAt = this.startedAt;
  }

  /** `holder`: the principal that the request counts for in the queue. */
  start(holder: string): void {
    const { health, slots } = this.#context;
    const refusal = health.refusal();
    // Fail asynchronously: the caller must get the object to call `cancel` on first.
    if (refusal !== undefined) queueMicrotask(() => this.fail(refusal));
    else if (slots.enter()) this.#dispatch();
    else this.#ticket = slots.wait(holder, this);
  }

  admitted(): void {
    this.#ticket = undefined;
    this.startedAt = this.#context.deadlines.clock.now();
    this.heardAt = this.startedAt;
    this.#dispatch();
  }

  refused(failure: Failure): void {
    this.#ticket = undefined;
    this.fail(failure);
  }

  #dispatch(): void {
    const { pool, path, deadlines, headers } = this.#context;
    this.#hasSlot = true;
    deadlines.watch(this);
    this.#isConnected = true;
    try {
      pool.dispatch({ method: 'POST', path, headers: headers(), body: this.#outgoing.bytes }, this);
    } catch (cause) {
      this.#isConnected = false;
      queueMicrotask(() => this.fail(failureOfError(cause)));
    }
  }

  cancel(): void {
    this.#settle();
    this.#controller?.abort(closedByUs);
  }

  /** Reports the failure, unless the request is settled, and ends the request. */
  fail(failure: Failure): void {
    if (this.#settle()) this.#sink.failed(failure);
    this.#controller?.abort(closedByUs);
  }

  timedOut(limit: ExceededLimit): void {
    if (limit === 'firstByteMs') this.#context.health.suspected();
    this.fail(new Failure('backend_timeout'));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#settled) controller.abort(closedByUs);
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200 || this.#settled) return;
    this.#alive();
    this.#context.health.reached();
    this.#status = status;
    const isJson = headers['content-type'] === undefined || jsonType.test(String(headers['content-type']));
    if (status >= 300) {
      const mayAnswer = status >= 400 && isJson && !aboutUs.includes(status) && this.#outgoing.expects !== 'nothing';
      if (mayAnswer) this.#gather(headers);
      else this.fail(failureOfStatus(status, false));
    } else if (this.#outgoing.expects === 'nothing') {
      if (!this.#settle()) return;
      this.#awaitRest();
      this.#sink.taken(status === 202 ? 202 : 204);
    } else if (isJson) this.#gather(headers);
    else this.#invalid(`content type ${String(headers['content-type'])}`);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#settled) {
      this.#restBytes += chunk.byteLength;
      if (this.#restBytes > REST_BYTES) controller.abort(closedByUs);
      return;
    }
    this.#alive();
    if (this.#body?.add(chunk) === false) this.fail(new Failure('backend_too_large'));
  }

  onResponseEnd(): void {
    this.#disconnected();
    if (this.#settled) return;
    const bytes = this.#body?.take() ?? new Uint8Array();
    if (isRpcAnswer(bytes, this.#outgoing.expects === 'many')) {
      if (this.#settle()) this.#sink.answered(this.#status, bytes);
    } else if (this.#status >= 300) this.fail(failureOfStatus(this.#status, false));
    else this.#invalid('no JSON-RPC response in the body');
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#disconnected();
    if (this.#settled) return;
    const failure = failureOfError(error);
    if (!this.heard) this.#context.health.unreached(failure, this.startedAt);
    // undici may report the error before `dispatch` returns.
    queueMicrotask(() => this.fail(failure));
  }

  #awaitRest(): void {
    const { deadlines } = this.#context;
    this.endBy = deadlines.clock.now() + REST_MS;
    deadlines.watch(this);
  }

  #gather(headers: IncomingHttpHeaders): void {
    const { resultBytes } = this.#context;
    const announced = Number(headers['content-length'] ?? Number.NaN);
    if (announced > resultBytes) this.fail(new Failure('backend_too_large'));
    else this.#body = new BoundedBody(resultBytes, announced);
  }

  #invalid(why: string): void {
    this.fail(new Failure('backend_invalid', { cause: new Error(`HTTP status ${this.#status}, ${why}`) }));
  }

  #alive(): void {
    this.heard = true;
    this.heardAt = this.#context.deadlines.clock.now();
  }

  /** Returns true the first time only. */
  #settle(): boolean {
    if (this.#settled) return false;
    this.#settled = true;
    this.#body = undefined;
    const { deadlines, slots } = this.#context;
    deadlines.remove(this);
    this.#context.over(this);
    if (this.#ticket !== undefined) slots.withdraw(this.#ticket);
    if (this.#hasSlot) slots.leave();
    return true;
  }

  #disconnected(): void {
    this.#controller = undefined;
    if (!this.#isConnected) return;
    this.#isConnected = false;
    this.#context.deadlines.remove(this);
    this.#context.pool.done();
  }
}
