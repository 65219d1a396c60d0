/** Connections on which HTTP parsing failed: the response they get, and how long they stay open. */
import type { Duplex } from 'node:stream';
import { Failure, type Reason } from '../errors/failure.ts';
import { destroyAfter, failureOnTheWire, type HttpAnswer, LINGER_MS, type ResponseHeaders } from './respond.ts';

/** How many bytes may still arrive in that time: enough for the rest of an oversized header, not for a flood. */
const LINGER_BYTES = 256 * 1024;

/** By the error codes of Node's parser. */
const reasons: Readonly<Record<string, Reason>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'body_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

export class BrokenConnections {
  /** Connections that were answered and are about to be closed, and how much had been read of each. */
  readonly #lingering = new Map<Duplex, number>();

  /** `latest` is the most recent response on the connection. */
  break(
    error: Error & { code?: string },
    socket: Duplex & { bytesRead?: number },
    latest: HttpAnswer | undefined,
  ): void {
    const taken = this.#lingering.get(socket);
    if (taken !== undefined) {
      // The parser reports the error again for each further chunk.
      if ((socket.bytesRead ?? 0) - taken > LINGER_BYTES) socket.destroy();
      return;
    }
    const failure = failureOf(error);
    if (!socket.writable || error.code === 'ECONNRESET') socket.destroy();
    else if (latest === undefined || latest.gone) this.dismiss(socket, failure);
    else if (latest.reading !== undefined && latest.socket === socket) latest.reading.fail(failure);
    // A response is being sent, and nothing may be written into the middle of it.
    else socket.destroy();
  }

  /** Sends the failure and closes the connection. */
  dismiss(socket: Duplex & { bytesRead?: number }, failure: Failure, headers?: ResponseHeaders): void {
    destroyAfter(socket, LINGER_MS);
    this.#lingering.set(socket, socket.bytesRead ?? 0);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#lingering.delete(socket));
    socket.end(failureOnTheWire(failure, headers));
    socket.resume();
  }

  close(): void {
    for (const socket of this.#lingering.keys()) socket.destroy();
  }
}

function failureOf(error: Error & { code?: string }): Failure {
  const reason = error.code === undefined ? undefined : reasons[error.code];
  if (reason !== undefined) return new Failure(reason, { cause: error });
  return new Failure('invalid_request', { message: 'Malformed HTTP request', cause: error });
}
