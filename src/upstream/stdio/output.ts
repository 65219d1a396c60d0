/** The messages on a child's stdout, one a line, limited by the flood budget. */
import type { Readable } from 'node:stream';
import { Failure } from '../../errors/failure.ts';
import { LineReader, type ReadLine } from '../../wire/lines.ts';
import type { Message } from '../../wire/message.ts';
import { excerpt, readIncoming } from '../incoming.ts';
import { Throttle } from '../throttle.ts';
import type { ChildOptions, ChildSink } from './child.ts';

type OutputOptions = Pick<ChildOptions, 'limits' | 'flood' | 'clock' | 'notes'>;

export interface OutputListener extends Pick<ChildSink, 'message' | 'oversized' | 'unreadable'> {
  ended(): void;
  /** The child flooded for too long. */
  flooded(): void;
}

export class Output {
  readonly #stdout: Readable;
  readonly #options: OutputOptions;
  readonly #listener: OutputListener;
  readonly #lines: LineReader;
  readonly #throttle: Throttle<ReadLine>;
  #isIgnored = false;

  constructor(stdout: Readable, options: OutputOptions, listener: OutputListener) {
    this.#stdout = stdout;
    this.#options = options;
    this.#listener = listener;
    this.#lines = new LineReader(options.limits, 'backend_too_large');
    this.#throttle = new Throttle(options.flood, options.clock, {
      take: (line) => this.#take(line),
      pause: () => {
        stdout.pause();
        options.notes.flood('paused', 'stdout');
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
      for (const line of this.#lines.end()) this.#take(line);
      this.#listener.ended();
    });
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

  /** From here on the listener gets no more lines. */
  ignore(): void {
    this.#isIgnored = true;
  }

  /** Stops reading, and discards what is left. */
  destroy(): void {
    this.#throttle.stop();
    this.#throttle.drop();
    this.#stdout.destroy();
  }

  #take(line: ReadLine): void {
    if (this.#isIgnored) return;
    const { notes, limits } = this.#options;
    if (line instanceof Failure) {
      notes.noise('unreadable', line.message);
      this.#throttle.count('none', limits.lineBytes);
      this.#listener.oversized(line);
      return;
    }
    let messages: readonly Message[];
    try {
      messages = readIncoming(line);
    } catch {
      notes.noise('stdout', excerpt(line));
      this.#throttle.count(this.#listener.unreadable(line), line.byteLength);
      return;
    }
    for (const message of messages) this.#throttle.count(this.#listener.message(message), message.bytes.byteLength);
  }
}
