/**
 * The connections between replicas: TLS with a key that both ends have (RFC 5489), derived from `seal.key`. So no
 * certificates have to be issued, and a party without the key gets no connection.
 */
import { hkdfSync } from 'node:crypto';
import { connect, createServer, type Server, type TLSSocket } from 'node:tls';

const KEY_BYTES = 32;
const IDENTITY_BYTES = 12;
/** With a fresh exchange for each connection: who learns the key later cannot read what was recorded. */
const CIPHERS = 'ECDHE-PSK-CHACHA20-POLY1305';
/** Node has keys that both ends know in TLS 1.2 only. */
const versions = { minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2' } as const;
const HANDSHAKE_MS = 5_000;

interface SharedKey {
  readonly identity: string;
  readonly key: Buffer;
}

function sharedKey(secret: string): SharedKey {
  const derived = (use: string, bytes: number) =>
    Buffer.from(hkdfSync('sha256', secret, 'bascule', `cluster ${use}`, bytes));
  return { identity: derived('identity', IDENTITY_BYTES).toString('base64url'), key: derived('key', KEY_BYTES) };
}

/** Accepts the current secret and those from before. */
export function guardedServer(secret: string, previous: readonly string[]): Server {
  const keys = new Map([secret, ...previous].map((each) => [sharedKey(each).identity, sharedKey(each).key]));
  const server = createServer({
    ...versions,
    ciphers: CIPHERS,
    handshakeTimeout: HANDSHAKE_MS,
    pskCallback: (_socket, identity) => keys.get(identity) ?? null,
  });
  return server.on('tlsClientError', (_error, socket) => socket.destroy());
}

/** Opens connections to such a server. */
export function guardedDial(secret: string): (address: string) => TLSSocket {
  const { identity, key } = sharedKey(secret);
  return (address) => {
    const { hostname, port } = new URL(`https://${address}`);
    return connect({
      ...versions,
      ...{ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port), ciphers: CIPHERS },
      // There is no certificate: the key proves who answers.
      checkServerIdentity: () => undefined,
      pskCallback: () => ({ psk: key, identity }),
    });
  };
}
