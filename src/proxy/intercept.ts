/** Decrypts the connection of a client that wants to talk to a backend's host, with a certificate for this host. */
import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { createServer, type TLSSocket } from 'node:tls';
import { Failure } from '../errors/failure.ts';
import type { Ca, KeyedCertificate, makeLeaf } from './certificates/certificate.ts';

/** More than that are a config that is reloaded with ever other hosts. */
const MOST_LEAVES = 256;
/** A leaf is replaced while it is still good, so that no handshake meets its end. */
const RENEWED_MS = 60 * 60_000;

export interface InterceptorPorts {
  /** Throws where it cannot be read. Undefined: there is none. */
  readonly ca: () => Ca | undefined;
  readonly makeLeaf: typeof makeLeaf;
  readonly now: () => number;
  readonly handshakeMs: number;
  /** The certificate authority cannot be read. */
  readonly warn: (error: unknown) => void;
}

export class Interceptor {
  readonly #ports: InterceptorPorts;
  /** By host. In memory alone. */
  readonly #leaves = new Map<string, KeyedCertificate & { readonly by: Ca }>();

  constructor(ports: InterceptorPorts) {
    this.#ports = ports;
  }

  /** Throws a Failure where the certificate authority cannot sign for the host. */
  leafFor(host: string): KeyedCertificate {
    const now = this.#ports.now();
    const ca = this.#ca();
    if (ca === undefined) throw new Failure('proxy_ca_missing');
    if (ca.until <= now) throw new Failure('proxy_ca_outdated', { message: 'The certificate authority has expired' });
    if (!ca.hosts.includes(host))
      throw new Failure('proxy_ca_outdated', { message: 'The certificate authority is not for this host' });
    const known = this.#leaves.get(host);
    // The last leaf of a certificate authority ends with it.
    const isGood = known !== undefined && (known.until > now + RENEWED_MS || known.until === ca.until);
    if (known?.by === ca && isGood) return known;
    if (this.#leaves.size >= MOST_LEAVES) this.#leaves.clear();
    const leaf = { ...this.#ports.makeLeaf(host, ca, now), by: ca };
    this.#leaves.set(host, leaf);
    return leaf;
  }

  #ca(): Ca | undefined {
    try {
      return this.#ports.ca();
    } catch (error) {
      this.#ports.warn(error);
      return undefined;
    }
  }

  /** Calls `secured` when the handshake is done. The client has to name the host, and to speak HTTP/1.1. */
  decrypt(socket: Duplex, host: string, leaf: KeyedCertificate, secured: (socket: TLSSocket) => void): void {
    // A server of its own: nothing else says which connection a decrypted one belongs to.
    const server = createServer({
      cert: leaf.certificate,
      key: leaf.key,
      ALPNProtocols: ['http/1.1'],
      minVersion: 'TLSv1.2',
      handshakeTimeout: this.#ports.handshakeMs,
      SNICallback: (name, done) => done(name.toLowerCase() === host ? null : new Error('another server name')),
    });
    server.on('tlsClientError', (_error, secure) => secure.destroy());
    server.on('secureConnection', (secure) => {
      secure.on('error', () => secure.destroy());
      // RFC 6066, 3: an address is never named.
      if (secure.servername || isIP(host) !== 0) secured(secure);
      else secure.destroy();
    });
    server.emit('connection', socket);
  }
}
