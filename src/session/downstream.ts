/**
 * The streams to one legacy client. A message that belongs to no client request goes to exactly one of them: over
 * Streamable HTTP to a stream that the client opened with GET, over HTTP+SSE and stdio to the only stream there is.
 */
import { Failure } from '../errors/failure.ts';
import { LinkedList } from '../exchange/linked-list.ts';
import type { Connection, Urgency } from '../exchange/outlet.ts';
import type { EventLog, LoggedEvent } from '../store/ports.ts';
import { skimMessage } from '../wire/skim.ts';
import { type EventPlace, eventId, logKey, parseEventId, Stream, type StreamOwner } from './event-stream.ts';

/** Marks a server request among the kept messages. */
export const questionKey = 'question';

/** Where messages go that belong to no client request. */
export interface Downstream {
  deliver(message: Uint8Array, urgency: Urgency, key?: string): void;
  /** Whether the client reads any stream. */
  readonly connected: boolean;
  /** Whether the client reads a stream for messages outside of its requests. */
  readonly listens: boolean;
  /** `isContinued`: the session goes on elsewhere, and its client may resume there. */
  close(isContinued: boolean): void;
}

export class ConnectionDownstream implements Downstream {
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

/** For a client whose only stream is the response to its one request. */
export const nowhere: Downstream = {
  deliver: () => undefined,
  connected: false,
  listens: false,
  close: () => undefined,
};

export interface StreamLimits {
  /** Streams opened by GET that the client is reading. */
  readonly streamsPerSession: number;
  /** Messages that wait for the client to open its stream. */
  readonly eventsPerStream: number;
  /** The bytes of these messages. */
  readonly eventBytesPerStream: number;
}

/** What the streams of one session share. */
export interface StreamsFacts {
  readonly sessionId: string;
  /** Prefix of the id of every stream, and so of every event: it exposes the event ids of other sessions. */
  readonly tag: string;
  /**
   * 2025-11-25 starts a stream with an event that has an id and no data, and may close a connection that the client is
   * to poll.
   */
  readonly polls: boolean;
  /** The session began elsewhere, so its client may have streams that are not known here. */
  readonly isContinued?: boolean;
}

/**
 * Ended streams kept for a client that lost the end: as many as the requests that one client has in flight at a time.
 */
const ENDED_STREAMS_KEPT = 32;

/** Marks the ids of standalone streams. */
const STANDALONE = 's';

interface WaitingMessage {
  readonly message: Uint8Array;
  readonly urgency: Urgency;
  readonly key: string | undefined;
}

const none: readonly Stream[] = [];

export class StreamsDownstream implements Downstream, StreamOwner {
  readonly #facts: StreamsFacts;
  readonly #log: EventLog;
  readonly #limits: StreamLimits;
  readonly #streams = new LinkedList<Stream>();
  /** Opened by GET, newest last. */
  #standalone: readonly Stream[] = none;
  /** Created with the first, like `#waiting`: an idle session has none. */
  #ended: Stream[] | undefined;
  #waiting: WaitingMessage[] | undefined;
  #waitingBytes = 0;
  #count = 0;

  constructor(facts: StreamsFacts, log: EventLog, limits: StreamLimits) {
    this.#facts = facts;
    this.#log = log;
    this.#limits = limits;
  }

  get connected(): boolean {
    return this.#streams.find((stream) => stream.connected) !== undefined;
  }

  get listens(): boolean {
    return this.#standalone.some((stream) => stream.connected);
  }

  /** Creates the stream of a POST, before anything is sent on it. */
  open(kind = ''): Stream {
    const id = `${this.#facts.tag}.${kind}${++this.#count}`;
    const stream = new Stream(id, this.#facts, this.#log, this);
    this.#streams.add(stream);
    return stream;
  }

  /** Opens a standalone stream (GET). Throws at the limit; nothing is opened then. */
  listen(open: () => Connection): void {
    const read = this.#standalone.filter((other) => other.connected).length;
    if (read >= this.#limits.streamsPerSession) throw new Failure('too_many_requests', { message: 'Too many streams' });
    const stream = this.open(STANDALONE);
    stream.attach(open());
    // Not `push`, which makes room for sixteen more.
    this.#standalone = this.#standalone.concat(stream);
    // A client that opens a new stream after it lost its connection has given up the old stream.
    for (const old of this.#standalone.filter((other) => other !== stream && !other.connected)) old.terminate();
    this.#flush(stream);
  }

  /** False where the event is not ours, or is no longer kept. */
  async resume(eventId: string, open: () => Connection): Promise<boolean> {
    const event = parseEventId(eventId);
    const stream = event && this.#streams.find(({ id }) => id === event.stream);
    if (event !== undefined && this.#wasElsewhere(event.stream)) return this.#resumeElsewhere(event, open);
    if (event === undefined || stream === undefined || !(await stream.resume(event.sequence, open))) return false;
    if (this.#standalone.includes(stream)) this.#flush(stream);
    return true;
  }

  #wasElsewhere(stream: string): boolean {
    const { tag, isContinued } = this.#facts;
    return isContinued === true && !stream.startsWith(`${tag}.`);
  }

  /**
   * A stream from before the session was continued here. A log that processes share has its events. A standalone stream
   * goes on as a new one; without a log, what was missed is told again. A response is replayed, or it is lost.
   */
  async #resumeElsewhere({ stream, sequence }: EventPlace, open: () => Connection): Promise<boolean> {
    const events = await this.#log.after(logKey(this.#facts.sessionId, stream), sequence).catch(() => undefined);
    const replayed = (): Connection => {
      const connection = open();
      for (const { sequence: at, data } of events ?? [])
        connection.send({ id: eventId(stream, at), data, urgency: 'keep', replayed: true });
      return connection;
    };
    if (stream.includes(`.${STANDALONE}`)) this.listen(replayed);
    else if (events !== undefined && endsWithResponse(events)) replayed().end();
    else return false;
    return true;
  }

  deliver(message: Uint8Array, urgency: Urgency, key?: string): void {
    const stream = this.#standalone.findLast((candidate) => candidate.connected);
    if (stream !== undefined) {
      stream.emit(message, urgency, key);
      return;
    }
    this.#waiting ??= [];
    this.#waiting.push({ message, urgency, key });
    this.#waitingBytes += message.byteLength;
    const { eventsPerStream, eventBytesPerStream } = this.#limits;
    while (this.#waiting.length > eventsPerStream || this.#waitingBytes > eventBytesPerStream)
      this.#dropWaiting(this.#waiting);
  }

  close(isContinued: boolean): void {
    for (const stream of this.#streams.members()) {
      stream.terminate();
      if (!isContinued) stream.forget();
    }
    this.#streams.clear();
    this.#waiting = undefined;
    this.#waitingBytes = 0;
  }

  /**
   * Drops the oldest message that need not be kept, or else the oldest that is no server request: those are few, and a
   * backend waits for each.
   */
  #dropWaiting(messages: WaitingMessage[]): void {
    const expendable = messages.findIndex((waiting) => waiting.urgency !== 'keep');
    const oldest = expendable === -1 ? messages.findIndex((waiting) => waiting.key !== questionKey) : expendable;
    const [dropped] = messages.splice(Math.max(oldest, 0), 1);
    this.#waitingBytes -= dropped?.message.byteLength ?? 0;
  }

  #flush(stream: Stream): void {
    const messages = this.#waiting ?? [];
    this.#waiting = undefined;
    this.#waitingBytes = 0;
    for (const { message, urgency, key } of messages) stream.emit(message, urgency, key);
  }

  /** Keeps the stream for a client that resumes it. */
  ended(stream: Stream): void {
    this.#standalone = this.#standalone.filter((other) => other !== stream);
    this.#ended ??= [];
    this.#ended.push(stream);
    if (this.#ended.length <= ENDED_STREAMS_KEPT) return;
    const oldest = this.#ended.shift();
    if (oldest === undefined) return;
    this.#streams.remove(oldest);
    oldest.forget();
  }
}

function endsWithResponse(events: readonly LoggedEvent[]): boolean {
  const last = events.at(-1)?.data;
  const message = last === undefined || last.byteLength === 0 ? undefined : skimMessage(last);
  return message?.kind === 'result' || message?.kind === 'error';
}
