/**
 * Questions to a legacy client: JSON-RPC requests of our own, on the same pipe, while the call that needs them waits.
 */
import { randomUUID } from 'node:crypto';
import { type Answers, type Ask, type AskRequest, missingCapabilities } from './asks.ts';
import { codes, Failure, type Id, type JsonObject, notification, type Response, type Send } from './message.ts';

/** People answer, and they take their time; but a call must not wait for somebody who has left. */
const maxAnswerMs = 10 * 60_000;

/** A question had no answer: the client can't be asked such things, it answered with an error, or it took too long. */
export class Unanswered extends Failure {
  constructor(message: string) {
    super(codes.invalidRequest, message);
  }
}

export class LegacyAsks {
  readonly #pending = new Map<Id, (response: Omit<Response, 'kind' | 'id'>) => void>();
  readonly #capabilities: JsonObject;
  readonly #send: Send;
  #asked = 0;

  constructor(capabilities: JsonObject, send: Send) {
    this.#capabilities = capabilities;
    this.#send = send;
  }

  /** An answer to nothing, or a second one, is dropped. */
  settle(response: Response): void {
    this.#pending.get(response.id)?.(response);
  }

  /** The asks of one call: when it is cancelled, they are withdrawn. */
  during(call: AbortSignal): Ask {
    return async <Key extends string>(requests: { readonly [key in Key]: AskRequest }) => {
      const entries = Object.entries<AskRequest>(requests);
      const missing = missingCapabilities(this.#capabilities, Object.values<AskRequest>(requests));
      if (missing !== undefined) throw new Unanswered(`The client did not declare ${JSON.stringify(missing)}`);
      // When one question of several fails, the call is over for the others too.
      const failed = new AbortController();
      const over = AbortSignal.any([call, failed.signal]);
      try {
        const answers = await Promise.all(entries.map(async ([key, ask]) => [key, await this.#one(ask, over)]));
        return Object.fromEntries(answers) as Answers<Key>;
      } catch (error) {
        failed.abort();
        throw error;
      }
    };
  }

  /**
   * 2025-11-25 names URL elicitations, to tell later that what happens on the page is done. We have no page of our own
   * to wait for, so it is done as soon as the user agrees.
   * https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#completion-notifications-for-url-mode-elicitation
   */
  async #one(request: AskRequest, over: AbortSignal): Promise<JsonObject> {
    if (request.method !== 'elicitation/create' || request.params.mode !== 'url') return this.#request(request, over);
    const elicitationId = randomUUID();
    const params = { ...request.params, elicitationId };
    const answer = await this.#request({ method: request.method, params }, over);
    if (answer.action === 'accept') this.#send(notification('notifications/elicitation/complete', { elicitationId }));
    return answer;
  }

  #request(request: JsonObject, over: AbortSignal): Promise<JsonObject> {
    if (over.aborted) return Promise.reject(new Unanswered('The call is over'));
    return new Promise((resolve, reject) => {
      const id = `ask-${++this.#asked}`;
      const withdraw = (): void => {
        this.#send(notification('notifications/cancelled', { requestId: id, reason: 'No longer needed' }));
        settle('The question was withdrawn');
      };
      const settle = (failure: string, result?: JsonObject): void => {
        clearTimeout(timer);
        over.removeEventListener('abort', withdraw);
        this.#pending.delete(id);
        if (result === undefined) reject(new Unanswered(failure));
        else resolve(result);
      };
      const timer = setTimeout(withdraw, maxAnswerMs);
      over.addEventListener('abort', withdraw);
      this.#pending.set(id, ({ result, error }) =>
        settle(`The client answered with an error: ${error?.message ?? 'no reason given'}`, result),
      );
      this.#send({ jsonrpc: '2.0', id, ...request });
    });
  }
}
