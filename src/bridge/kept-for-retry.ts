/**
 * What a pending call keeps for its client's retry: the backend's server requests, each under the key that the client
 * answers it by, and the notifications that came while the call was pending. Nearly every call has neither.
 */
import type { ServerRequest } from '../exchange/call.ts';
import { type ClientCapabilities, missingFor } from '../wire/capabilities.ts';
import type { Notification, Request } from '../wire/message.ts';
import { valueAt } from '../wire/values.ts';
import { type InputQuestion, inputResponses, questionOf } from './input-required.ts';

export interface KeptLimits {
  readonly roundBytes: number;
  readonly eventsPerStream: number;
  readonly eventBytesPerStream: number;
}

export class KeptForRetry {
  readonly #limits: KeptLimits;
  readonly #asks = new Map<string, ServerRequest>();
  #asked = 0;
  #notifications: Notification[] = [];
  #notificationBytes = 0;

  constructor(limits: KeptLimits) {
    this.#limits = limits;
  }

  get hasAsks(): boolean {
    return this.#asks.size > 0;
  }

  /** False where the server requests would exceed the limit of one round. */
  addAsk(ask: ServerRequest): boolean {
    let bytes = ask.message.bytes.byteLength;
    for (const { message } of this.#asks.values()) bytes += message.bytes.byteLength;
    if (bytes > this.#limits.roundBytes) return false;
    const key = `ask-${++this.#asked}`;
    this.#asks.set(key, ask);
    ask.onWithdrawn(() => this.#asks.delete(key));
    return true;
  }

  questions(): readonly InputQuestion[] {
    return [...this.#asks].map(([key, ask]) => questionOf(key, ask));
  }

  /** A retry may declare fewer capabilities than the request that it continues. */
  missing(capabilities: ClientCapabilities): Record<string, unknown> | undefined {
    for (const ask of this.#asks.values()) {
      const missing = missingForAsk(ask, capabilities);
      if (missing !== undefined) return missing;
    }
    return undefined;
  }

  /** Gives the backend the answers of a retry. Server requests without an answer stay. */
  answer(retry: Request): void {
    for (const { key, result } of inputResponses(retry)) {
      const ask = this.#asks.get(key);
      this.#asks.delete(key);
      ask?.answer({ result });
    }
  }

  /** The call is over: its backend waits for no answer. */
  dropAsks(): void {
    this.#asks.clear();
  }

  /** False where the notification is dropped, because too many are kept already. */
  addNotification(notification: Notification): boolean {
    const { eventsPerStream, eventBytesPerStream } = this.#limits;
    const bytes = this.#notificationBytes + notification.bytes.byteLength;
    if (this.#notifications.length >= eventsPerStream || bytes > eventBytesPerStream) return false;
    this.#notifications.push(notification);
    this.#notificationBytes = bytes;
    return true;
  }

  takeNotifications(): readonly Notification[] {
    this.#notificationBytes = 0;
    return this.#notifications.splice(0);
  }
}

/** The capabilities that a server request needs and the client lacks. */
export function missingForAsk(
  { row, message: { bytes, params } }: ServerRequest,
  capabilities: ClientCapabilities,
): Record<string, unknown> | undefined {
  return missingFor({ method: row.method, params: params && valueAt(bytes, params) }, capabilities);
}
