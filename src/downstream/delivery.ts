/**
 * Sends a large response in pieces, each after the client has read the one before. This shows whether the client reads,
 * and lets us count and bound what waits for clients that do not.
 */

import type { Sweepable } from '../exchange/sweep.ts';
import type { GoneWatcher, HttpAnswer } from './respond.ts';

/**
 * A client must read this much within `readerStallMs`. A slow mobile connection can, and large responses lose nothing.
 */
export const PIECE_BYTES = 1024 * 1024;

export class Delivery implements Sweepable, GoneWatcher {
  due = 0;
  /** Bytes that wait in the outbox's queue, before this delivery. */
  queued = 0;
  readonly #res: HttpAnswer;
  readonly #onRoom: (() => void) | undefined;
  #left: Uint8Array | undefined;
  #waits = false;

  constructor(res: HttpAnswer, onRoom?: () => void) {
    this.#res = res;
    this.#onRoom = onRoom;
    res.whenGone(this);
  }

  /** False: the rest is sent as the client reads it, and `onRoom` is called afterwards. */
  write(bytes: Uint8Array): boolean {
    if (this.#push(bytes)) return true;
    this.blocked();
    return false;
  }

  /** Everything was written: watches until the client has read it. */
  end(): void {
    this.#res.end();
    this.watch();
  }

  /** Watches what was already written until the client has read it. */
  watch(): void {
    if (this.#res.writableLength === 0 || this.#res.gone) return;
    this.#begin();
    this.#res.once('finish', () => this.gone());
  }

  /** A write, of this delivery or outside of it, has filled the socket's buffer. */
  blocked(): void {
    this.#begin();
    this.#res.once('drain', () => this.#drained());
  }

  /** The number of bytes in the outbox's queue has changed. */
  count(queued: number): void {
    this.queued = queued;
    if (this.#waits) this.#hold();
  }

  /** Cuts the client off: it has read nothing for too long, or too much waits for slow readers. */
  expire(): void {
    this.#res.shared.notes.cutOff();
    this.gone();
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

  #drained(): void {
    const left = this.#left;
    this.#left = undefined;
    if (left !== undefined && !this.#push(left)) this.blocked();
    else {
      this.gone();
      this.#onRoom?.();
    }
  }

  #begin(): void {
    this.#waits = true;
    this.#hold();
    if (!this.#waits) return;
    // Behind an earlier response on the same connection, the client is not what this one waits for.
    if (this.#res.socket !== null) this.#res.shared.stalled.add(this);
    else this.#res.once('socket', () => this.#waits && this.#res.shared.stalled.add(this));
  }

  #hold(): void {
    this.#res.shared.readers.hold(this, this.#res.writableLength + (this.#left?.byteLength ?? 0) + this.queued);
  }

  /** Nothing waits any more: it was read, or the response is gone. */
  gone(): void {
    if (!this.#waits) return;
    this.#waits = false;
    this.#res.shared.stalled.remove(this);
    this.#res.shared.readers.hold(this, 0);
  }
}

/**
 * All bytes that wait for slow readers. Above the bound one reader is cut off: among those with at least half of an
 * average share, the one that has read nothing for longest. So a reader that has just started does not pay for the
 * others, nor does one with little left.
 */
export class SlowReaders {
  readonly #most: number;
  /** Ordered by when each reader last read something. */
  readonly #held = new Map<Delivery, number>();
  #total = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Sets how many bytes wait for this reader. */
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
      reader.expire();
      return;
    }
  }
}
