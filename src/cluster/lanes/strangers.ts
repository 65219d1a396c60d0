/** Connections on which no process has said who it is. */
import type { Socket } from 'node:net';

/**
 * The oldest gives way to the next one: a process of ours says who it is within milliseconds, so others cannot keep it
 * out by connections that say nothing.
 */
export const MOST_STRANGERS = 256;

/** Found by the peer: a connection and the encrypted one in it have the same. One over a Unix socket has none. */
export class Strangers {
  readonly #sockets = new Map<string, Socket>();

  add(socket: Socket): void {
    const peer = peerOf(socket);
    if (peer === undefined) return;
    const [oldest] = this.#sockets;
    if (oldest !== undefined && this.#sockets.size >= MOST_STRANGERS) {
      const [name, stranger] = oldest;
      this.#sockets.delete(name);
      stranger.destroy();
    }
    this.#sockets.set(peer, socket);
    socket.on('close', () => this.#sockets.delete(peer));
  }

  /** It is none any more. */
  delete(socket: Socket): void {
    const peer = peerOf(socket);
    if (peer !== undefined) this.#sockets.delete(peer);
  }
}

function peerOf({ remoteAddress, remotePort }: Socket): string | undefined {
  return remoteAddress && `${remoteAddress} ${remotePort}`;
}
