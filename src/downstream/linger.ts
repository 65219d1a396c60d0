/**
 * The end of a connection on which a client is still sending. Closed at once, the system would answer what still comes with a
 * reset, and the client would lose the answer that is on its way (RFC 9112, 9.6). So our half is closed first.
 */
import type { Socket } from 'node:net';

/** Enough for a client to read the answer while it is still sending. */
export const LINGER_MS = 2000;

/** Takes the place of what Node does when the last answer on a connection was sent: end, and destroy. */
export function lingerOnClose(socket: Socket): void {
  socket.destroySoon = () => {
    socket.end();
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    timer.unref();
    socket.once('close', () => clearTimeout(timer));
  };
}
