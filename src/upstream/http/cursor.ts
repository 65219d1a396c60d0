/**
 * The position in a backend's event stream, across its connections: the last event id, the reconnection time, and the
 * events already seen, so that a replayed event is not processed twice.
 */
import type { Failure } from '../../errors/failure.ts';
import { type SseEvent, SseReader } from '../../wire/sse.ts';
import { asFailure } from '../as-failure.ts';

/** A replay starts right after the last id that we read, so an overlap is short. */
const SEEN_IDS = 256;
/** No header line carries longer ids than this, so they are useless. */
const ID_CHARACTERS = 4_096;

export class EventCursor {
  readonly #eventBytes: number;
  #reader: SseReader;
  #lastEventId: string | undefined;
  #retryMs: number | undefined;
  #seen: Set<string> | undefined;
  #isReplay = false;

  constructor(eventBytes: number) {
    this.#eventBytes = eventBytes;
    this.#reader = new SseReader({ eventBytes });
  }

  /** The `Last-Event-ID` to resume with; undefined where the stream cannot be resumed. */
  get lastEventId(): string | undefined {
    return this.#lastEventId;
  }

  get retryMs(): number | undefined {
    return this.#retryMs;
  }

  /** The stream starts, or continues on a new connection. An event that was cut off is sent again. */
  opened(): void {
    this.#reader = new SseReader({ eventBytes: this.#eventBytes });
    this.#isReplay = this.#seen !== undefined;
  }

  /**
   * The events that the chunk completes. The last item is a failure where an event is too large; nothing more can be
   * read then.
   */
  read(chunk: Uint8Array): readonly (SseEvent | Failure)[] {
    try {
      const events = this.#reader.push(chunk);
      return this.#reader.failure === undefined ? events : [...events, this.#reader.failure];
    } catch (cause) {
      return [asFailure(cause)];
    }
  }

  /** How many lines since the last call were empty or comments. */
  takeEmptyLines(): number {
    return this.#reader.takeEmptyLines();
  }

  /** How many lines since the last call exceed those that an event needs. */
  takeFurtherLines(): number {
    return this.#reader.takeFurtherLines();
  }

  /** Takes each event in order. Returns whether it is new. */
  isNew({ id, retry }: SseEvent): boolean {
    if (retry !== undefined) this.#retryMs = retry;
    return id === undefined || this.#isNewId(id);
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
    this.#lastEventId = asHeaderValue(id);
    if (this.#lastEventId === undefined) return true;
    this.#seen ??= new Set();
    this.#seen.add(id);
    if (this.#seen.size > SEEN_IDS) {
      for (const oldest of this.#seen) {
        this.#seen.delete(oldest);
        break;
      }
    }
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
