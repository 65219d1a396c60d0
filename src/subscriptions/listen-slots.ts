/** Counts the open `subscriptions/listen` streams of each principal, up to `limits.listenStreams`. */
import { Failure } from '../errors/failure.ts';
import type { Principal } from '../identity/principal.ts';

export class ListenSlots {
  readonly #most: number;
  readonly #open = new Map<string, number>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Reserves a slot, or throws. Call the returned function when the stream is over; a second call does nothing. */
  take({ key }: Principal): () => void {
    const open = this.#open.get(key) ?? 0;
    if (open >= this.#most) throw new Failure('too_many_requests', { message: 'Too many subscriptions' });
    this.#open.set(key, open + 1);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      const left = (this.#open.get(key) ?? 1) - 1;
      if (left === 0) this.#open.delete(key);
      else this.#open.set(key, left);
    };
  }
}
