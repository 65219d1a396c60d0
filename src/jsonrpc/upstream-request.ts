/** One POST to a JSON-RPC service, whose response is one JSON document. Settles once, whatever the service does. */
import type { IncomingHttpHeaders } from 'node:http';
import { Failure } from '../errors/failure.ts';
import type { Deadlines, ExceededLimit, TimedCall } from '../upstream/deadlines.ts';
import type { HealthReporter } from '../upstream/health.ts';
import { BoundedBody } from '../upstream/http/body.ts';
import type { BoundedPool } from '../upstream/http/pool.ts';
import { type Controller, PooledRequest } from '../upstream/http/presented.ts';
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

export class RpcRequest extends PooledRequest implements RpcSending, TimedCall, SlotWaiter {
  startedAt = Number.POSITIVE_INFINITY;
  heardAt = Number.POSITIVE_INFINITY;
  heard = false;
  readonly asking = 0;
  askingMs = 0;
  readonly longLived = false;
  readonly blocks = false;
  /** When reading the unwanted rest of a body ends. */
  endBy: number | undefined;
  readonly #context: RpcServiceParts;
  readonly #outgoing: RpcOutgoing;
  readonly #sink: RpcSink;
  #ticket: Ticket | undefined;
  #hasSlot = false;
  #settled = false;
  #status = 0;
  #body: BoundedBody | undefined;

  constructor(context: RpcServiceParts, outgoing: RpcOutgoing, sink: RpcSink) {
    super(context.pool);
    this.#context = context;
    this.#outgoing = outgoing;
    this.#sink = sink;
  }

  /** `holder`: the principal that the request counts for in the queue. */
  start(holder: string): void {
    const { health, slots } = this.#context;
    const refusal = health.refusal();
    // Fail asynchronously: the caller must get the object to call `cancel` on first.
    if (refusal !== undefined) queueMicrotask(() => this.fail(refusal));
    else if (slots.enter()) this.admitted();
    else this.#ticket = slots.wait(holder, this);
  }

  admitted(): void {
    const { path, deadlines, headers } = this.#context;
    this.#ticket = undefined;
    this.#hasSlot = true;
    this.startedAt = deadlines.clock.now();
    this.heardAt = this.startedAt;
    deadlines.watch(this);
    this.dispatch({ method: 'POST', path, headers: headers(), body: this.#outgoing.bytes });
  }

  refused(failure: Failure): void {
    this.#ticket = undefined;
    this.fail(failure);
  }

  cancel(): void {
    this.#settle();
    this.disconnect();
  }

  /** Reports the failure, unless the request is settled, and ends the request. */
  fail(failure: Failure): void {
    if (this.#settle()) this.#sink.failed(failure);
    this.disconnect();
  }

  timedOut(limit: ExceededLimit): void {
    if (limit === 'firstByteMs') this.#context.health.suspected();
    this.fail(new Failure('backend_timeout'));
  }

  protected override responded(_controller: Controller, status: number, headers: IncomingHttpHeaders): void {
    if (this.#settled) return;
    this.#alive();
    this.#context.health.reached();
    this.#status = status;
    const isJson = headers['content-type'] === undefined || jsonType.test(String(headers['content-type']));
    if (status >= 300) {
      const mayAnswer = status >= 400 && isJson && !aboutUs.includes(status) && this.#outgoing.expects !== 'nothing';
      if (mayAnswer) this.#gather(headers);
      else this.fail(failureOfStatus(status, false));
    } else if (this.#outgoing.expects === 'nothing') {
      this.#settle();
      this.#awaitRest();
      this.#sink.taken(status === 202 ? 202 : 204);
    } else if (isJson) this.#gather(headers);
    else this.#invalid(`content type ${String(headers['content-type'])}`);
  }

  protected override received(chunk: Buffer): void {
    if (this.#settled) {
      this.discard(this.controller, chunk);
      return;
    }
    this.#alive();
    if (this.#body?.add(chunk) === false) this.fail(new Failure('backend_too_large'));
  }

  protected override ended(error: Error | undefined): void {
    this.#context.deadlines.remove(this);
    if (this.#settled) return;
    if (error !== undefined) {
      const failure = failureOfError(error);
      if (!this.heard) this.#context.health.unreached(failure, this.startedAt);
      this.fail(failure);
      return;
    }
    const bytes = this.#body?.take() ?? new Uint8Array();
    if (isRpcAnswer(bytes, this.#outgoing.expects === 'many')) {
      this.#settle();
      this.#sink.answered(this.#status, bytes);
    } else if (this.#status >= 300) this.fail(failureOfStatus(this.#status, false));
    else this.#invalid('no JSON-RPC response in the body');
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
}
