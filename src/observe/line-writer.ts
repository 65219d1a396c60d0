/**
 * Writes lines to a stream of the process. A reader that stalls must not stop the gateway: lines are queued within a
 * limit, lines beyond it are dropped, and one line reports their number once the reader reads again.
 *
 * Pipes and sockets are written without blocking (Node.js, "A note on process I/O"); files and terminals are written
 * synchronously.
 */
import { LineBuffer } from './line-buffer.ts';

/** The parts of a stream that are used. */
export interface LineStream {
  write(bytes: Uint8Array, done: (error?: Error | null) => void): unknown;
  on(event: 'error', listener: () => void): unknown;
}

export interface LineWriterOptions {
  readonly stream: LineStream;
  /** How much may wait for the reader, including what was already written to the stream. */
  readonly queueBytes: number;
  /** The line that reports how many were dropped. */
  droppedLine(count: number): string;
  onDropped?(count: number): void;
}

/** A person who watches does not notice it, and a write costs more than the lines in it. */
const GATHER_MS = 50;
/** From this size on, a write is worth its cost. */
const GATHER_BYTES = 32 * 1024;

export class LineWriter {
  readonly #options: LineWriterOptions;
  /** Lines that wait. As strings they would outlive a garbage collection, which copies them. */
  readonly #lines = new LineBuffer(GATHER_BYTES);
  #count = 0;
  /** Bytes that the stream has not written yet. */
  #written = 0;
  #isWriting = false;
  /** Lines have waited long enough, but the stream is writing. */
  #isDue = false;
  #gathering: NodeJS.Timeout | undefined;
  #dropped = 0;
  #whenIdle: (() => void)[] = [];

  constructor(options: LineWriterOptions) {
    this.#options = options;
    surviveErrors(options.stream);
  }

  /** A line with its line feed. Never blocks on a pipe, never throws. */
  write(line: string): void {
    if (!this.#hasRoom(line.length)) return;
    this.#lines.add(line);
    this.#count += 1;
    this.#send();
  }

  /**
   * The same for lines that come in crowds: they wait a moment for each other, or for a line that does not wait. `add`
   * adds one line.
   */
  gather(add: (lines: LineBuffer) => void): void {
    if (!this.#hasRoom(0)) return;
    add(this.#lines);
    this.#count += 1;
    if (this.#lines.size >= GATHER_BYTES) this.#send();
    else this.#gathering ??= setTimeout(() => this.#send(), GATHER_MS).unref();
  }

  /** Resolves when everything was written, or after this time. */
  flush(withinMs: number): Promise<void> {
    if (this.#count > 0) this.#send();
    if (!this.#isWriting) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, withinMs);
      this.#whenIdle.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  /** Counts the line as dropped where there is none. Characters instead of bytes: close enough, and free. */
  #hasRoom(characters: number): boolean {
    const hasRoom = this.#written + this.#lines.size + characters <= this.#options.queueBytes;
    if (!hasRoom) this.#drop(1);
    return hasRoom;
  }

  /** Writes all lines that wait; where the stream is writing, once it is done. */
  #send(): void {
    this.#isDue = this.#isWriting;
    if (this.#isWriting) return;
    clearTimeout(this.#gathering);
    this.#gathering = undefined;
    const told = this.#dropped;
    const lines = this.#count;
    // Only lines after the queued ones are dropped, so the count belongs here.
    if (told > 0) this.#lines.add(this.#options.droppedLine(told));
    const bytes = this.#lines.takeBytes();
    this.#count = 0;
    this.#written = bytes.byteLength;
    this.#isWriting = true;
    const done = (error?: Error | null) => {
      this.#written = 0;
      this.#isWriting = false;
      if (error) this.#drop(lines);
      else this.#dropped -= told;
      this.#next();
    };
    try {
      this.#options.stream.write(bytes, done);
    } catch (error) {
      done(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #next(): void {
    if (this.#isDue) {
      this.#send();
      return;
    }
    const idle = this.#whenIdle;
    this.#whenIdle = [];
    for (const tell of idle) tell();
  }

  #drop(count: number): void {
    this.#dropped += count;
    this.#options.onDropped?.(count);
  }
}

/** A stream outlives its writers, and each of them would add a listener. */
const surviving = new WeakSet<LineStream>();

/**
 * Each write's callback reports a reader that is gone (EPIPE). An `error` event without a listener would end the
 * process.
 */
export function surviveErrors(stream: LineStream): void {
  if (surviving.has(stream)) return;
  surviving.add(stream);
  stream.on('error', () => undefined);
}
