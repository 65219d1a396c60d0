/** One POST to a JSON-RPC service, whose answer is one JSON document. Settles once, whatever the service does. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { Failure } from '../errors/failure.ts';
import type { Deadlines, ExceededLimit, TimedCall } from '../upstream/deadlines.ts';
import type { HealthReporter } from '../upstream/health.ts';
import { BoundedBody } from '../upstream/http/body.ts';
import { closedByUs } from '../upstream/http/context.ts';
import type { BoundedPool } from '../upstream/http/pool.ts';
import { failureOfError, failureOfStatus } from '../upstream/http/verdict.ts';
import type { Slots, SlotWaiter, Ticket } from '../upstream/slots.ts';
import { isRpcAnswer } from '../wire/rpc-answer.ts';
import type { RpcOutgoing, RpcSending, RpcSink } from './ports.ts';

/** What all requests to a service share. */
export interface RpcServiceParts {
  readonly pool: BoundedPool;
  /** What the service is given at once. */
  readonly slots: Slots;
  readonly path: string;
  headers(): string[];
  readonly resultBytes: number;
  readonly deadlines: Deadlines;
  readonly health: HealthReporter;
  /** Nothing of the request is left. */
  over(request: RpcRequest): void;
}

/** What may still come of a body that nobody wants, for the sake of keeping the connection. */
const REST_BYTES = 64 * 1024;
/** And for how long: it is on its way already, and a service that does not end it would keep one connection after the other. */
const REST_MS = 5_000;

/** Event streams are not among them: a service that streams has more to say than one document can hold. */
const jsonType = /^application\/(?:json|json-rpc|jsonrequest)\s*(?:;|$)/i;

/** They are about what the gateway presented, and would send the client to look for other credentials. */
const aboutUs: readonly number[] = [401, 407];

export class RpcRequest implements RpcSending, TimedCall, SlotWaiter, Dispatcher.DispatchHandler {
  startedAt: number;
  heardAt: number;
  heard = false;
  readonly asking = 0;
  askingMs = 0;
  readonly longLived = false;
  /** Of the rest that nobody wants. */
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
    this.startedAt = context.deadlines.now();
    this.heardAt = this.startedAt;
  }

  /** `holder`: the principal that it counts for where several wait. */
  start(holder: string): void {
    const { health, slots } = this.#context;
    const refusal = health.refusal();
    // Whoever sends has what `cancel` is called on before anything is told.
    if (refusal !== undefined) queueMicrotask(() => this.fail(refusal));
    else if (slots.enter()) this.#dispatch();
    else this.#ticket = slots.wait(holder, this);
  }

  admitted(): void {
    this.#ticket = undefined;
    this.startedAt = this.#context.deadlines.now();
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

  /** Tells of it, unless it is settled, and leaves nothing of the request. */
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
    // undici may tell of it before `dispatch` returns.
    queueMicrotask(() => this.fail(failure));
  }

  #awaitRest(): void {
    const { deadlines } = this.#context;
    this.endBy = deadlines.now() + REST_MS;
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
    this.heardAt = this.#context.deadlines.now();
  }

  /** True the first time. */
  #settle(): boolean {
    if (this.#settled) return false;
    this.#settled = true;
    this.#body = undefined;
    const { deadlines, slots } = this.#context;
    deadlines.forget(this);
    this.#context.over(this);
    if (this.#ticket !== undefined) slots.withdraw(this.#ticket);
    if (this.#hasSlot) slots.leave();
    return true;
  }

  #disconnected(): void {
    this.#controller = undefined;
    if (!this.#isConnected) return;
    this.#isConnected = false;
    this.#context.deadlines.forget(this);
    this.#context.pool.done();
  }
}
