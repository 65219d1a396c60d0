/** The HTTP server of a listener with TLS. Loaded only where `listen.tls` is configured. */
import { createServer, type Server } from 'node:https';
import type { Socket } from 'node:net';
import type { TLSSocket, TlsOptions } from 'node:tls';
import { state, type TrackedSocket } from './connections.ts';
import type { TlsServing } from './listener.ts';

/** PEM texts, and the oldest version that a client may use. */
export type TlsMaterial = Required<Pick<TlsOptions, 'cert' | 'key' | 'minVersion'>>;

export class TlsServers implements TlsServing {
  #material: TlsMaterial;
  readonly #servers: Server[] = [];

  constructor(material: TlsMaterial) {
    this.#material = material;
  }

  readonly createServer: TlsServing['createServer'] = (options) => {
    // No HTTP/2: MCP needs nothing of it, and every limit here is one of HTTP/1.1.
    const server = createServer({ ...options, ...this.#material, ALPNProtocols: ['http/1.1'] });
    keepState(server as Server);
    this.#servers.push(server as Server);
    return server;
  };

  /** For handshakes from now on. Throws where the material is unusable; the old one is in force then. */
  replace(material: TlsMaterial): void {
    for (const server of this.#servers) server.setSecureContext(material);
    this.#material = material;
  }
}

/**
 * Connections are counted before their handshake, when only the plain socket is there. Node does not say which secure
 * socket belongs to it, but both have the same peer.
 */
function keepState(server: Server): void {
  const open = new Map<string, Socket>();
  server.on('connection', (connection) => {
    const socket = connection as Socket;
    const peer = peerOf(socket);
    open.set(peer, socket);
    socket.once('close', () => {
      if (open.get(peer) === socket) open.delete(peer);
    });
  });
  // Before the listener that reads requests.
  server.prependListener('secureConnection', (secure: TLSSocket) => {
    const socket = open.get(peerOf(secure)) as TrackedSocket<Socket> | undefined;
    if (socket === undefined) secure.destroy();
    else Object.assign(secure, { [state]: socket[state] });
  });
}

function peerOf({ remoteAddress, remotePort, localAddress }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress}`;
}
