/** A request that another process serves: takes its response from the lane and passes it on to the client. */
import { type GoneWatcher, type HttpAnswer, watchReader } from '../../downstream/respond.ts';
import { type Forwarded, MOVED_HEADER, MOVED_STATUS } from '../forwarded.ts';
import { readResponseHead } from './carried-head.ts';

/** The other process may send so much that the client has not read. */
export const WINDOW_BYTES = 256 * 1024;
/** Said when so much has been read. */
const CREDIT_BYTES = WINDOW_BYTES / 4;
/** As text, Node appends a body to the head: one write. */
const SMALL_BYTES = 8 * 1024;

/** What it needs of its lane. */
export interface RequestLane {
  /** The client has read so many bytes more. */
  credit(stream: number, bytes: number): void;
  /** The client is gone. */
  abandon(stream: number): void;
}

export class CarriedRequest implements GoneWatcher {
  readonly outcome: Promise<Forwarded>;
  readonly #res: HttpAnswer;
  readonly #lane: RequestLane;
  readonly #stream: number;
  #resolve!: (outcome: Forwarded) => void;
  #hasHead = false;
  #isOver = false;
  /** Bytes that the other process has no credit for yet. */
  #passed = 0;
  #waits = false;

  constructor(res: HttpAnswer, lane: RequestLane, stream: number) {
    this.#res = res;
    this.#lane = lane;
    this.#stream = stream;
    this.outcome = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    // The owner learns that the client is gone as it would from the client itself.
    res.whenGone(this);
  }

  gone(): void {
    if (this.#isOver) return;
    this.settle({ kind: 'answered' });
    this.#lane.abandon(this.#stream);
  }

  /** A part of the response. */
  take(bytes: Buffer): void {
    if (this.#isOver) return;
    if (this.#hasHead) this.#pass(bytes);
    else this.#begin(bytes);
  }

  /** The response is complete. */
  end(): void {
    if (this.#isOver) return;
    if (this.#hasHead) {
      this.#res.end();
      watchReader(this.#res);
    }
    this.settle({ kind: 'answered' });
  }

  /** The other process has not looked at it, and says so. */
  refused(): void {
    const cause = new Error('the process is being stopped');
    this.settle({ kind: this.#hasHead ? 'cut' : 'away', cause });
  }

  settle(outcome: Forwarded): void {
    this.#isOver = true;
    this.#resolve(outcome);
  }

  #begin(bytes: Buffer): void {
    const { status, headers, length, size } = readResponseHead(bytes);
    const moved = headers.indexOf(MOVED_HEADER);
    if (status === MOVED_STATUS && moved !== -1) {
      this.settle({ kind: 'moved', to: headers[moved + 1] || undefined });
      return;
    }
    this.#hasHead = true;
    this.#res.writeHead(status, headers);
    const rest = bytes.subarray(size);
    if (rest.length === length) {
      if (length <= SMALL_BYTES) this.#res.end(rest.toString('latin1'), 'latin1');
      else this.#res.end(rest);
      watchReader(this.#res);
      this.settle({ kind: 'answered' });
    } else if (rest.length > 0) this.#pass(rest);
    // An event stream begins before its first event.
    else this.#res.flushHeaders();
  }

  #pass(bytes: Buffer): void {
    this.#passed += bytes.length;
    if (this.#passed > WINDOW_BYTES) throw new Error('the process sends more than it may');
    const isRead = this.#res.write(bytes);
    if (this.#waits) return;
    if (isRead) this.#credit();
    else {
      this.#waits = true;
      this.#res.once('drain', () => {
        this.#waits = false;
        this.#credit();
      });
    }
  }

  #credit(): void {
    if (this.#passed < CREDIT_BYTES || this.#isOver) return;
    this.#lane.credit(this.#stream, this.#passed);
    this.#passed = 0;
  }
}
