/**
 * The open server requests at one legacy client. Each has an id of ours, unique in the session. A client's response
 * goes to the server request with that id, and to nothing else.
 */

import { olderAsk } from '../bridge/revision-compat.ts';
import { Failure } from '../errors/failure.ts';
import type { ClientFacts, ServerRequest, ServerRequestReply } from '../exchange/call.ts';
import type { Clock } from '../exchange/clock.ts';
import { type CapabilityDemand, missingFor } from '../wire/capabilities.ts';
import { notificationBytes, type Raw, requestBytes, rewrite } from '../wire/compose.ts';
import type { Response } from '../wire/message.ts';
import { paramsWithTrace } from '../wire/trace-fields.ts';
import { isObject, member, slice, valueAt } from '../wire/values.ts';

export interface ServerRequestLimits {
  /** How long a person may take to answer. */
  readonly askMs: number;
  /** Open server requests at one client. A backend that needs more is out of control. */
  readonly asksPerSession: number;
}

/** A URL elicitation has an id in 2025-11-25, and none in the following revision: such a request gets one here. */
function isUnnamedVisit(method: string, value: unknown): boolean {
  if (method !== 'elicitation/create' || !isObject(value)) return false;
  return value.mode === 'url' && !Object.hasOwn(value, 'elicitationId');
}

/** Sends a message to the client, on the stream that the server request belongs to. */
export type AskRoute = (message: Uint8Array) => void;

/** Receives the id that a URL elicitation was given here. */
export type Named = (elicitationId: string) => void;

export class SessionServerRequests {
  readonly #client: ClientFacts;
  readonly #limits: ServerRequestLimits;
  readonly #clock: Clock;
  readonly #waiting = new Map<string, (reply: ServerRequestReply) => void>();
  #last: number;

  /** `after`: ids up to this one may have been used, where the session began elsewhere. */
  constructor(client: ClientFacts, limits: ServerRequestLimits, clock: Clock, after = 0) {
    this.#last = after;
    this.#client = client;
    this.#limits = limits;
    this.#clock = clock;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** Sends the server request to the client, or answers in place of a client that did not declare the capability. */
  relay(ask: ServerRequest, route: AskRoute, named?: Named): void {
    const { bytes, params } = ask.message;
    const { method } = ask.row;
    const value = params && valueAt(bytes, params);
    const older = olderAsk(this.#client.revision, method, value);
    const failure = older instanceof Failure ? older : this.#refusal({ method, params: value });
    if (failure !== undefined) {
      ask.answer({ failure });
      return;
    }
    const id = String(++this.#last);
    const key = `n${id}`;
    const forget = () => {
      this.#waiting.delete(key);
      stopWaiting();
    };
    const trace = ask.trace?.relayed(ask.message);
    const takeBack = () => route(notificationBytes('notifications/cancelled', `{"requestId":${id}}`));
    const stopWaiting = this.#clock.after(this.#limits.askMs, () => {
      this.#waiting.delete(key);
      takeBack();
      answer({ failure: new Failure('ask_timeout') });
    });
    const answer = (reply: ServerRequestReply) => {
      trace?.ended(reply);
      ask.answer(reply);
    };
    this.#waiting.set(key, (reply) => {
      forget();
      answer(reply);
    });
    let put: Raw | undefined = older === undefined ? params && slice(bytes, params) : JSON.stringify(older);
    const isVisit = isUnnamedVisit(method, value);
    if (params !== undefined && older === undefined && (isVisit || member(params, 'task') !== undefined)) {
      const elicitationId = `bascule-${id}`;
      put = rewrite(bytes, params, {
        set: isVisit ? { elicitationId: JSON.stringify(elicitationId) } : {},
        drop: (key) => key === 'task',
      });
      if (isVisit) named?.(elicitationId);
    }
    route(requestBytes(id, method, trace === undefined ? put : paramsWithTrace(put, trace.fields)));
    ask.handedOver?.();
    ask.onWithdrawn(() => {
      if (!this.#waiting.has(key)) return;
      forget();
      takeBack();
      trace?.ended(undefined);
    });
  }

  #refusal(demand: CapabilityDemand): Failure | undefined {
    const missing = missingFor(demand, this.#client.capabilities);
    if (missing !== undefined) return new Failure('ask_not_supported', { data: { requiredCapabilities: missing } });
    return this.#waiting.size >= this.#limits.asksPerSession ? new Failure('too_many_asks') : undefined;
  }

  isOpen({ id }: Response): boolean {
    return id !== undefined && this.#waiting.has(id.key);
  }

  /** False where no server request waits for this response: it is late, or was never requested. */
  answer(response: Response): boolean {
    const finish = response.id && this.#waiting.get(response.id.key);
    if (finish === undefined) return false;
    finish(
      response.kind === 'result'
        ? { result: slice(response.bytes, response.result) }
        : { error: slice(response.bytes, response.error) },
    );
    return true;
  }

  /** The client is gone. */
  abandon(failure: Failure): void {
    for (const finish of [...this.#waiting.values()]) finish({ failure });
  }
}
