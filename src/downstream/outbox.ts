/**
 * A bounded, ordered queue for one reader. While the reader keeps up, messages are written directly. When it does not,
 * progress is coalesced, log messages are dropped above a soft limit, and everything else waits. Above the hard limit
 * the reader is cut off. The sender never waits.
 */
import type { Connection, StreamEvent } from '../exchange/outlet.ts';
import type { IngressNotes } from './events.ts';

export interface OutboxLimits {
  /** Above this, log messages are dropped, and so is progress that replaces no queued progress. */
  readonly outboxSoftBytes: number;
  /** A reader with this much queued is cut off when one more message comes. A single message is never too much. */
  readonly outboxBytes: number;
}

/** What a queued event costs besides its data: objects, and its id. */
const EVENT_BYTES = 128;
const none: readonly never[] = [];

export abstract class Outbox implements Connection {
  readonly #limits: OutboxLimits;
  readonly #notes: IngressNotes;
  /** By order of arrival. Created when the reader is slow for the first time: most never are. */
  #queue: Map<number, StreamEvent> | undefined;
  /** The position of queued progress, by its key. */
  #progress: Map<string, number> | undefined;
  #arrivals = 0;
  #bytes = 0;
  /** The reader has not yet read what was last written. */
  #blocked: boolean;
  #ending = false;
  #farewell: Uint8Array | undefined;
  #closed = false;
  #listeners: readonly (() => void)[] = none;

  /** If `held`, nothing is sent until `release`. */
  constructor(limits: OutboxLimits, notes: IngressNotes, held = false) {
    this.#limits = limits;
    this.#notes = notes;
    this.#blocked = held;
  }

  /** Called as late as possible: an event that is dropped or replaced is never encoded. */
  protected abstract encode(event: StreamEvent): Uint8Array;
  /** False: `release` must be called once there is room again. */
  protected abstract write(bytes: Uint8Array): boolean;
  /** Everything was written: closes gracefully. */
  protected abstract finish(): void;
  /** Closes at once and drops what was not sent. */
  protected abstract destroy(): void;
  /** The message that tells the reader when to reconnect, where the transport has one. */
  protected abstract goodbye(retryMs: number | undefined): Uint8Array | undefined;

  /** Reports the bytes in the queue, for transports with a bound over all readers. */
  protected waiting(_bytes: number): void {
    // Most transports have none.
  }

  get closed(): boolean {
    return this.#closed;
  }

  send(event: StreamEvent): void {
    if (this.#ending || this.#closed) return;
    if (this.#blocked) this.#enqueue(event);
    else if (!this.write(this.encode(event))) this.#blocked = true;
  }

  pause(retryMs: number | undefined): void {
    if (this.#ending) return;
    this.#farewell = this.goodbye(retryMs);
    this.end();
  }

  end(): void {
    if (this.#ending || this.#closed) return;
    this.#ending = true;
    if (!this.#blocked) this.#finish();
  }

  onClose(listener: () => void): void {
    if (this.#closed) listener();
    // Not `push`, which makes room for sixteen more.
    else this.#listeners = this.#listeners.concat(listener);
  }

  /** The reader has read everything, or a held outbox may start. */
  protected release(): void {
    if (this.#closed) return;
    this.#blocked = false;
    if (this.#queue !== undefined) {
      for (const [arrival, event] of this.#queue) {
        this.#forget(arrival, event);
        if (!this.write(this.encode(event))) {
          this.#blocked = true;
          return;
        }
      }
    }
    if (this.#ending) this.#finish();
  }

  /** For bytes that are not an event and are useless to a slow reader, such as a heartbeat. */
  protected writeAside(bytes: Uint8Array): void {
    if (!this.#blocked && !this.#ending && !this.#closed && !this.write(bytes)) this.#blocked = true;
  }

  /** Called by the transport when the connection is gone, whichever side closed it. */
  protected close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#queue = undefined;
    this.#progress = undefined;
    const listeners = this.#listeners;
    this.#listeners = none;
    for (const listener of listeners) listener();
  }

  #enqueue(event: StreamEvent): void {
    if (event.urgency !== 'keep' && !this.#makeRoom(event, event.urgency)) return;
    if (event.replayed !== true && this.#bytes >= this.#limits.outboxBytes) {
      this.#notes.cutOff();
      this.destroy();
      this.close();
      return;
    }
    this.#queue ??= new Map();
    const arrival = this.#arrivals++;
    this.#queue.set(arrival, event);
    this.#bytes += costOf(event);
    this.waiting(this.#bytes);
    if (event.urgency === 'progress' && event.key !== undefined) {
      this.#progress ??= new Map();
      this.#progress.set(event.key, arrival);
    }
  }

  /**
   * Later progress replaces earlier progress, but at the end of the queue: events are sent in the order of their ids.
   * Otherwise a client that resumes after one of them would miss those that it overtook.
   */
  #makeRoom(event: StreamEvent, urgency: 'progress' | 'log'): boolean {
    const earlier = urgency === 'progress' && event.key !== undefined ? this.#progress?.get(event.key) : undefined;
    if (earlier !== undefined) {
      const replaced = this.#queue?.get(earlier);
      if (replaced !== undefined) this.#forget(earlier, replaced);
      this.#notes.dropped(urgency);
      return true;
    }
    if (this.#bytes < this.#limits.outboxSoftBytes) return true;
    this.#notes.dropped(urgency);
    return false;
  }

  #forget(arrival: number, event: StreamEvent): void {
    this.#queue?.delete(arrival);
    this.#bytes -= costOf(event);
    this.waiting(this.#bytes);
    if (event.key !== undefined && this.#progress?.get(event.key) === arrival) this.#progress.delete(event.key);
  }

  #finish(): void {
    const farewell = this.#farewell;
    this.#farewell = undefined;
    if (farewell === undefined || this.write(farewell)) this.finish();
    else this.#blocked = true;
  }
}

function costOf(event: StreamEvent): number {
  return event.replayed === true ? EVENT_BYTES : event.data.byteLength + EVENT_BYTES;
}
