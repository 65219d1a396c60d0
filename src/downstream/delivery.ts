/**
 * What is ready for a client goes out in pieces, each when the one before was taken. So it can be seen whether the client
 * reads, and what waits for clients that do not is counted and bounded.
 */
import type { HttpAnswer } from './answer.ts';
import type { IngressNotes } from './notes.ts';
import type { Sweep, Sweepable } from './sweep.ts';

/** What all deliveries of a server share. */
export interface Deliveries {
  /** Times each piece. */
  readonly stalled: Sweep;
  readonly readers: SlowReaders;
  readonly notes: IngressNotes;
}

/** A client must take so much within `readerStallMs`; a slow mobile line does, and large answers lose nothing by it. */
export const PIECE_BYTES = 1024 * 1024;

export class Delivery implements Sweepable {
  due = 0;
  /** What waits in front of it, in a queue. */
  queued = 0;
  readonly #res: HttpAnswer;
  readonly #shared: Deliveries;
  readonly #onRoom: () => void;
  #left: Uint8Array | undefined;
  #waits = false;

  constructor(res: HttpAnswer, shared: Deliveries, onRoom: () => void) {
    this.#res = res;
    this.#shared = shared;
    this.#onRoom = onRoom;
    res.whenGone(() => this.#settle());
  }

  /** False: the rest goes out as the client takes it, and then there is room for more. */
  write(bytes: Uint8Array): boolean {
    if (this.#push(bytes)) return true;
    this.#wait();
    return false;
  }

  /** Everything was written: watches that the client takes it. */
  end(): void {
    this.#res.end();
    this.watch();
  }

  /** What was written already is watched, too. */
  watch(): void {
    if (this.#res.writableLength === 0 || this.#res.gone) return;
    this.#begin();
    this.#res.once('finish', () => this.#settle());
  }

  /** Something that was written elsewhere has filled what the system takes. */
  blocked(): void {
    this.#wait();
  }

  /** More or less waits in the queue than before. */
  count(queued: number): void {
    this.queued = queued;
    if (this.#waits) this.#hold();
  }

  /** The client has taken nothing for too long. */
  expire(): void {
    this.cut();
  }

  cut(): void {
    this.#shared.notes.cutOff();
    this.#settle();
    this.#res.destroy();
  }

  #push(bytes: Uint8Array): boolean {
    let at = 0;
    while (bytes.byteLength - at > PIECE_BYTES) {
      const piece = bytes.subarray(at, at + PIECE_BYTES);
      at += PIECE_BYTES;
      if (this.#res.write(piece)) continue;
      this.#left = bytes.subarray(at);
      return false;
    }
    return this.#res.write(at === 0 ? bytes : bytes.subarray(at));
  }

  #wait(): void {
    this.#begin();
    this.#res.once('drain', () => this.#drained());
  }

  #drained(): void {
    const left = this.#left;
    this.#left = undefined;
    if (left !== undefined && !this.#push(left)) this.#wait();
    else {
      this.#settle();
      this.#onRoom();
    }
  }

  #begin(): void {
    this.#waits = true;
    this.#hold();
    if (!this.#waits) return;
    // Behind an earlier answer of the same connection it is not the client that is waited for.
    if (this.#res.socket !== null) this.#shared.stalled.add(this);
    else this.#res.once('socket', () => this.#waits && this.#shared.stalled.add(this));
  }

  #hold(): void {
    this.#shared.readers.hold(this, this.#res.writableLength + (this.#left?.byteLength ?? 0) + this.queued);
  }

  #settle(): void {
    if (!this.#waits) return;
    this.#waits = false;
    this.#shared.stalled.remove(this);
    this.#shared.readers.hold(this, 0);
  }
}

/**
 * All bytes that wait for slow readers. Above the bound one is cut: of those with at least half of an average share, the one
 * that took nothing for longest. So neither a reader that has just begun pays for the others, nor one that has little left.
 */
export class SlowReaders {
  readonly #most: number;
  /** In the order in which each took something last. */
  readonly #held = new Map<Delivery, number>();
  #total = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** So much waits for it now. */
  hold(reader: Delivery, bytes: number): void {
    const before = this.#held.get(reader) ?? 0;
    if (before === 0 && bytes === 0) return;
    if (bytes < before) this.#held.delete(reader);
    if (bytes > 0) this.#held.set(reader, bytes);
    this.#total += bytes - before;
    while (this.#total > this.#most) this.#cutOne();
  }

  #cutOne(): void {
    const share = Math.floor(this.#total / this.#held.size / 2);
    for (const [reader, bytes] of this.#held) {
      if (bytes < share) continue;
      reader.cut();
      return;
    }
  }
}
