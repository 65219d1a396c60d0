/**
 * Records become lines and wait, within a bound, until the place where they belong takes them. A place that is too slow, full
 * or gone loses records: how many is counted, and written as a line of its own as soon as there is room.
 */
import type { Audit, AuditRecord } from './audit.ts';
import { auditLine } from './audit-line.ts';

/** Where lines go in the end. Rejects where they did not get there. */
export interface AuditSink {
  write(lines: string): Promise<void>;
  close(): Promise<void>;
}

export interface AuditWriterOptions {
  readonly sink: AuditSink;
  readonly now: () => number;
  readonly after: (ms: number, action: () => void) => () => void;
  /** How many were lost just now, and why. Never told a record. */
  readonly lost: (count: number, why: 'full' | 'failed', cause?: unknown) => void;
  readonly queueBytes?: number;
}

/** Some 20,000 records: a second of a busy gateway, for a disk that hesitates. */
const QUEUE_BYTES = 8 * 1024 * 1024;

/** How long a record may wait for others. Each write costs a thread's waking, whether it holds one line or a thousand. */
const GATHER_MS = 100;
/** By then a write is worth its cost. */
const GATHER_BYTES = 64 * 1024;

export class AuditWriter implements Audit {
  readonly #options: AuditWriterOptions;
  readonly #queueBytes: number;
  #lines: string[] = [];
  #bytes = 0;
  /** Handed over, and not known to have got there. */
  #inFlight = 0;
  #unwritten = 0;
  #writing: Promise<void> | undefined;
  #closed = false;
  /** Ends the wait for more. */
  #hurry: () => void = () => undefined;

  constructor(options: AuditWriterOptions) {
    this.#options = options;
    this.#queueBytes = options.queueBytes ?? QUEUE_BYTES;
  }

  write(record: AuditRecord): void {
    const line = auditLine(record);
    // Close enough: what is not ASCII is rare in a record.
    if (this.#closed || this.#bytes + line.length > this.#queueBytes) {
      this.#lose(1, 'full');
      return;
    }
    this.#lines.push(line);
    this.#bytes += line.length;
    this.#writing ??= this.#drain();
    if (this.#bytes >= GATHER_BYTES) this.#hurry();
  }

  async close(withinMs: number): Promise<void> {
    this.#closed = true;
    this.#hurry();
    let stop: () => void = () => undefined;
    const late = new Promise<void>((resolve) => {
      stop = this.#options.after(withinMs, resolve);
    });
    await Promise.race([this.#finish(), late]);
    stop();
    const left = this.#inFlight + this.#lines.length;
    this.#inFlight = 0;
    this.#lines = [];
    this.#lose(left, 'full');
  }

  async #finish(): Promise<void> {
    await this.#writing;
    await this.#options.sink.close().catch(() => undefined);
  }

  async #drain(): Promise<void> {
    while (this.#lines.length > 0) {
      await this.#gathered();
      const lines = this.#lines;
      const told = this.#unwritten;
      this.#lines = [];
      this.#bytes = 0;
      const notice = told === 0 ? '' : `${JSON.stringify({ time: this.#time(), lost: told })}\n`;
      this.#inFlight = lines.length;
      try {
        await this.#options.sink.write(notice + lines.join(''));
        this.#unwritten -= told;
      } catch (cause) {
        this.#lose(this.#inFlight, 'failed', cause);
      }
      this.#inFlight = 0;
    }
    this.#writing = undefined;
  }

  #gathered(): Promise<void> {
    if (this.#closed || this.#bytes >= GATHER_BYTES) return Promise.resolve();
    return new Promise((resolve) => {
      const stop = this.#options.after(GATHER_MS, resolve);
      this.#hurry = () => {
        stop();
        resolve();
      };
    });
  }

  #lose(count: number, why: 'full' | 'failed', cause?: unknown): void {
    if (count === 0) return;
    this.#unwritten += count;
    this.#options.lost(count, why, cause);
  }

  #time(): string {
    return new Date(this.#options.now()).toISOString();
  }
}
