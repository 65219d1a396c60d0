/** A child's stdout, line by line, limited by the flood budget. */
import type { Readable } from 'node:stream';
import { LineReader, type ReadLine } from '../../wire/lines.ts';
import type { Reception } from '../channel.ts';
import type { FloodBudget, FloodClock } from '../flood-meter.ts';
import { Throttle } from '../throttle.ts';

export interface OutputOptions {
  readonly limits: { readonly lineBytes: number };
  readonly flood: FloodBudget;
  readonly clock: FloodClock;
}

export interface OutputListener {
  /** Must call `count` for each message. */
  line(line: ReadLine): void;
  ended(): void;
  paused(): void;
  /** The child flooded for too long. */
  flooded(): void;
}

export class Output {
  readonly #stdout: Readable;
  readonly #listener: OutputListener;
  readonly #lines: LineReader;
  readonly #throttle: Throttle<ReadLine>;

  constructor(stdout: Readable, { limits, flood, clock }: OutputOptions, listener: OutputListener) {
    this.#stdout = stdout;
    this.#listener = listener;
    this.#lines = new LineReader(limits, 'backend_too_large');
    this.#throttle = new Throttle(flood, clock, {
      take: (line) => listener.line(line),
      pause: () => {
        stdout.pause();
        listener.paused();
      },
      resume: () => void stdout.resume(),
      flooded: () => listener.flooded(),
    });
  }

  read(): void {
    this.#stdout.on('data', (chunk: Buffer) => {
      const lines = this.#lines.push(chunk);
      // The rest of a line over the limit completes no message, however long it is.
      if (this.#lines.isSkipping) this.#throttle.countNoise(0, chunk.byteLength);
      this.#throttle.countLines(this.#lines.takeEmptyLines());
      this.#throttle.push(lines);
    });
    this.#stdout.once('end', () => {
      this.#throttle.release();
      for (const line of this.#lines.end()) this.#listener.line(line);
      this.#listener.ended();
    });
  }

  count(reception: Reception, bytes: number): void {
    this.#throttle.count(reception, bytes);
  }

  /**
   * The child has exited. What is left in the pipe is little and may contain responses, so it is read without pauses.
   */
  finish(): void {
    const wasPaused = this.#throttle.isPaused;
    this.#throttle.stop();
    this.#throttle.release();
    if (wasPaused) this.#stdout.resume();
  }

  /** Stops reading, and discards what is left. */
  destroy(): void {
    this.#throttle.stop();
    this.#throttle.drop();
    this.#stdout.destroy();
  }
}
