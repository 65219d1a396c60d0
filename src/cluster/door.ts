/**
 * The connections between replicas: TLS with a key that both ends have (RFC 5489), derived from `seal.key`. So no
 * certificates have to be issued, and a party without the key gets no connection.
 */
import { hkdfSync } from 'node:crypto';
import { Agent, type AgentOptions, request } from 'node:https';
import type { TlsOptions } from 'node:tls';
import type { Dial } from './forward.ts';

const KEY_BYTES = 32;
const IDENTITY_BYTES = 12;
/** With a fresh exchange for each connection: who learns the key later cannot read what was recorded. */
const CIPHERS = 'ECDHE-PSK-CHACHA20-POLY1305';
/** Node has keys that both ends know in TLS 1.2 only. */
const versions = { minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2' } as const;
const CONNECT_MS = 2_000;
const HANDSHAKE_MS = 5_000;
/** Less than the other end keeps an idle connection. */
const IDLE_MS = 30_000;

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
export function doorOptions(secret: string, previous: readonly string[]): TlsOptions {
  const keys = new Map([secret, ...previous].map((each) => [sharedKey(each).identity, sharedKey(each).key]));
  const handshakeTimeout = HANDSHAKE_MS;
  return {
    ...versions,
    ciphers: CIPHERS,
    handshakeTimeout,
    pskCallback: (_socket, identity) => keys.get(identity) ?? null,
  };
}

export interface Dialer {
  /** Keeps connections. */
  readonly agent: Agent;
  /** Keeps none: for a process that may close its door at any moment. */
  readonly freshAgent: Agent;
  dialAt(address: string): Dial;
  /** Whether a process with the key answers there, whatever it says. */
  answersAt(address: string): Promise<boolean>;
}

export function openDialer(secret: string): Dialer {
  const { identity, key } = sharedKey(secret);
  const settings: AgentOptions = {
    ...versions,
    ciphers: CIPHERS,
    // There is no certificate: the key proves who answers.
    checkServerIdentity: () => undefined,
    pskCallback: () => ({ psk: key, identity }),
  };
  const agent = new Agent({ ...settings, keepAlive: true, maxFreeSockets: 64, timeout: IDLE_MS });
  const freshAgent = new Agent(settings);
  const dialer: Dialer = {
    agent,
    freshAgent,
    answersAt: (address) =>
      new Promise((resolve) => {
        // On a connection of its own: one that is kept may lead nowhere.
        const asking = dialer.dialAt(address)({ method: 'GET', path: '/', agent: freshAgent });
        asking.setTimeout(CONNECT_MS, () => asking.destroy());
        asking.on('response', (answer) => {
          answer.resume();
          resolve(true);
        });
        asking
          .on('error', () => resolve(false))
          .on('close', () => resolve(false))
          .end();
      }),
    dialAt: (address) => (options) => {
      const { hostname, port } = new URL(`https://${address}`);
      const onward = request({ ...options, host: hostname.replace(/^\[|\]$/g, ''), port });
      onward.on('socket', (socket) => {
        if (!socket.connecting) return;
        const late = setTimeout(
          () => onward.destroy(Object.assign(new Error('no connection'), { code: 'ETIMEDOUT' })),
          CONNECT_MS,
        );
        socket.once('secureConnect', () => clearTimeout(late)).once('close', () => clearTimeout(late));
      });
      return onward;
    },
  };
  return dialer;
}
