/**
 * What goes over a lane: frames, each of a kind, for one request, with a payload. Frames of one turn of the event loop
 * are written together: a system call costs more than a small request.
 */
import type { Socket } from 'node:net';

/** The kinds of frames. Those for the lane itself have the number 0. */
export const frames = {
  /** The process that opens the lane says who it is (hello.ts). */
  hello: 1,
  welcome: 2,
  /** The head of a request, as JSON. */
  request: 3,
  /** A part of its body. */
  body: 4,
  /** A part of the response: its head as in HTTP/1.1, then its body as it is. */
  data: 5,
  /** The response is complete. */
  end: 6,
  /** The client is gone; or the response cannot be completed. */
  reset: 7,
  /** The request was not looked at. */
  away: 8,
  /** So many bytes of the response were passed on to the client. */
  credit: 9,
  /** The process takes no more requests. */
  bye: 10,
} as const;

const HEAD_BYTES = 9;
/** The most that is written as one frame: what comes after it does not wait for long. */
export const FRAME_BYTES = 64 * 1024;
/** The most that is accepted as one: the head of a request has as many bytes as its headers. */
export const MOST_BYTES = 4 * 1024 * 1024;
/** Up to this size, copying bytes is cheaper than writing them apart. */
const COPIED_BYTES = 16 * 1024;

export type TakeFrame = (kind: number, stream: number, payload: Buffer) => void;

export class FrameReader {
  /** The most bytes of a frame from now on. */
  most: number;
  readonly #take: TakeFrame;
  #kept: Buffer | undefined = undefined;

  constructor(take: TakeFrame, most = MOST_BYTES) {
    this.#take = take;
    this.most = most;
  }

  /** False: these are no frames. */
  read(chunk: Buffer): boolean {
    const bytes = this.#kept === undefined ? chunk : Buffer.concat([this.#kept, chunk]);
    let at = 0;
    while (bytes.length - at >= HEAD_BYTES) {
      const size = bytes.readUInt32BE(at);
      if (size > this.most) return false;
      const end = at + HEAD_BYTES + size;
      if (end > bytes.length) break;
      this.#take(bytes[at + 4] as number, bytes.readUInt32BE(at + 5), bytes.subarray(at + HEAD_BYTES, end));
      at = end;
    }
    this.#kept = at === bytes.length ? undefined : bytes.subarray(at);
    return true;
  }
}

export class FrameWriter {
  readonly #socket: Socket;
  #pieces: Uint8Array[] = [];
  #size = 0;
  readonly #flush = () => this.flush();

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** A text has one byte for each character (Latin-1). */
  write(kind: number, stream: number, payload: Uint8Array | string = ''): void {
    const size = payload.length;
    const isCopied = typeof payload === 'string' || size <= COPIED_BYTES;
    const head = Buffer.allocUnsafe(isCopied ? HEAD_BYTES + size : HEAD_BYTES);
    head.writeUInt32BE(size, 0);
    head[4] = kind;
    head.writeUInt32BE(stream, 5);
    if (typeof payload === 'string') head.write(payload, HEAD_BYTES, 'latin1');
    else if (isCopied) head.set(payload, HEAD_BYTES);
    if (this.#pieces.length === 0) setImmediate(this.#flush);
    this.#push(head);
    if (!isCopied) this.#push(payload as Uint8Array);
  }

  flush(): void {
    const pieces = this.#pieces;
    const size = this.#size;
    if (pieces.length === 0) return;
    this.#pieces = [];
    this.#size = 0;
    if (this.#socket.destroyed) return;
    if (pieces.length === 1) this.#socket.write(pieces[0] as Uint8Array);
    else if (size <= FRAME_BYTES) this.#socket.write(Buffer.concat(pieces, size));
    else {
      this.#socket.cork();
      for (const piece of pieces) this.#socket.write(piece);
      this.#socket.uncork();
    }
  }

  #push(piece: Uint8Array): void {
    this.#pieces.push(piece);
    this.#size += piece.length;
  }
}
