/**
 * The ways to one legacy client. What belongs to no request of its own goes to exactly one place: over Streamable HTTP to one
 * of the streams that the client opened with GET, over HTTP+SSE and stdio to the only stream there is.
 */
import { Failure } from '../errors/failure.ts';
import type { Connection, Urgency } from '../exchange/outlet.ts';
import type { EventLog } from '../store/ports.ts';
import { parseEventId, Stream } from './event-stream.ts';

/** Marks a question among the messages that are kept. */
export const questionKey = 'question';

/** Where messages go that no request of the client asked for. */
export interface Downstream {
  deliver(message: Uint8Array, urgency: Urgency, key?: string): void;
  /** Somebody is reading. */
  readonly connected: boolean;
  /** Somebody reads what belongs to no request. */
  readonly listens: boolean;
  close(): void;
}

export class LineDownstream implements Downstream {
  readonly #connection: Connection;
  #open = true;

  constructor(connection: Connection) {
    this.#connection = connection;
    connection.onClose(() => {
      this.#open = false;
    });
  }

  get connected(): boolean {
    return this.#open;
  }

  get listens(): boolean {
    return this.#open;
  }

  deliver(message: Uint8Array, urgency: Urgency, key?: string): void {
    this.#connection.send({ id: undefined, data: message, urgency, key });
  }

  close(): void {
    this.#connection.end();
  }
}

/** For a client that has no stream but the answer to its one request. */
export const nowhere: Downstream = {
  deliver: () => undefined,
  connected: false,
  listens: false,
  close: () => undefined,
};

export interface StreamLimits {
  /** Streams opened by GET that somebody reads. */
  readonly streamsPerSession: number;
  /** Messages that wait for the client to open its stream. */
  readonly eventsPerStream: number;
  /** Their bytes. */
  readonly eventBytesPerStream: number;
}

/** What the streams of one session have in common. */
export interface StreamsFacts {
  readonly sessionId: string;
  /** Begins the id of every stream, and with it of every event: an event of another session is then known as such. */
  readonly tag: string;
  /** 2025-11-25 begins a stream with an event that has an id and no data, and can close a connection that is to be polled. */
  readonly polls: boolean;
}

/** Streams that have ended and are kept for a client that lost the end: as many requests as one client has in flight at a time. */
const ENDED_STREAMS_KEPT = 32;

interface WaitingMessage {
  readonly message: Uint8Array;
  readonly urgency: Urgency;
  readonly key: string | undefined;
}

export class StreamsDownstream implements Downstream {
  readonly #facts: StreamsFacts;
  readonly #log: EventLog;
  readonly #limits: StreamLimits;
  readonly #streams = new Map<string, Stream>();
  /** Opened by GET, the newest last. */
  #standalone: Stream[] = [];
  readonly #ended: Stream[] = [];
  readonly #waiting: WaitingMessage[] = [];
  #waitingBytes = 0;
  #count = 0;

  constructor(facts: StreamsFacts, log: EventLog, limits: StreamLimits) {
    this.#facts = facts;
    this.#log = log;
    this.#limits = limits;
  }

  get connected(): boolean {
    return [...this.#streams.values()].some((stream) => stream.connected);
  }

  get listens(): boolean {
    return this.#standalone.some((stream) => stream.connected);
  }

  /** The stream of a POST, before anything was sent on it. */
  open(): Stream {
    const { sessionId, tag, polls } = this.#facts;
    const id = `${tag}.${++this.#count}`;
    const stream = new Stream({ id, sessionId, polls }, this.#log, (ended) => this.#keepEnded(ended));
    this.#streams.set(stream.id, stream);
    return stream;
  }

  /** A standalone stream, opened by GET. Throws where there are enough of them; then nothing was opened. */
  listen(open: () => Connection): void {
    const read = this.#standalone.filter((other) => other.connected).length;
    if (read >= this.#limits.streamsPerSession) throw new Failure('too_many_requests', { message: 'Too many streams' });
    const stream = this.open();
    stream.attach(open());
    this.#standalone.push(stream);
    // A client that opens another one after its old connection was lost has given the old stream up.
    for (const old of this.#standalone.filter((other) => other !== stream && !other.connected)) old.terminate();
    this.#flush(stream);
  }

  /** False where the event is none of ours, or is no longer kept. */
  async resume(eventId: string, open: () => Connection): Promise<boolean> {
    const event = parseEventId(eventId);
    const stream = event && this.#streams.get(event.stream);
    if (event === undefined || stream === undefined || !(await stream.resume(event.sequence, open))) return false;
    if (this.#standalone.includes(stream)) this.#flush(stream);
    return true;
  }

  deliver(message: Uint8Array, urgency: Urgency, key?: string): void {
    const stream = this.#standalone.findLast((candidate) => candidate.connected);
    if (stream !== undefined) {
      stream.emit(message, urgency, key);
      return;
    }
    this.#waiting.push({ message, urgency, key });
    this.#waitingBytes += message.byteLength;
    const { eventsPerStream, eventBytesPerStream } = this.#limits;
    while (this.#waiting.length > eventsPerStream || this.#waitingBytes > eventBytesPerStream) this.#dropWaiting();
  }

  close(): void {
    for (const stream of [...this.#streams.values()]) {
      stream.terminate();
      stream.forget();
    }
    this.#streams.clear();
    this.#waiting.length = 0;
    this.#waitingBytes = 0;
  }

  /** The oldest of those that nobody misses, else the oldest that is no question: those are few, and somebody waits for each. */
  #dropWaiting(): void {
    const expendable = this.#waiting.findIndex((waiting) => waiting.urgency !== 'keep');
    const oldest = expendable === -1 ? this.#waiting.findIndex((waiting) => waiting.key !== questionKey) : expendable;
    const [dropped] = this.#waiting.splice(Math.max(oldest, 0), 1);
    this.#waitingBytes -= dropped?.message.byteLength ?? 0;
  }

  #flush(stream: Stream): void {
    this.#waitingBytes = 0;
    for (const { message, urgency, key } of this.#waiting.splice(0)) stream.emit(message, urgency, key);
  }

  #keepEnded(stream: Stream): void {
    this.#standalone = this.#standalone.filter((other) => other !== stream);
    this.#ended.push(stream);
    if (this.#ended.length <= ENDED_STREAMS_KEPT) return;
    const oldest = this.#ended.shift();
    if (oldest === undefined) return;
    this.#streams.delete(oldest.id);
    oldest.forget();
  }
}
