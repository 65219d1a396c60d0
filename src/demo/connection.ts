/**
 * One client on one pipe: finds the era of each message, and answers each request once or, if it was cancelled, not at
 * all.
 */
import { LegacySession } from './legacy.ts';
import {
  classify,
  codes,
  Failure,
  failureResponse,
  type Id,
  isId,
  type JsonObject,
  type Request,
  type Send,
} from './message.ts';
import { isModern, Modern } from './modern.ts';
import { World } from './world.ts';

/** Streams that listen included. Far more than one client needs, and little memory. */
const maxInFlight = 1000;

export interface ConnectionOptions {
  readonly send: Send;
  /** Gets what the client must not see: the cause of an internal error. */
  readonly complain: (error: unknown) => void;
}

export class Connection {
  readonly #world = new World();
  readonly #modern: Modern;
  readonly #inFlight = new Map<Id, AbortController>();
  readonly #send: Send;
  readonly #complain: (error: unknown) => void;
  #legacy: LegacySession | undefined;

  constructor({ send, complain }: ConnectionOptions) {
    this.#send = send;
    this.#complain = complain;
    this.#modern = new Modern(this.#world, send);
  }

  /** Settles when the message has been dealt with; never rejects. */
  async receive(value: unknown): Promise<void> {
    const answer = Array.isArray(value) ? await this.#batch(value) : await this.#message(value);
    if (answer !== undefined) this.#send(answer);
  }

  unreadable(reason: string): void {
    this.#send(failureResponse(undefined, new Failure(codes.parseError, reason)));
  }

  close(): void {
    this.#modern.close();
    for (const cancel of this.#inFlight.values()) cancel.abort();
  }

  /**
   * https://modelcontextprotocol.io/specification/2025-03-26/basic#batching: that revision must take them, the others
   * have none.
   */
  async #batch(values: readonly unknown[]): Promise<unknown> {
    if (this.#legacy?.revision !== '2025-03-26' || values.length === 0) {
      return failureResponse(undefined, new Failure(codes.invalidRequest, 'No batches in this protocol revision'));
    }
    const answers = await Promise.all(values.map((value) => this.#message(value)));
    const given = answers.filter((answer) => answer !== undefined);
    return given.length === 0 ? undefined : given;
  }

  async #message(value: unknown): Promise<JsonObject | undefined> {
    const message = classify(value);
    switch (message.kind) {
      case 'request':
        return this.#request(message);
      case 'notification': {
        const { requestId } = message.params;
        if (message.method === 'notifications/cancelled' && isId(requestId)) this.#inFlight.get(requestId)?.abort();
        return undefined;
      }
      case 'response':
        this.#legacy?.settle(message);
        return undefined;
      case 'invalid':
        return failureResponse(message.id, new Failure(codes.invalidRequest, 'Not a JSON-RPC message'));
    }
  }

  async #request(request: Request): Promise<JsonObject | undefined> {
    const { id } = request;
    if (this.#inFlight.has(id)) return failureResponse(id, new Failure(codes.invalidRequest, 'This id is in use'));
    if (this.#inFlight.size >= maxInFlight)
      return failureResponse(id, new Failure(codes.internalError, 'Too many requests'));
    const cancel = new AbortController();
    this.#inFlight.set(id, cancel);
    try {
      const result = await this.#serve(request, cancel.signal);
      return cancel.signal.aborted ? undefined : { jsonrpc: '2.0', id, result };
    } catch (error) {
      if (cancel.signal.aborted) return undefined;
      if (!(error instanceof Failure)) this.#complain(error);
      return failureResponse(id, error);
    } finally {
      this.#inFlight.delete(id);
    }
  }

  /**
   * https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#compatibility-matrix: the two eras can
   * share a process.
   */
  async #serve(request: Request, signal: AbortSignal): Promise<JsonObject> {
    if (isModern(request)) return this.#modern.handle(request, signal);
    if (this.#legacy !== undefined) return this.#legacy.handle(request, signal);
    if (request.method === 'initialize') {
      this.#legacy = new LegacySession(request.params, this.#world, this.#send);
      return this.#legacy.welcome;
    }
    // Legacy clients may see whether anybody is there before they initialise.
    if (request.method === 'ping') return {};
    throw new Failure(codes.invalidParams, 'Begin with initialize, or say in _meta which protocol version you speak');
  }
}
