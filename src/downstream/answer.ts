/** The response to one HTTP request, and what the gates have learned about it. */
import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Failure } from '../errors/failure.ts';
import { type Era, era, isRevision } from '../wire/revisions.ts';
import type { Deliveries } from './delivery.ts';

/** Reads the request's body, and can be told that there will be no more of it. */
export interface OpenBody {
  fail(failure: Failure): void;
}

export class HttpAnswer extends ServerResponse<IncomingMessage> {
  /** The origin that may read this answer, where a browser page asked and is allowed to. */
  origin: string | undefined = undefined;
  /** The client waits for leave to send its body (`Expect: 100-continue`). */
  awaitsContinue = false;
  /** Nothing more is read from this connection: what follows on it could not be told apart from what was refused. */
  isLast = false;
  /** Set while the body is being read. */
  reading: OpenBody | undefined = undefined;
  /** How slow readers are met. */
  deliveries: Deliveries | undefined = undefined;
  #gone = false;
  #listeners: (() => void)[] | undefined = undefined;

  // Node hands in options that its types do not know.
  constructor(...parameters: ConstructorParameters<typeof ServerResponse<IncomingMessage>>) {
    super(...parameters);
    this.on('close', this.leave);
    // A write that comes after the client has gone is reported here; without a listener it would end the process.
    this.on('error', survive);
  }

  /** The answer was sent, or its connection is lost. Nothing can be said any more. */
  get gone(): boolean {
    return this.#gone;
  }

  /** Calls once it is gone; at once if it is. */
  whenGone(listener: () => void): void {
    if (this.#gone) listener();
    else if (this.#listeners === undefined) this.#listeners = [listener];
    else this.#listeners.push(listener);
  }

  /** Idempotent: an answer that is queued behind another one on its connection does not hear of its end by itself. */
  leave(): void {
    if (this.#gone) return;
    this.#gone = true;
    const listeners = this.#listeners;
    this.#listeners = undefined;
    if (listeners !== undefined) for (const listener of listeners) listener();
  }

  /** In whose words a failure is told while nobody has looked into the body: those of the version header. */
  get era(): Era {
    const version = this.req.headers['mcp-protocol-version'];
    return isRevision(version) ? era(version) : 'legacy';
  }
}

function survive(): void {
  // The close that follows tells everybody who needs to know.
}
