/** Responses on the one stream of a stdio or HTTP+SSE client. */
import type { Failure } from '../errors/failure.ts';
import { concat, failureBytes, inOnePiece } from '../wire/compose.ts';
import type { Batch, Message } from '../wire/message.ts';
import type { Era } from '../wire/revisions.ts';
import type { Connection, Outlet, OutletOptions, Reply, Settlement, Urgency } from './outlet.ts';

export class ConnectionReply implements Reply {
  readonly #connection: Connection;
  readonly #isAnswered: boolean;

  /** JSON-RPC 2.0, section 4.1: only a request is answered. Anything else gets no response, not even an error. */
  constructor(connection: Connection, to: Message | Batch) {
    this.#connection = connection;
    this.#isAnswered = to.kind === 'request' || to.kind === 'batch';
  }

  carry(): void {
    // A persistent connection has no headers.
  }

  accepted(): void {
    // A persistent connection acknowledges nothing.
  }

  refuse(failure: Failure, era: Era, id?: string): void {
    if (this.#isAnswered) this.respond(failureBytes(failure, era, id));
  }

  respond(bytes: Uint8Array): void {
    this.#connection.send({ id: undefined, data: bytes, urgency: 'keep' });
  }

  open(options: OutletOptions): readonly Outlet[] {
    const answers = options.batch ? new BatchAnswers(options.requests, (bytes) => this.respond(bytes)) : undefined;
    const answer = (bytes: Uint8Array | undefined) => {
      if (answers !== undefined) answers.add(bytes);
      else if (bytes !== undefined) this.respond(bytes);
    };
    return Array.from({ length: options.requests }, () => new LineOutlet(this.#connection, options.era, answer));
  }
}

/** The responses of a batch, sent together once all are there. */
class BatchAnswers {
  readonly #answers: Uint8Array[] = [];
  #missing: number;
  readonly #send: (bytes: Uint8Array) => void;

  constructor(requests: number, send: (bytes: Uint8Array) => void) {
    this.#missing = requests;
    this.#send = send;
  }

  add(answer: Uint8Array | undefined): void {
    if (answer !== undefined) this.#answers.push(answer);
    this.#missing -= 1;
    if (this.#missing > 0 || this.#answers.length === 0) return;
    this.#send(concat(['[', ...this.#answers.flatMap((bytes, index) => (index === 0 ? [bytes] : [',', bytes])), ']']));
  }
}

class LineOutlet implements Outlet {
  readonly carries = true;
  readonly #connection: Connection;
  readonly #era: Era;
  readonly #answer: (bytes: Uint8Array | undefined) => void;
  #settled = false;

  constructor(connection: Connection, era: Era, answer: (bytes: Uint8Array | undefined) => void) {
    this.#connection = connection;
    this.#era = era;
    this.#answer = answer;
  }

  send(message: Uint8Array, urgency: Urgency, key?: string): void {
    if (!this.#settled) this.#connection.send({ id: undefined, data: message, urgency, key });
  }

  settle(settlement: Settlement): void {
    if (this.#settled) return;
    this.#settled = true;
    if (settlement.kind === 'response') this.#answer(inOnePiece(settlement.bytes));
    else if (settlement.kind === 'failure') this.#answer(failureBytes(settlement.failure, this.#era, settlement.id));
    else this.#answer(undefined);
  }

  pause(): void {
    // The connection itself carries the response, so it stays open.
  }

  onAbandoned(): void {
    // When the connection ends, everything on it is ended together.
  }
}
