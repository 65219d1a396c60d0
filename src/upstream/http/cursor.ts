/**
 * Where we are in a backend's event stream, across the connections that carry it: the last event id, the time to come back
 * after, and which events were seen, so that a replay of what we have is not heard twice.
 */
import type { Failure } from '../../errors/failure.ts';
import { type SseEvent, SseReader } from '../../wire/sse.ts';
import { asFailure } from '../as-failure.ts';

/** A replay begins right after the last id that was read, so an overlap is short. */
const SEEN_IDS = 256;
/** Longer ids than any header line carries are of no use. */
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

  /** As the header value to resume with; undefined where the stream cannot be resumed. */
  get lastEventId(): string | undefined {
    return this.#lastEventId;
  }

  get retryMs(): number | undefined {
    return this.#retryMs;
  }

  /** The stream begins, or goes on over another connection; what was cut off in the middle comes again. */
  opened(): void {
    this.#reader = new SseReader({ eventBytes: this.#eventBytes });
    this.#isReplay = this.#seen !== undefined;
  }

  /** The events that the chunk completes; last a failure where one is too large, after which nothing can be read. */
  read(chunk: Uint8Array): readonly (SseEvent | Failure)[] {
    try {
      const events = this.#reader.push(chunk);
      return this.#reader.failure === undefined ? events : [...events, this.#reader.failure];
    } catch (cause) {
      return [asFailure(cause)];
    }
  }

  /** How many lines since the last time said nothing. */
  takeEmptyLines(): number {
    return this.#reader.takeEmptyLines();
  }

  /** How many lines since the last time came beyond those that an event needs. */
  takeFurtherLines(): number {
    return this.#reader.takeFurtherLines();
  }

  /** Each event in turn: whether it was not heard before. */
  isNew({ id, retry }: SseEvent): boolean {
    if (retry !== undefined) this.#retryMs = retry;
    return id === undefined || this.#isNewId(id);
  }

  /**
   * After a reconnect, events that we have seen already come first, if at all. From the first new one on, ids are taken as
   * they come: a server that uses one twice means two events.
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

/** Other events are no messages: keep-alives of some servers, `endpoint` of the old transport, ids that open a stream. */
export function messageIn({ event, data }: SseEvent): Uint8Array | undefined {
  if (event !== undefined && event !== '' && event !== 'message') return undefined;
  return data !== undefined && data.byteLength > 0 ? data : undefined;
}

/** An empty id takes the last one back (WHATWG HTML, 9.2.6), and one that no header can carry is as good as none. */
function asHeaderValue(id: string): string | undefined {
  if (id === '' || id.length > ID_CHARACTERS) return undefined;
  for (let i = 0; i < id.length; i++) {
    const unit = id.charCodeAt(i);
    if ((unit < 0x20 && unit !== 0x09) || unit === 0x7f) return undefined;
  }
  // The header carries the id's UTF-8 bytes, one character each.
  return Buffer.from(id, 'utf8').toString('latin1');
}
