/** One message per line, as on stdio. */
import { Failure, type Reason } from '../errors/failure.ts';
import { ChunkBuffer } from './chunk-buffer.ts';
import { concat, type Raw } from './compose.ts';
import { asBuffer } from './values.ts';

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;

export interface LineLimits {
  /** The most bytes in a line, without its line break, so that an endless line cannot fill the memory. */
  readonly lineBytes: number;
}

/** A line without its line break, or the failure for a line that is too long and is skipped. */
export type ReadLine = Uint8Array | Failure;

export class LineReader {
  private readonly limit: number;
  private readonly tooLong: Reason;
  /** The part of an incomplete line that has arrived. */
  private readonly line = new ChunkBuffer();
  private skipping = false;
  private emptyLines = 0;

  /** `tooLong` is the failure for a line over the limit: it says whose fault it is. */
  constructor(limits: LineLimits, tooLong: Reason = 'body_too_large') {
    this.limit = limits.lineBytes;
    this.tooLong = tooLong;
  }

  /** The lines that this chunk completes, without empty ones. A line over the limit is reported at once. */
  push(chunk: Uint8Array): ReadLine[] {
    const buffer = asBuffer(chunk);
    const lines: ReadLine[] = [];
    let at = 0;
    for (let stop = buffer.indexOf(LF); stop !== -1; stop = buffer.indexOf(LF, at)) {
      this.add(buffer.subarray(at, stop), lines);
      this.finish(lines);
      at = stop + 1;
    }
    this.add(buffer.subarray(at), lines);
    return lines;
  }

  /** Whether a line over the limit is being skipped and has not ended yet. */
  get isSkipping(): boolean {
    return this.skipping;
  }

  /** Returns the number of empty lines since the last call. */
  takeEmptyLines(): number {
    const lines = this.emptyLines;
    this.emptyLines = 0;
    return lines;
  }

  /** The last line, if the stream ended without a line break. */
  end(): ReadLine[] {
    const lines: ReadLine[] = [];
    this.finish(lines);
    return lines;
  }

  private add(piece: Uint8Array, lines: ReadLine[]): void {
    if (this.skipping) return;
    if (this.line.size + piece.byteLength <= this.limit) {
      this.line.add(piece);
      return;
    }
    this.line.clear();
    this.skipping = true;
    lines.push(new Failure(this.tooLong, { message: `A line of more than ${this.limit} bytes` }));
  }

  private finish(lines: ReadLine[]): void {
    if (this.line.size === 0) {
      if (!this.skipping) this.emptyLines++;
      this.skipping = false;
      return;
    }
    const line = this.line.take();
    const end = line[line.byteLength - 1] === CR ? line.byteLength - 1 : line.byteLength;
    if (end > 0) lines.push(line.subarray(0, end));
    else this.emptyLines++;
  }
}

/** A message as one line. JSON allows line breaks only between tokens, where a space means the same. */
export function lineBytes(message: Raw): Buffer {
  const line = concat([message, '\n']);
  const end = line.byteLength - 1;
  for (const byte of [LF, CR]) {
    for (let at = line.indexOf(byte); at !== -1 && at < end; at = line.indexOf(byte, at + 1)) line[at] = SPACE;
  }
  return line;
}
