/**
 * Lines on their way to a stream of the process. A reader that stalls must not stop the gateway: lines wait within a
 * bound, lines beyond it are dropped, and one line counts those as soon as the reader takes lines again.
 *
 * Pipes and sockets are written without blocking (Node.js, "A note on process I/O"); files and terminals are written at
 * once.
 */

/** What is used of a stream. */
export interface LineStream {
  write(text: string, done: (error?: Error | null) => void): unknown;
  on(event: 'error', listener: () => void): unknown;
}

export interface LineWriterOptions {
  readonly stream: LineStream;
  /** What may wait for the reader, the part that was handed to the stream included. */
  readonly queueBytes: number;
  /** The line that tells how many were dropped. */
  droppedLine(count: number): string;
  onDropped?(count: number): void;
}

export class LineWriter {
  readonly #options: LineWriterOptions;
  #waiting: string[] = [];
  #bytes = 0;
  #isWriting = false;
  #dropped = 0;
  #whenIdle: (() => void)[] = [];

  constructor(options: LineWriterOptions) {
    this.#options = options;
    surviveErrors(options.stream);
  }

  /** A line with its line feed. Never blocks on a pipe, never throws. */
  write(line: string): void {
    // Characters instead of bytes: close enough for a bound, and free.
    if (this.#bytes + line.length > this.#options.queueBytes) {
      this.#drop(1);
      return;
    }
    this.#bytes += line.length;
    this.#waiting.push(line);
    if (!this.#isWriting) this.#send();
  }

  /** Resolves when everything was taken, or after this time. */
  flush(withinMs: number): Promise<void> {
    if (!this.#isWriting) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, withinMs);
      this.#whenIdle.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  #send(): void {
    const lines = this.#waiting;
    const told = this.#dropped;
    this.#isWriting = true;
    this.#waiting = [];
    const size = this.#bytes;
    // Lines are dropped only behind those that wait, so this is where the count belongs.
    const text = lines.join('') + (told === 0 ? '' : this.#options.droppedLine(told));
    const done = (error?: Error | null) => {
      this.#bytes -= size;
      if (error) this.#drop(lines.length);
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

/** A stream outlives those who write on it, and each of them would add a listener. */
const surviving = new WeakSet<LineStream>();

/** Each write reports a reader that went away (EPIPE) to its callback; the unheard event would end the process. */
export function surviveErrors(stream: LineStream): void {
  if (surviving.has(stream)) return;
  surviving.add(stream);
  stream.on('error', () => undefined);
}
