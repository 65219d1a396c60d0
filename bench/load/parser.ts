/**
 * HTTP/1.1 answers, read with as little work as possible: the load generator shares two cores with what it measures.
 */

export interface Answer {
  readonly status: number;
  /** Header lines in lower case. */
  readonly head: string;
  readonly body: Buffer;
}

const HEAD_END = Buffer.from('\r\n\r\n');
const nothing: Buffer = Buffer.alloc(0);

type Framing = { readonly kind: 'length'; readonly bytes: number } | { readonly kind: 'chunked' };

export function headerOf(head: string, name: string): string | undefined {
  const start = head.indexOf(`\r\n${name}:`);
  if (start < 0) return undefined;
  const end = head.indexOf('\r\n', start + 2);
  return head.slice(start + name.length + 3, end < 0 ? undefined : end).trim();
}

export class AnswerParser {
  #pending: Buffer = nothing;
  #head: string | undefined;
  #framing: Framing = { kind: 'length', bytes: 0 };
  #pieces: Buffer[] = [];
  #gathered = 0;
  /** Bytes of the present chunk that are still to come, its closing line end included. */
  #chunkLeft = 0;

  get head(): string | undefined {
    return this.#head;
  }

  /** The answer, when these bytes complete it. Nothing is pipelined, so nothing follows it. */
  push(chunk: Buffer): Answer | undefined {
    if (this.#head === undefined) {
      const seen = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
      const end = seen.indexOf(HEAD_END);
      if (end < 0) {
        this.#pending = seen;
        return undefined;
      }
      this.#begin(seen.toString('latin1', 0, end));
      return this.#body(seen.subarray(end + HEAD_END.length));
    }
    return this.#body(chunk);
  }

  #begin(head: string): void {
    // Session ids keep their case: only names are folded.
    this.#head = head.replace(/\r\n[^:]+:/g, (name) => name.toLowerCase());
    this.#pending = nothing;
    const length = headerOf(this.#head, 'content-length');
    const isChunked = headerOf(this.#head, 'transfer-encoding')?.toLowerCase() === 'chunked';
    this.#framing = isChunked ? { kind: 'chunked' } : { kind: 'length', bytes: Number(length ?? 0) };
  }

  #body(bytes: Buffer): Answer | undefined {
    if (this.#framing.kind === 'chunked') return this.#chunks(bytes);
    this.#keep(bytes);
    return this.#gathered >= this.#framing.bytes ? this.#finish() : undefined;
  }

  #chunks(bytes: Buffer): Answer | undefined {
    let rest = this.#pending.length === 0 ? bytes : Buffer.concat([this.#pending, bytes]);
    this.#pending = nothing;
    for (;;) {
      if (this.#chunkLeft > 0) {
        const data = Math.min(rest.length, this.#chunkLeft);
        // The last two bytes are the line end.
        this.#keep(rest.subarray(0, Math.min(data, Math.max(0, this.#chunkLeft - 2))));
        this.#chunkLeft -= data;
        rest = rest.subarray(data);
        if (this.#chunkLeft > 0) return undefined;
      }
      const end = rest.indexOf('\r\n');
      if (end < 0) {
        this.#pending = rest;
        return undefined;
      }
      const size = Number.parseInt(rest.toString('latin1', 0, end), 16);
      if (Number.isNaN(size)) throw new Error('a chunk without a size');
      if (size === 0) {
        if (rest.length >= end + 4) return this.#finish();
        this.#pending = rest;
        return undefined;
      }
      this.#chunkLeft = size + 2;
      rest = rest.subarray(end + 2);
    }
  }

  #keep(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#pieces.push(bytes);
    this.#gathered += bytes.length;
  }

  #finish(): Answer {
    const head = this.#head as string;
    const body = this.#pieces.length === 1 ? (this.#pieces[0] as Buffer) : Buffer.concat(this.#pieces);
    this.#head = undefined;
    this.#pieces = [];
    this.#gathered = 0;
    this.#pending = nothing;
    return { status: Number(head.slice(9, 12)), head, body };
  }
}
