/**
 * A request that came over a lane, as the rest of the gateway knows requests: a request and a response of `node:http`
 * on a connection of their own, whose bytes go over the lane.
 */
import { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { Writable } from 'node:stream';
import { state, type TrackedConnection } from '../../downstream/connections.ts';
import { HttpAnswer } from '../../downstream/respond.ts';
import type { CarriedHead } from './carried-head.ts';
import { WINDOW_BYTES } from './carried-request.ts';
import { FRAME_BYTES, type FrameWriter, frames } from './frames.ts';

type Written = (error?: Error) => void;

/** Stands for the client's connection. */
export class CarriedConnection extends Writable {
  readonly [state]: TrackedConnection = { isBeyondLimit: false, due: 0, latest: undefined };
  /** Of the client. */
  readonly remoteAddress: string;
  readonly #writer: FrameWriter;
  readonly #stream: number;
  readonly #onOver: () => void;
  #room = WINDOW_BYTES;
  #left: Uint8Array | undefined = undefined;
  #written: Written | undefined = undefined;
  #isOver = false;

  /** `onOver`: nothing will be written any more. */
  constructor(address: string, writer: FrameWriter, stream: number, onOver: () => void) {
    super({ decodeStrings: false });
    this.remoteAddress = address;
    this.#writer = writer;
    this.#stream = stream;
    this.#onOver = onOver;
  }

  override _write(chunk: Uint8Array | string, encoding: BufferEncoding, written: Written): void {
    const isOneFrame = chunk.length <= FRAME_BYTES && chunk.length <= this.#room;
    if (isOneFrame && (typeof chunk !== 'string' || encoding === 'latin1')) {
      this.#room -= chunk.length;
      this.#writer.write(frames.data, this.#stream, chunk);
      written();
      return;
    }
    this.#left = typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk;
    this.#written = written;
    this.#send();
  }

  /** The client has read so many bytes more. */
  credit(bytes: number): void {
    this.#room += bytes;
    this.#send();
  }

  /** The response is complete. */
  finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#writer.write(frames.end, this.#stream);
    this.#onOver();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    if (!this.#isOver) {
      this.#isOver = true;
      this.#writer.write(frames.reset, this.#stream);
      this.#onOver();
    }
    callback(error);
  }

  #send(): void {
    while (this.#left !== undefined && this.#room > 0) {
      const piece = this.#left.subarray(0, Math.min(this.#room, FRAME_BYTES));
      this.#room -= piece.length;
      this.#writer.write(frames.data, this.#stream, piece);
      this.#left = piece.length === this.#left.length ? undefined : this.#left.subarray(piece.length);
    }
    if (this.#left !== undefined) return;
    const written = this.#written;
    this.#written = undefined;
    written?.();
  }
}

export interface CarriedExchange {
  readonly req: IncomingMessage;
  readonly res: HttpAnswer;
}

export function carriedExchange(head: CarriedHead, connection: CarriedConnection): CarriedExchange {
  const socket = connection as unknown as Socket;
  const req = new IncomingMessage(socket);
  Object.assign(req, {
    method: head.method,
    url: head.url,
    httpVersion: '1.1',
    httpVersionMajor: 1,
    httpVersionMinor: 1,
    ...(head.forBackend !== undefined && { forBackend: head.forBackend }),
  });
  // As Node's own parser fills it: doubled headers are joined or dropped by its rules.
  (req as unknown as { _addHeaderLines(raw: string[], count: number): void })._addHeaderLines(
    head.headers,
    head.headers.length,
  );
  const res = new HttpAnswer(req);
  // The body goes over the lane as it is, and the process that has the client's connection writes the date.
  res.useChunkedEncodingByDefault = false;
  res.sendDate = false;
  res.assignSocket(socket);
  // What Node's server does for its connections.
  connection.on('drain', () => res.emit('drain'));
  res.on('finish', () => {
    res.detachSocket(socket);
    connection.finish();
    res.emit('close');
  });
  return { req, res };
}
