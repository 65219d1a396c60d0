/** Requests on a channel that everything shares: each answer is found by its id. */
import { Failure } from '../errors.ts';
import type { Response } from '../wire/message.ts';
import type { ChannelNotes, HttpFacts, Pending, RequestSink } from './channel.ts';
import { excerpt } from './incoming.ts';

/** Who waits for one answer: nothing else is found by an id. */
export type AnswerSink = Pick<RequestSink, 'answered' | 'failed'>;

export class Waiting implements Pending {
  readonly id: string;
  readonly sink: AnswerSink;
  readonly #all: Map<string, Waiting>;
  readonly #emptied: (() => void) | undefined;

  constructor(all: Map<string, Waiting>, id: string, sink: AnswerSink, emptied: (() => void) | undefined) {
    this.#all = all;
    this.#emptied = emptied;
    this.id = id;
    this.sink = sink;
  }

  /** Whether it was still waited for. */
  take(): boolean {
    if (this.#all.get(this.id) !== this) return false;
    this.#all.delete(this.id);
    if (this.#all.size === 0) this.#emptied?.();
    return true;
  }

  fail(failure: Failure, http?: HttpFacts): void {
    if (this.take()) this.sink.failed(failure, http);
  }

  abort(): void {
    this.take();
  }
}

export class Correlation {
  readonly #notes: ChannelNotes;
  readonly #waiting = new Map<string, Waiting>();

  readonly #emptied: (() => void) | undefined;

  /** `emptied`: no request waits for an answer. */
  constructor(notes: ChannelNotes, emptied?: () => void) {
    this.#notes = notes;
    this.#emptied = emptied;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** Throws a Failure where the id is in flight already. */
  add(id: string, sink: AnswerSink): Waiting {
    if (this.#waiting.has(id)) throw new Failure('internal_error', { cause: 'an id is used twice' });
    const waiting = new Waiting(this.#waiting, id, sink, this.#emptied);
    this.#waiting.set(id, waiting);
    return waiting;
  }

  /** Whether it was waited for. An answer that is not, unknown or given twice, is noted. */
  answer(message: Response): boolean {
    const waiting = message.id === undefined ? undefined : this.#waiting.get(message.id.key);
    if (waiting?.take()) {
      waiting.sink.answered(message, undefined);
      return true;
    }
    this.#notes.noise('unknown_id', excerpt(message.bytes));
    return false;
  }

  failAll(failure: Failure): void {
    for (const waiting of [...this.#waiting.values()]) waiting.fail(failure);
  }
}
