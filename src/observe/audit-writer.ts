/**
 * Turns audit records into lines and queues them, within a limit, until the sink takes them. If the sink is too slow,
 * full or gone, records are lost: they are counted, and a line with their number is written as soon as possible.
 */
import type { Audit, AuditedPrincipal, AuditRecord } from './audit.ts';
import { addAuditLine } from './audit-line.ts';
import { LineBuffer } from './line-buffer.ts';

/** The final destination of lines. `write` rejects if the lines were not written. */
export interface AuditSink {
  write(lines: string): Promise<void>;
  close(): Promise<void>;
}

export interface AuditWriterOptions {
  readonly sink: AuditSink;
  readonly now: () => number;
  readonly after: (ms: number, action: () => void) => () => void;
  /** How many records were just lost, and why. Gets no record's content. */
  readonly lost: (count: number, why: 'full' | 'failed', cause?: unknown) => void;
  readonly queueBytes?: number;
}

/** Some 20,000 records: a second of a busy gateway, for a disk that stalls. */
const QUEUE_BYTES = 8 * 1024 * 1024;

/** How long a record may wait for others. Each write wakes a thread, whether it has one line or a thousand. */
const GATHER_MS = 100;
/** From this size on, a write is worth its cost. */
const GATHER_BYTES = 64 * 1024;
/** Space that is reserved for a later record. Few are longer. */
const RESERVED_BYTES = 1024;

export class AuditWriter implements Audit {
  readonly #options: AuditWriterOptions;
  readonly #queueBytes: number;
  readonly #room: AuditRoom;
  #waiting: WaitingRecords[] = [];
  #waitingCount = 0;
  readonly #lines = new LineBuffer(GATHER_BYTES);
  #bytes = 0;
  /** Reserved, and not written yet. */
  #reserved = 0;
  /** The last write failed. */
  #hasFailed = false;
  /** Records being written, not yet confirmed. */
  #inFlight = 0;
  #unwritten = 0;
  #writing: Promise<void> | undefined;
  #closed = false;
  /** Ends the wait for more records. */
  #hurry: () => void = () => undefined;

  constructor(options: AuditWriterOptions) {
    this.#options = options;
    this.#queueBytes = options.queueBytes ?? QUEUE_BYTES;
    this.#room = new AuditRoom(this.#queueBytes);
  }

  write(record: AuditRecord, reserved = false): void {
    const before = this.#lines.size;
    addAuditLine(this.#lines, record);
    const bytes = this.#lines.size - before;
    if (reserved) this.#reserved = Math.max(0, this.#reserved - RESERVED_BYTES);
    if (this.#closed || !(reserved || this.#room.admits(record, bytes, this.#taken, this.#waiting))) {
      this.#lines.cut(before);
      this.#lose(1, 'full');
      return;
    }
    const last = this.#waiting.at(-1);
    if (last?.principal === record.principal) last.bytes += bytes;
    else this.#waiting.push({ bytes, principal: record.principal });
    this.#waitingCount += 1;
    this.#bytes += bytes;
    this.#writing ??= this.#drain();
    if (this.#bytes >= GATHER_BYTES) this.#hurry();
  }

  /**
   * After a failure, only a successful write proves that the sink works again. Records of refused requests serve as
   * that.
   */
  reserve(): boolean {
    if (this.#closed || this.#hasFailed || this.#taken + RESERVED_BYTES > this.#queueBytes) return false;
    this.#reserved += RESERVED_BYTES;
    return true;
  }

  /** Checks that the sink can be written, before the first record. */
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
    const left = this.#inFlight + this.#waitingCount;
    this.#inFlight = 0;
    this.#waitingCount = 0;
    this.#waiting = [];
    this.#lines.cut(0);
    this.#lose(left, 'full');
  }

  async #finish(): Promise<void> {
    await this.#writing;
    await this.#options.sink.close().catch(() => undefined);
  }

  async #drain(): Promise<void> {
    while (this.#waitingCount > 0) {
      await this.#gathered();
      this.#inFlight = this.#waitingCount;
      const lines = this.#lines.take();
      const told = this.#unwritten;
      this.#waitingCount = 0;
      this.#waiting = [];
      this.#bytes = 0;
      this.#room.empty();
      const notice = told === 0 ? '' : `${JSON.stringify({ time: this.#time(), lost: told })}\n`;
      try {
        await this.#options.sink.write(notice + lines);
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

const SHARED_PART = 1 / 2;
const PRINCIPAL_PART = 1 / 8;
const DENIED_PART = 3 / 4;

/** Consecutive records of one principal: an object for each record would outlive many garbage collections. */
interface WaitingRecords {
  bytes: number;
  readonly principal: AuditedPrincipal;
}

/**
 * Which records may wait while the sink is too slow. The first half of the queue is open to all. In the second half a
 * principal gets at most an eighth of the queue, so that one that floods takes no space from others. The last quarter
 * is for allowed requests, so that denied ones cannot displace the record of what was done.
 */
class AuditRoom {
  readonly #queueBytes: number;
  /** Bytes by principal. Created only once the shared half is full: most queues never are. */
  #own: Map<string, number> | undefined;

  constructor(queueBytes: number) {
    this.#queueBytes = queueBytes;
  }

  /** `taken`: bytes of waiting records and of reservations. */
  admits(
    { decision, principal }: Pick<AuditRecord, 'decision' | 'principal'>,
    bytes: number,
    taken: number,
    waiting: readonly WaitingRecords[],
  ): boolean {
    const total = taken + bytes;
    if (total <= this.#queueBytes * SHARED_PART) return true;
    if (total > this.#queueBytes * (decision === 'deny' ? DENIED_PART : 1)) return false;
    const own = this.#counted(waiting);
    const key = ownerOf(principal);
    const held = own.get(key) ?? 0;
    if (held + bytes > this.#queueBytes * PRINCIPAL_PART) return false;
    own.set(key, held + bytes);
    return true;
  }

  empty(): void {
    this.#own = undefined;
  }

  #counted(waiting: readonly WaitingRecords[]): Map<string, number> {
    if (this.#own !== undefined) return this.#own;
    this.#own = new Map();
    for (const { bytes, principal } of waiting) {
      const key = ownerOf(principal);
      this.#own.set(key, (this.#own.get(key) ?? 0) + bytes);
    }
    return this.#own;
  }
}

/** Without the OAuth client: a person may register many. */
function ownerOf({ kind, issuer, subject, key }: AuditedPrincipal): string {
  return JSON.stringify([kind, issuer, subject, key]);
}
