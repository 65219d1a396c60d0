/**
 * The messages of a backend's event stream, across its connections, limited by the flood budget. Keeps the position:
 * the last event id, the reconnection time, and the events already seen, so that a replayed event is not processed
 * twice.
 */
import type { Dispatcher } from 'undici';
import { Failure } from '../../errors/failure.ts';
import type { Message } from '../../wire/message.ts';
import { type SseEvent, SseReader } from '../../wire/sse.ts';
import { asFailure } from '../as-failure.ts';
import { floodFailure } from '../flood-meter.ts';
import { readEvent } from '../incoming.ts';
import type { Reception } from '../reception.ts';
import { Throttle, type ThrottledPipe } from '../throttle.ts';
import type { HttpChannelLimits, HttpTransportOptions } from './context.ts';

export interface FlowContext extends Pick<HttpTransportOptions, 'flood' | 'clock' | 'notes'> {
  readonly limits: Pick<HttpChannelLimits, 'resultBytes'>;
}

export interface FlowListener {
  /** Called for each event, before its messages. An exception breaks the stream. */
  event?(event: SseEvent): void;
  message(message: Message): Reception;
  /** An event whose data is no message. */
  unreadable?(data: Uint8Array): Reception;
  /** Nothing more can be read on this connection. */
  broken(failure: Failure): void;
  /** The backend flooded for too long. */
  flooded(failure: Failure): void;
}

/** A replay starts right after the last id that we read, so an overlap is short. */
const SEEN_IDS = 256;
/** No header line carries longer ids than this, so they are useless. */
const ID_CHARACTERS = 4_096;

export class EventFlow implements ThrottledPipe<SseEvent | Failure> {
  /** The `Last-Event-ID` to resume with; undefined where the stream cannot be resumed. */
  lastEventId: string | undefined;
  /** When to reconnect, as the backend said. */
  retryMs: number | undefined;
  readonly #context: FlowContext;
  readonly #where: string;
  readonly #listener: FlowListener;
  readonly #throttle: Throttle<SseEvent | Failure>;
  /** Of the current connection. Set by `opened`, before anything is read. */
  #reader!: SseReader;
  #controller: Dispatcher.DispatchController | undefined;
  #seen: Set<string> | undefined;
  #isReplay = false;

  /** `where`: the name of the stream in the log. */
  constructor(context: FlowContext, where: string, listener: FlowListener) {
    const { flood, clock } = context;
    this.#context = context;
    this.#where = where;
    this.#listener = listener;
    this.#throttle = new Throttle(flood, clock, this);
  }

  get isFlooding(): boolean {
    return this.#throttle.isFlooding;
  }

  /** A connection is open: the first one, or one that continues the stream. An event that was cut off is sent again. */
  opened(controller: Dispatcher.DispatchController): void {
    this.#reader = new SseReader({ eventBytes: this.#context.limits.resultBytes });
    this.#isReplay = this.#seen !== undefined;
    this.#throttle.restart();
    this.#controller = controller;
    if (this.#throttle.isPaused) controller.pause();
  }

  push(chunk: Buffer): void {
    const items = this.#read(chunk);
    this.#throttle.countNoise(this.#reader.takeEmptyLines(), 0);
    this.#throttle.countLines(this.#reader.takeFurtherLines());
    this.#throttle.push(items);
  }

  /** The connection is closed. Events that arrived before are passed on. */
  closed(): void {
    this.#controller = undefined;
    this.#throttle.release();
  }

  /** Discards what is held, and stops counting. */
  stop(): void {
    this.#throttle.stop();
    this.#throttle.drop();
  }

  /** The last item is a failure where an event is too large; nothing more can be read then. */
  #read(chunk: Uint8Array): readonly (SseEvent | Failure)[] {
    try {
      const events = this.#reader.push(chunk);
      return this.#reader.failure === undefined ? events : [...events, this.#reader.failure];
    } catch (cause) {
      return [asFailure(cause)];
    }
  }

  /** Called by the throttle, like `pause`, `resume` and `flooded`. */
  take(item: SseEvent | Failure): void {
    try {
      if (item instanceof Failure) throw item;
      this.#hear(item);
    } catch (cause) {
      this.#throttle.drop();
      this.#listener.broken(asFailure(cause));
    }
  }

  pause(): void {
    this.#controller?.pause();
    this.#context.notes.flood('paused', this.#where);
  }

  resume(): void {
    this.#controller?.resume();
  }

  flooded(): void {
    this.#context.notes.flood('ended', this.#where);
    this.#listener.flooded(floodFailure());
  }

  #hear(event: SseEvent): void {
    this.#listener.event?.(event);
    if (event.retry !== undefined) this.retryMs = event.retry;
    const isNew = event.id === undefined || this.#isNewId(event.id);
    const data = isNew ? messageIn(event) : undefined;
    const messages = data && readEvent(data, this.#context.notes);
    if (messages === undefined) {
      const reception = data && this.#listener.unreadable?.(data);
      this.#throttle.count(reception ?? 'none', event.data?.byteLength ?? 0);
    } else
      for (const message of messages) {
        if (this.#throttle.isEnded) return;
        this.#throttle.count(this.#listener.message(message), message.bytes.byteLength);
      }
  }

  /**
   * After a reconnect, a server may first replay events that we have seen. From the first new event on, every id counts
   * as new: a server that uses an id twice means two events.
   */
  #isNewId(id: string): boolean {
    if (this.#isReplay) {
      if (this.#seen?.has(id)) return false;
      this.#isReplay = false;
    }
    this.lastEventId = asHeaderValue(id);
    if (this.lastEventId === undefined) return true;
    this.#seen ??= new Set();
    this.#seen.add(id);
    const [oldest] = this.#seen;
    if (this.#seen.size > SEEN_IDS && oldest !== undefined) this.#seen.delete(oldest);
    return true;
  }
}

/** Other events are no messages: keep-alives of some servers, `endpoint` of HTTP+SSE, ids that open a stream. */
export function messageIn({ event, data }: SseEvent): Uint8Array | undefined {
  if (event !== undefined && event !== '' && event !== 'message') return undefined;
  return data !== undefined && data.byteLength > 0 ? data : undefined;
}

/** An empty id resets the last one (WHATWG HTML, 9.2.6). An id that fits no header counts as none. */
function asHeaderValue(id: string): string | undefined {
  if (id === '' || id.length > ID_CHARACTERS) return undefined;
  for (let i = 0; i < id.length; i++) {
    const unit = id.charCodeAt(i);
    if ((unit < 0x20 && unit !== 0x09) || unit === 0x7f) return undefined;
  }
  // The header carries the id's UTF-8 bytes, one character each.
  return Buffer.from(id, 'utf8').toString('latin1');
}
