/**
 * Closes a connection on which the client is still sending. If it were closed at once, the system would answer further
 * bytes with a reset, and the client would lose the response that is being sent (RFC 9112, 9.6). So our half is closed
 * first.
 */
import type { Socket } from 'node:net';

/** Enough for a client to read the response while it is still sending. */
export const LINGER_MS = 2000;

/** Replaces what Node does after the last response on a connection: end and destroy. */
export function lingerOnClose(socket: Socket): void {
  socket.destroySoon = () => {
    socket.end();
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    timer.unref();
    socket.once('close', () => clearTimeout(timer));
  };
}
