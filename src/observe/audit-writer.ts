/**
 * Records become lines and wait, within a bound, until the place where they belong takes them. A place that is too slow, full
 * or gone loses records: how many is counted, and written as a line of its own as soon as there is room.
 */
import type { Audit, AuditRecord } from './audit.ts';
import { auditLine } from './audit-line.ts';
import { AuditRoom, type WaitingRecord } from './audit-room.ts';

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
/** Room that is promised to a record that follows. Few are longer. */
const RESERVED_BYTES = 1024;

export class AuditWriter implements Audit {
  readonly #options: AuditWriterOptions;
  readonly #queueBytes: number;
  readonly #room: AuditRoom;
  #waiting: WaitingRecord[] = [];
  #bytes = 0;
  /** Promised, and not written yet. */
  #reserved = 0;
  /** The last write did not get there. */
  #hasFailed = false;
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
    this.#room = new AuditRoom(this.#queueBytes);
  }

  write(record: AuditRecord, reserved = false): void {
    const line = auditLine(record);
    if (reserved) this.#reserved = Math.max(0, this.#reserved - RESERVED_BYTES);
    // Close enough: what is not ASCII is rare in a record.
    const bytes = line.length;
    if (this.#closed || !(reserved || this.#room.admits(record, bytes, this.#taken, this.#waiting))) {
      this.#lose(1, 'full');
      return;
    }
    this.#waiting.push({ line, principal: record.principal });
    this.#bytes += bytes;
    this.#writing ??= this.#drain();
    if (this.#bytes >= GATHER_BYTES) this.#hurry();
  }

  /** After a failure only a record that got there proves that the place is well again; refusals are such records. */
  reserve(): boolean {
    if (this.#closed || this.#hasFailed || this.#taken + RESERVED_BYTES > this.#queueBytes) return false;
    this.#reserved += RESERVED_BYTES;
    return true;
  }

  /** Finds out whether records can be written at all, before the first one. */
  async probe(): Promise<void> {
    try {
      await this.#options.sink.write('');
    } catch {
      this.#hasFailed = true;
    }
  }

  get #taken(): number {
    return this.#bytes + this.#reserved;
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
    const left = this.#inFlight + this.#waiting.length;
    this.#inFlight = 0;
    this.#waiting = [];
    this.#lose(left, 'full');
  }

  async #finish(): Promise<void> {
    await this.#writing;
    await this.#options.sink.close().catch(() => undefined);
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      await this.#gathered();
      const lines = this.#waiting.map(({ line }) => line);
      const told = this.#unwritten;
      this.#waiting = [];
      this.#bytes = 0;
      this.#room.empty();
      const notice = told === 0 ? '' : `${JSON.stringify({ time: this.#time(), lost: told })}\n`;
      this.#inFlight = lines.length;
      try {
        await this.#options.sink.write(notice + lines.join(''));
        this.#unwritten -= told;
        this.#hasFailed = false;
      } catch (cause) {
        this.#hasFailed = true;
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
