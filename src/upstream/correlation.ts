/** Requests on a channel that all requests share: matches each response to its request by id. */
import { Failure } from '../errors/failure.ts';
import { LinkedList, type ListMember } from '../exchange/linked-list.ts';
import type { Id, Message, Notification, Request, Response } from '../wire/message.ts';
import { answerIdIn } from '../wire/skim.ts';
import { idIn } from '../wire/values.ts';
import type { ChannelNotes, ChannelSink, HttpFacts, Pending, RequestSink } from './channel.ts';
import { excerpt, unreadableAnswer } from './incoming.ts';
import type { Reception } from './reception.ts';

/** Receives one response. Only responses are found by id. */
export type AnswerSink = Pick<RequestSink, 'answered' | 'failed'>;

/** Aborted requests whose responses may still arrive. Several times `callsPerBackend`; the oldest is dropped first. */
const ABANDONED = 1024;

export class AwaitedAnswer implements Pending, ListMember {
  previous: ListMember | undefined = undefined;
  next: ListMember | undefined = undefined;
  list: LinkedList<ListMember> | undefined = undefined;
  readonly id: string;
  readonly sink: AnswerSink;
  readonly #all: Correlation;

  constructor(all: Correlation, id: string, sink: AnswerSink) {
    this.#all = all;
    this.id = id;
    this.sink = sink;
  }

  fail(failure: Failure, http?: HttpFacts): void {
    if (this.#all.take(this)) this.sink.failed(failure, http);
  }

  abort(): void {
    this.#all.abandon(this);
  }
}

export class Correlation {
  readonly #notes: ChannelNotes;
  /**
   * In the order of requests, which is about the order of responses, so the one that a response is for is found near
   * the beginning.
   */
  readonly #waiting = new LinkedList<AwaitedAnswer>();
  readonly #abandoned = new Set<string>();
  readonly #emptied: (() => void) | undefined;

  /** `emptied`: called when no request waits for a response any more. */
  constructor(notes: ChannelNotes, emptied?: () => void) {
    this.#notes = notes;
    this.#emptied = emptied;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** Throws a Failure where the id is already in flight. */
  add(id: string, sink: AnswerSink): AwaitedAnswer {
    if (this.#find(id) !== undefined) throw new Failure('internal_error', { cause: 'an id is used twice' });
    const waiting = new AwaitedAnswer(this, id, sink);
    this.#waiting.add(waiting);
    return waiting;
  }

  /** Removes the request. False where it was already removed. */
  take(waiting: AwaitedAnswer): boolean {
    if (!this.#waiting.remove(waiting)) return false;
    if (this.#waiting.size === 0) this.#emptied?.();
    return true;
  }

  abandon(waiting: AwaitedAnswer): void {
    if (!this.take(waiting)) return;
    this.#abandoned.add(waiting.id);
    const [oldest] = this.#abandoned;
    if (this.#abandoned.size > ABANDONED && oldest !== undefined) this.#abandoned.delete(oldest);
  }

  /**
   * Notes a response that matches no open request (late, unknown or duplicate). A late one still counts as an answer:
   * the backend may have sent it before it got the cancellation
   * (https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/cancellation#timing-considerations).
   */
  #answer(message: Response): Reception {
    const key = message.id?.key ?? '';
    const waiting = this.#find(key);
    if (waiting !== undefined && this.take(waiting)) {
      waiting.sink.answered(message, undefined);
      return 'answer';
    }
    this.#notes.noise('unknown_id', excerpt(message.bytes));
    return this.#abandoned.delete(key) ? 'answer' : 'none';
  }

  /** A response goes to its request, anything else to the sink. Progress of an abandoned request is `late`. */
  receive(message: Message, sink: ChannelSink): Reception {
    if (message.kind === 'result' || message.kind === 'error') return this.#answer(message);
    const reception = sink.stray(message);
    return reception === 'none' && this.#isLate(message) ? 'late' : reception;
  }

  #find(key: string): AwaitedAnswer | undefined {
    return this.#waiting.find(({ id }) => id === key);
  }

  #isLate(message: Notification | Request): boolean {
    if (message.method !== 'notifications/progress' || this.#abandoned.size === 0) return false;
    const token = idIn(message, 'progressToken');
    return token !== undefined && this.#abandoned.has(token.key);
  }

  /** Bytes that are no message. If they were meant as a response, its request fails at once. */
  unreadable(bytes: Uint8Array): Reception {
    const id = this.size === 0 ? undefined : answerIdIn(bytes);
    if (id === undefined || !this.fail(id, unreadableAnswer())) return 'none';
    return 'answer';
  }

  /** False where no request with that id is open. */
  fail({ key }: Id, failure: Failure): boolean {
    const waiting = this.#find(key);
    waiting?.fail(failure);
    return waiting !== undefined;
  }

  failAll(failure: Failure): void {
    for (const waiting of this.#waiting.members()) waiting.fail(failure);
  }
}
