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
  write(text: string, done: (error?: Error | null) => void): unknown;
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
  #waiting: string[] = [];
  #waitingLines = 0;
  #bytes = 0;
  #isWriting = false;
  /** Lines that wait for others. As strings they would outlive a garbage collection, which copies them. */
  readonly #crowd = new LineBuffer(GATHER_BYTES);
  #crowdLines = 0;
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
    this.#gathered();
    this.#queue(line, 1);
  }

  /**
   * The same for lines that come in crowds: they wait a moment for each other, or for a line that does not wait. `add`
   * adds one line.
   */
  gather(add: (lines: LineBuffer) => void): void {
    if (!this.#hasRoom(0)) return;
    add(this.#crowd);
    this.#crowdLines += 1;
    if (this.#crowd.size >= GATHER_BYTES) this.#gathered();
    else this.#gathering ??= setTimeout(() => this.#gathered(), GATHER_MS).unref();
  }

  /** Resolves when everything was written, or after this time. */
  flush(withinMs: number): Promise<void> {
    this.#gathered();
    if (!this.#isWriting) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, withinMs);
      this.#whenIdle.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  #gathered(): void {
    clearTimeout(this.#gathering);
    this.#gathering = undefined;
    const lines = this.#crowdLines;
    this.#crowdLines = 0;
    if (lines > 0) this.#queue(this.#crowd.take(), lines);
  }

  /** Counts the line as dropped where there is none. Characters instead of bytes: close enough, and free. */
  #hasRoom(characters: number): boolean {
    const hasRoom = this.#bytes + this.#crowd.size + characters <= this.#options.queueBytes;
    if (!hasRoom) this.#drop(1);
    return hasRoom;
  }

  #queue(text: string, lines: number): void {
    this.#bytes += text.length;
    this.#waiting.push(text);
    this.#waitingLines += lines;
    if (!this.#isWriting) this.#send();
  }

  #send(): void {
    const told = this.#dropped;
    const lines = this.#waitingLines;
    // Only lines after the queued ones are dropped, so the count belongs here.
    const text = this.#waiting.join('') + (told === 0 ? '' : this.#options.droppedLine(told));
    this.#isWriting = true;
    this.#waiting = [];
    this.#waitingLines = 0;
    const size = this.#bytes;
    const done = (error?: Error | null) => {
      this.#bytes -= size;
      if (error) this.#drop(lines);
      else this.#dropped -= told;
      this.#next();
    };
    try {
      this.#options.stream.write(text, done);
    } catch (error) {
      done(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #next(): void {
    if (this.#waiting.length > 0) {
      this.#send();
      return;
    }
    this.#isWriting = false;
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
