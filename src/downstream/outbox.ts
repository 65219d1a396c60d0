/**
 * One bounded, ordered queue in front of one reader. While the reader keeps up, messages go straight through. When it does
 * not, progress is coalesced, log messages are left out above a soft bound, and everything else waits; above the hard bound
 * the reader is cut off. The sender never waits.
 */
import type { Connection, StreamEvent } from '../exchange/outlet.ts';
import type { IngressNotes } from './notes.ts';

export interface OutboxLimits {
  /** Above this, progress without a successor to wait for and log messages are left out. */
  readonly outboxSoftBytes: number;
  /** A reader for which so much waits when one more message comes is cut off. One message alone never is too much. */
  readonly outboxBytes: number;
}

/** What an event costs beside its data: objects, and its id. */
const EVENT_BYTES = 128;

export abstract class Outbox implements Connection {
  readonly #limits: OutboxLimits;
  readonly #notes: IngressNotes;
  /** By order of arrival. Made when the reader is slow for the first time: most never are. */
  #queue: Map<number, StreamEvent> | undefined;
  /** Where progress that has not been sent waits, by its key. */
  #progress: Map<string, number> | undefined;
  #arrivals = 0;
  #bytes = 0;
  /** The reader has not taken what was written last. */
  #blocked: boolean;
  #ending = false;
  #farewell: Uint8Array | undefined;
  #closed = false;
  #listeners: (() => void)[] = [];

  /** One that is held sends nothing until it is released. */
  constructor(limits: OutboxLimits, notes: IngressNotes, held = false) {
    this.#limits = limits;
    this.#notes = notes;
    this.#blocked = held;
  }

  /** As late as possible: what is left out or replaced is never encoded. */
  protected abstract encode(event: StreamEvent): Uint8Array;
  /** False: call `release` once there is room again. */
  protected abstract write(bytes: Uint8Array): boolean;
  /** Everything was written; closes in good order. */
  protected abstract finish(): void;
  /** Closes at once, whatever has not been sent. */
  protected abstract destroy(): void;
  /** What a reader is told that should come back, where the transport has words for it. */
  protected abstract goodbye(retryMs: number | undefined): Uint8Array | undefined;

  /** So much waits in the queue. For transports with a bound on what waits for all readers. */
  protected waiting(_bytes: number): void {
    // Most have none.
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
    else this.#listeners.push(listener);
  }

  /** The reader has taken everything; or what was held may go. */
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

  /** For what is no event, and of no use to a reader that is behind. */
  protected writeAside(bytes: Uint8Array): void {
    if (!this.#blocked && !this.#ending && !this.#closed && !this.write(bytes)) this.#blocked = true;
  }

  /** For the transport: the connection is gone, whoever ended it. */
  protected close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#queue = undefined;
    this.#progress = undefined;
    const listeners = this.#listeners;
    this.#listeners = [];
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
   * Later progress takes the place of earlier, but at the end of the queue: events leave in the order of their ids, or a
   * client that resumes after one of them would miss those that it overtook.
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
