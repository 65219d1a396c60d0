/**
 * Server-Sent Events, reading and writing (WHATWG HTML, 9.2.6 "Interpreting an event stream"). Differences from a
 * browser: an event with an id or a retry time and no data is reported too, since streams of 2025-11-25 begin with one;
 * and `id` is the id of this event, not the last one seen.
 */
import { Failure } from '../errors/failure.ts';
import { ChunkBuffer } from './chunk-buffer.ts';
import { concat, type Raw } from './compose.ts';
import { asBuffer } from './values.ts';

export interface SseEvent {
  readonly event: string | undefined;
  readonly id: string | undefined;
  /** Undefined if the event has no data line. Several lines are joined with newlines. */
  readonly data: Uint8Array | undefined;
  readonly retry: number | undefined;
}

export interface SseLimits {
  /** The most bytes in one event, so that an endless event cannot fill the memory. */
  readonly eventBytes: number;
}

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const COLON = 0x3a;
const BOM = Buffer.from([0xef, 0xbb, 0xbf]);
/** One line per field: an event with more lines repeats some. */
const EVENT_LINES = 4;
const NEWLINE = Buffer.from('\n');
const LINE_BREAK = /\r\n|\r|\n/g;

export class SseReader {
  private readonly limit: number;
  /** The part of an incomplete line that has arrived. */
  private readonly line = new ChunkBuffer();
  private readonly data = new ChunkBuffer();
  private dataLines = 0;
  private event: string | undefined = undefined;
  private id: string | undefined = undefined;
  private retry: number | undefined = undefined;
  /** Bytes of the event so far, without the incomplete line. */
  private size = 0;
  private isFirstLine = true;
  /** The last chunk ended in CR: an LF at the start of the next one belongs to it. */
  private afterCr = false;
  private broken: Failure | undefined = undefined;
  private emptyLines = 0;
  /** A comment was counted, so the empty line after it is not. */
  private isCommented = false;
  /** Lines of the event so far, without comments. */
  private fieldLines = 0;
  private furtherLines = 0;

  constructor(limits: SseLimits) {
    this.limit = limits.eventBytes;
  }

  /** Why the stream cannot be read any further; undefined while it can. */
  get failure(): Failure | undefined {
    return this.broken;
  }

  /**
   * Returns the number of lines without content since the last call: comments, and empty lines that end no event and
   * follow no comment.
   */
  takeEmptyLines(): number {
    const lines = this.emptyLines;
    this.emptyLines = 0;
    return lines;
  }

  /** Returns the number of lines since the last call beyond those that an event needs. */
  takeFurtherLines(): number {
    const lines = this.furtherLines;
    this.furtherLines = 0;
    return lines;
  }

  /**
   * The events that this chunk completes. Throws once the stream cannot be read any further. Events that were complete
   * before the error are returned first, and the next push throws.
   */
  push(chunk: Uint8Array): SseEvent[] {
    if (this.broken !== undefined) throw this.broken;
    const events: SseEvent[] = [];
    this.read(asBuffer(chunk), events);
    if (this.broken !== undefined && events.length === 0) throw this.broken;
    return events;
  }

  private read(chunk: Buffer, events: SseEvent[]): void {
    const end = chunk.byteLength;
    if (end === 0) return;
    let at = this.afterCr && chunk[0] === LF ? 1 : 0;
    this.afterCr = false;
    let lf = find(chunk, LF, at);
    let cr = find(chunk, CR, at);
    while (lf < end || cr < end) {
      const stop = Math.min(lf, cr);
      if (!this.takeLine(chunk.subarray(at, stop), events)) return;
      at = stop + 1;
      if (stop === cr) {
        if (at === end) this.afterCr = true;
        else if (chunk[at] === LF) at++;
        cr = find(chunk, CR, at);
      }
      if (lf < at) lf = find(chunk, LF, at);
    }
    if (at < end && this.fits(end - at)) this.line.add(chunk.subarray(at));
  }

  private fits(more: number): boolean {
    if (this.size + this.line.size + more <= this.limit) return true;
    this.broken = new Failure('backend_too_large', { message: `An event of more than ${this.limit} bytes` });
    this.line.clear();
    this.data.clear();
    return false;
  }

  private takeLine(tail: Buffer, events: SseEvent[]): boolean {
    if (!this.fits(tail.byteLength)) return false;
    let line = tail;
    if (this.line.size > 0) {
      this.line.add(tail);
      line = asBuffer(this.line.take());
    }
    if (this.isFirstLine) {
      this.isFirstLine = false;
      if (line.subarray(0, BOM.byteLength).equals(BOM)) line = line.subarray(BOM.byteLength);
    }
    if (line.byteLength === 0) this.dispatch(events);
    else if (line[0] === COLON) {
      this.emptyLines++;
      this.isCommented = true;
    } else {
      this.size += line.byteLength + 1;
      if (++this.fieldLines > EVENT_LINES) this.furtherLines++;
      this.field(line);
    }
    return true;
  }

  private field(line: Buffer): void {
    if (isData(line)) {
      if (this.dataLines++ > 0) this.data.add(NEWLINE);
      this.data.add(line.subarray(line[5] === SPACE ? 6 : 5));
      return;
    }
    const colon = line.indexOf(COLON);
    const nameEnd = colon === -1 ? line.byteLength : colon;
    let at = colon === -1 ? nameEnd : colon + 1;
    if (line[at] === SPACE) at++;
    switch (line.toString('latin1', 0, Math.min(nameEnd, 'event'.length + 1))) {
      case 'event':
        this.event = line.toString('utf8', at);
        break;
      case 'id': {
        const id = line.toString('utf8', at);
        if (!id.includes('\0')) this.id = id;
        break;
      }
      case 'retry': {
        const retry = line.toString('latin1', at);
        if (/^[0-9]+$/.test(retry) && Number.isSafeInteger(Number(retry))) this.retry = Number(retry);
        break;
      }
    }
  }

  private dispatch(events: SseEvent[]): void {
    const { dataLines, event, id, retry } = this;
    if (dataLines > 0 || id !== undefined || retry !== undefined) {
      const data = dataLines > 0 ? this.data.take() : undefined;
      events.push({ event: event === '' ? undefined : event, id, data, retry });
    } else if (!this.isCommented) this.emptyLines++;
    this.isCommented = false;
    this.dataLines = 0;
    this.event = undefined;
    this.id = undefined;
    this.retry = undefined;
    this.size = 0;
    this.fieldLines = 0;
  }
}

/** The field name `data`, with or without a colon after it. */
function isData(line: Buffer): boolean {
  if (line[0] !== 0x64 || line[1] !== 0x61 || line[2] !== 0x74 || line[3] !== 0x61) return false;
  return line.byteLength === 4 || line[4] === COLON;
}

function find(chunk: Buffer, byte: number, from: number): number {
  const at = chunk.indexOf(byte, from);
  return at === -1 ? Number.POSITIVE_INFINITY : at;
}

export interface OutgoingEvent {
  readonly id?: string;
  readonly event?: string;
  readonly retry?: number;
  readonly data?: Raw;
}

/** JSON may be pretty-printed: each newline between its tokens starts another `data` line. */
export function encodeEvent(event: OutgoingEvent): Buffer {
  let head = '';
  if (event.event !== undefined) head += `event: ${oneLine(event.event)}\n`;
  if (event.id !== undefined) head += `id: ${oneLine(event.id)}\n`;
  if (event.retry !== undefined) head += `retry: ${event.retry}\n`;
  if (event.data === undefined) return concat([`${head}\n`]);
  return concat([`${head}data: `, inDataLines(event.data), '\n\n']);
}

function inDataLines(data: Raw): Raw {
  if (typeof data === 'string') return data.replace(LINE_BREAK, '\ndata: ');
  const bytes = asBuffer(data);
  if (!bytes.includes(LF) && !bytes.includes(CR)) return bytes;
  // In Latin-1 each byte is a character, so that no byte changes.
  return Buffer.from(bytes.toString('latin1').replace(LINE_BREAK, '\ndata: '), 'latin1');
}

/** A line break in a field would let a peer inject fields of its own. */
function oneLine(text: string): string {
  if (/[\r\n]/.test(text)) throw new Failure('internal_error', { cause: new Error('a line break in an event field') });
  return text;
}

/** A comment, which keeps a stream alive. */
export function comment(text = ''): Buffer {
  return Buffer.from(`:${text.replace(LINE_BREAK, '\n:')}\n\n`);
}
