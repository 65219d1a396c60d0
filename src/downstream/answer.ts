/** The response to one HTTP request, and what the checks before it have found out. */
import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Failure } from '../errors/failure.ts';
import { type Era, era, isRevision } from '../wire/revisions.ts';
import type { Deliveries } from './delivery.ts';

/** Reads the request's body. `fail` says that the rest of the body will not come. */
export interface OpenBody {
  fail(failure: Failure): void;
}

export class HttpAnswer extends ServerResponse<IncomingMessage> {
  /** The allowed origin of the browser page that sent the request, for the CORS headers. */
  origin: string | undefined = undefined;
  /** The client waits for `100 Continue` before it sends its body (`Expect: 100-continue`). */
  awaitsContinue = false;
  /** Closes the connection after this response: bytes that follow could not be told apart from the refused body. */
  isLast = false;
  /** Set while the body is being read. */
  reading: OpenBody | undefined = undefined;
  /** How slow readers are handled. */
  deliveries: Deliveries | undefined = undefined;
  #gone = false;
  #listeners: (() => void)[] | undefined = undefined;

  // Node passes options that its types do not declare.
  constructor(...parameters: ConstructorParameters<typeof ServerResponse<IncomingMessage>>) {
    super(...parameters);
    this.on('close', this.leave);
    // Node reports a write after the client has disconnected here. Without a listener it would end the process.
    this.on('error', survive);
  }

  /** True once the response was sent or the connection was lost. Nothing can be written any more. */
  get gone(): boolean {
    return this.#gone;
  }

  /** Calls the listener once the response is gone, or at once if it already is. */
  whenGone(listener: () => void): void {
    if (this.#gone) listener();
    else if (this.#listeners === undefined) this.#listeners = [listener];
    else this.#listeners.push(listener);
  }

  /**
   * Marks the response as gone. Idempotent: one queued behind another response on its connection gets no `close` event.
   */
  leave(): void {
    if (this.#gone) return;
    this.#gone = true;
    const listeners = this.#listeners;
    this.#listeners = undefined;
    if (listeners !== undefined) for (const listener of listeners) listener();
  }

  /** The era for failures sent before the body is read: that of the version header. */
  get era(): Era {
    const version = this.req.headers['mcp-protocol-version'];
    return isRevision(version) ? era(version) : 'legacy';
  }
}

function survive(): void {
  // The `close` event that follows informs the listeners.
}
