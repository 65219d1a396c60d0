/** The last calls. A new one takes the place of the oldest; bodies have a bound of their own, in bytes. */
import type { RecordedCall } from './recorded-call.ts';

export class CallRing {
  readonly #most: number;
  readonly #mostBytes: number;
  readonly #calls: RecordedCall[] = [];
  /** The number of the next call. Calls are numbered from 1 on, and found by their number. */
  #next = 1;
  #bytes = 0;
  /** The oldest call that may still have its bodies. */
  #oldestBodies = 1;

  constructor(most: number, mostBytes: number) {
    this.#most = most;
    this.#mostBytes = mostBytes;
  }

  get newest(): number {
    return this.#next - 1;
  }

  get oldest(): number {
    return Math.max(1, this.#next - this.#most);
  }

  add(call: RecordedCall): void {
    const number = this.#next;
    const slot = number % this.#most;
    if (call.bodies !== undefined || this.#bytes > 0) this.#makeRoom(number, sizeOf(call));
    this.#calls[slot] = call;
    this.#next += 1;
  }

  get(number: number): RecordedCall | undefined {
    return number >= this.oldest && number <= this.newest ? this.#calls[number % this.#most] : undefined;
  }

  /** Drops the oldest bodies until these fit, and those of the call whose slot is used again. */
  #makeRoom(number: number, size: number): void {
    this.#bytes += size;
    while (
      this.#oldestBodies < number &&
      (this.#bytes > this.#mostBytes || this.#oldestBodies <= number - this.#most)
    ) {
      const oldest = this.#calls[this.#oldestBodies % this.#most];
      if (oldest !== undefined) {
        this.#bytes -= sizeOf(oldest);
        oldest.bodies = undefined;
      }
      this.#oldestBodies += 1;
    }
  }
}

function sizeOf({ bodies }: RecordedCall): number {
  return 2 * ((bodies?.request?.length ?? 0) + (bodies?.response?.length ?? 0));
}
