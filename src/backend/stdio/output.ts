/** A child's stdout, line by line. While the child floods, its pipe is paused, and lines that were read already are held. */
import type { Readable } from 'node:stream';
import type { Clock } from '../../exchange/clock.ts';
import { type Line, LineReader } from '../../wire/lines.ts';
import { type FloodLimits, FloodMeter } from '../flood-meter.ts';

export interface OutputLimits extends FloodLimits {
  readonly lineBytes: number;
}

export interface OutputListener {
  /** Calls `unsolicited` for what belongs to no running call. */
  line(line: Line): void;
  ended(): void;
  paused(): void;
  /** The child flooded for too long. False: it is to go on. */
  flooded(): boolean;
}

export class Output {
  readonly #stdout: Readable;
  readonly #listener: OutputListener;
  readonly #lines: LineReader;
  readonly #meter: FloodMeter;
  /** Of one chunk at most: the rest that was read when the pipe was paused. */
  #held: readonly Line[] = [];

  constructor(stdout: Readable, limits: OutputLimits, clock: Pick<Clock, 'now' | 'after'>, listener: OutputListener) {
    this.#stdout = stdout;
    this.#listener = listener;
    this.#lines = new LineReader(limits, 'backend_too_large');
    this.#meter = new FloodMeter(limits, clock, {
      pause: () => {
        stdout.pause();
        listener.paused();
      },
      resume: () => this.#resume(),
      end: () => listener.flooded(),
    });
  }

  read(): void {
    this.#stdout.on('data', (chunk: Buffer) => {
      const lines = this.#lines.push(chunk);
      // The rest of a line that is over the limit completes no message, however long it goes on.
      if (this.#lines.isSkipping) this.#meter.add(0, chunk.byteLength);
      this.#read(lines);
    });
    this.#stdout.once('end', () => {
      this.#release();
      for (const line of this.#lines.end()) this.#listener.line(line);
      this.#listener.ended();
    });
  }

  unsolicited(bytes: number): void {
    this.#meter.add(1, bytes);
  }

  /** The child has exited: the little that is left in the pipe is read without a pause, since it may hold answers. */
  finish(): void {
    const wasPaused = this.#meter.isPaused;
    this.#release();
    if (wasPaused) this.#stdout.resume();
  }

  /** Reads nothing more, whatever is left. */
  destroy(): void {
    this.#meter.stop();
    this.#held = [];
    this.#stdout.destroy();
  }

  #read(lines: readonly Line[]): void {
    for (const [at, line] of lines.entries()) {
      if (this.#meter.isPaused) {
        this.#held = lines.slice(at);
        return;
      }
      if (this.#stdout.destroyed) return;
      this.#listener.line(line);
    }
  }

  #resume(): void {
    const held = this.#held;
    this.#held = [];
    this.#read(held);
    if (!this.#meter.isPaused && !this.#stdout.destroyed) this.#stdout.resume();
  }

  #release(): void {
    this.#meter.stop();
    const held = this.#held;
    this.#held = [];
    for (const line of held) this.#listener.line(line);
  }
}
