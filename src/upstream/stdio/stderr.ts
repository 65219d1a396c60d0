/**
 * What a child writes to stderr. The end of it is kept for a failure that may follow, and lines are logged as they
 * come, within a budget. Output on stderr is no sign of an error (stdio transport, all revisions), and never goes to a
 * peer.
 */
import type { Readable } from 'node:stream';
import { FloodMeter } from '../flood-meter.ts';
import type { ChildOptions } from './child.ts';

/** A longer line is logged in pieces; the kept tail has it whole. */
const LINE_CHARACTERS = 2_000;
/** The period of the `stderrBytes` budget: a chatty server is logged, a flood does not fill our log. */
const BUDGET_MS = 60_000;
/**
 * Lines are only decoded: this many cost as much as one message on stdout. A chunk that completes none counts as a
 * line.
 */
const LINES_PER_MESSAGE = 25;

export interface StderrOptions extends Pick<ChildOptions, 'flood' | 'clock'> {
  /** Bytes of the tail that are kept, and characters that are logged in each period. */
  readonly stderrBytes: number;
  tell(line: string): void;
  /** The child floods: nothing is read until the period ends. */
  paused(): void;
  /** The child flooded for too long. False: do not end it. */
  tryEnd(): boolean;
}

export class Stderr {
  readonly #options: StderrOptions;
  readonly #decoder = new TextDecoder();
  /** Twice the limit, so that the tail is moved once per `stderrBytes`, not at every write. */
  #kept: Buffer | undefined;
  #end = 0;
  #line = '';
  #budget: number;
  #periodEnds: number;
  #leftOut = 0;
  /** Lines that do not add up to a message yet. */
  #uncounted = 0;

  constructor(stderr: Readable, options: StderrOptions) {
    this.#options = options;
    this.#budget = options.stderrBytes;
    this.#periodEnds = options.clock.now() + BUDGET_MS;
    const meter = new FloodMeter(options.flood, options.clock, {
      pause: () => {
        stderr.pause();
        options.paused();
      },
      resume: () => void stderr.resume(),
      tryEnd: () => options.tryEnd(),
    });
    stderr.on('data', (chunk: Buffer) => meter.countUnsolicited(this.#countMessages(chunk), chunk.byteLength));
    stderr.once('close', () => meter.stop());
  }

  /** Logs what came after the last newline. */
  end(): void {
    this.#flush();
    this.#tellLeftOut();
  }

  tail(): string {
    return this.#kept?.toString('utf8', Math.max(0, this.#end - this.#options.stderrBytes), this.#end) ?? '';
  }

  #countMessages(chunk: Buffer): number {
    const lines = this.#uncounted + Math.max(1, this.#push(chunk));
    this.#uncounted = lines % LINES_PER_MESSAGE;
    return Math.floor(lines / LINES_PER_MESSAGE);
  }

  /** Returns how many lines the chunk completes. */
  #push(chunk: Buffer): number {
    this.#keep(chunk);
    this.#line += this.#decoder.decode(chunk, { stream: true });
    let start = 0;
    let lines = 0;
    for (let end = this.#line.indexOf('\n'); end !== -1; end = this.#line.indexOf('\n', start)) {
      this.#tell(this.#line.slice(start, end));
      start = end + 1;
      lines++;
    }
    this.#line = this.#line.slice(start);
    if (this.#line.length > LINE_CHARACTERS) this.#flush();
    return lines;
  }

  #keep(chunk: Buffer): void {
    const limit = this.#options.stderrBytes;
    this.#kept ??= Buffer.allocUnsafe(2 * limit);
    const part = chunk.byteLength > limit ? chunk.subarray(-limit) : chunk;
    if (this.#end + part.byteLength > 2 * limit) {
      const start = Math.max(0, this.#end - limit);
      this.#kept.copyWithin(0, start, this.#end);
      this.#end -= start;
    }
    part.copy(this.#kept, this.#end);
    this.#end += part.byteLength;
  }

  #flush(): void {
    const line = this.#line;
    this.#line = '';
    this.#tell(line);
  }

  #tell(line: string): void {
    const now = this.#options.clock.now();
    if (now >= this.#periodEnds) {
      this.#tellLeftOut();
      this.#budget = this.#options.stderrBytes;
      this.#periodEnds = now + BUDGET_MS;
    }
    const text = line.trimEnd();
    for (let at = 0; at < text.length; at += LINE_CHARACTERS) {
      const piece = text.slice(at, at + LINE_CHARACTERS);
      if (piece.length > this.#budget) {
        this.#leftOut++;
        this.#budget = 0;
        return;
      }
      this.#budget -= piece.length;
      this.#options.tell(piece);
    }
  }

  #tellLeftOut(): void {
    if (this.#leftOut === 0) return;
    this.#options.tell(`(${this.#leftOut} more lines left out)`);
    this.#leftOut = 0;
  }
}
