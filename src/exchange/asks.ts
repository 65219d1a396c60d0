/**
 * The questions that are out to one legacy client. Each has an id of ours in that session; the client's response goes to the
 * one question that waits for that id, and to nothing else.
 */
import { Failure } from '../errors.ts';
import { missingFor } from '../wire/capabilities.ts';
import { notificationBytes, requestBytes, rewrite } from '../wire/compose.ts';
import type { ObjectSpan, Request, Response } from '../wire/message.ts';
import { member, slice, stringAt, valueAt } from '../wire/values.ts';
import type { Ask, AskReply, ClientFacts } from './call.ts';
import type { Clock } from './clock.ts';

export interface AskLimits {
  /** How long a person may think. */
  readonly askMs: number;
  /** Questions out to one client at once: more is a backend that has lost its way. */
  readonly asksPerSession: number;
}

interface Waiting {
  finish(reply: AskReply): void;
}

/** A visit to a page is known by an id in 2025-11-25, and by nothing in the revision after: there it is given one. */
function withElicitationId({ bytes, method }: Request, params: ObjectSpan, id: string): Uint8Array {
  const mode = member(params, 'mode');
  const visits = method === 'elicitation/create' && mode !== undefined && stringAt(bytes, mode) === 'url';
  if (!visits || member(params, 'elicitationId') !== undefined) return slice(bytes, params);
  return rewrite(bytes, params, { set: { elicitationId: JSON.stringify(id) } });
}

/** Sends to the client on the stream where the question belongs. */
export type AskRoute = (message: Uint8Array) => void;

export class Asks {
  readonly #client: ClientFacts;
  readonly #limits: AskLimits;
  readonly #clock: Clock;
  readonly #waiting = new Map<string, Waiting>();
  #last = 0;

  constructor(client: ClientFacts, limits: AskLimits, clock: Clock) {
    this.#client = client;
    this.#limits = limits;
    this.#clock = clock;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** Puts the question to the client, or answers for a client that cannot: it is never offered what it did not declare. */
  relay(ask: Ask, route: AskRoute): void {
    const { bytes, params } = ask.message;
    const question = { method: ask.row.method, params: params && valueAt(bytes, params) };
    const missing = missingFor(question, this.#client.capabilities);
    if (missing !== undefined) {
      ask.answer({ failure: new Failure('ask_not_supported', { data: { requiredCapabilities: missing } }) });
      return;
    }
    if (this.#waiting.size >= this.#limits.asksPerSession) {
      ask.answer({ failure: new Failure('too_many_asks') });
      return;
    }
    const id = String(++this.#last);
    const key = `n${id}`;
    const forget = () => {
      this.#waiting.delete(key);
      stopWaiting();
    };
    const takeBack = () => route(notificationBytes('notifications/cancelled', `{"requestId":${id}}`));
    const stopWaiting = this.#clock.after(this.#limits.askMs, () => {
      this.#waiting.delete(key);
      takeBack();
      ask.answer({ failure: new Failure('ask_timeout') });
    });
    this.#waiting.set(key, {
      finish: (reply) => {
        forget();
        ask.answer(reply);
      },
    });
    route(requestBytes(id, ask.row.method, params && withElicitationId(ask.message, params, key)));
    ask.onWithdrawn(() => {
      if (!this.#waiting.has(key)) return;
      forget();
      takeBack();
    });
  }

  /** False where nobody waits for it: an answer that is late, or that nobody asked for. */
  answer(response: Response): boolean {
    const waiting = response.id && this.#waiting.get(response.id.key);
    if (waiting === undefined) return false;
    waiting.finish(
      response.kind === 'result'
        ? { result: slice(response.bytes, response.result) }
        : { error: slice(response.bytes, response.error) },
    );
    return true;
  }

  /** The client is gone. */
  abandon(failure: Failure): void {
    for (const waiting of [...this.#waiting.values()]) waiting.finish({ failure });
  }
}
