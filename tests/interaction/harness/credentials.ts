/**
 * What clients present: keys in a file on disk, and tokens of an issuer on a real socket. Gone when the test is over.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { addKey, removeKeys } from '../../../src/identity/key-book.ts';
import { type KeyFile, writeKeyFile } from '../../../src/identity/key-file.ts';
import { type Signer, sign, signer } from '../../identity/support.ts';
import type { Headers } from './client.ts';

export interface KeyWish {
  readonly scopes?: readonly string[];
  readonly groups?: readonly string[];
  readonly expiresAt?: number;
}

/** A key file. The caller closes it. */
export class KeyRing {
  readonly #folder = mkdtempSync(join(tmpdir(), 'bascule-keys-'));
  readonly path = join(this.#folder, 'keys.json');
  #file: KeyFile | undefined;

  /** The text of a new key. */
  make(name: string, { scopes = [], groups, expiresAt }: KeyWish = {}): string {
    // So long ago that a key may have expired since.
    const added = addKey(this.#file, { name, scopes, groups, expiresAt }, { bytes: randomBytes, now: () => 0 });
    this.#write(added.file);
    return added.key;
  }

  revoke(name: string): void {
    if (this.#file !== undefined) this.#write(removeKeys(this.#file, name).file);
  }

  close(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #write(file: KeyFile): void {
    this.#file = file;
    writeFileSync(this.path, writeKeyFile(file));
  }
}

export function keyRing(): KeyRing {
  const ring = new KeyRing();
  onTestFinished(() => ring.close());
  return ring;
}

type ClaimsWish = Readonly<Record<string, unknown>>;

/** An issuer with valid metadata that signs any claims. */
export interface TokenIssuer {
  readonly url: string;
  /** How often its keys were asked for. */
  readonly keyFetches: number;
  /** Valid for an hour by default; `undefined` leaves a claim out. */
  token(aud: unknown, more?: ClaimsWish, header?: object): Promise<string>;
  /** Signed by another key under the same key id. */
  forged(aud: unknown): Promise<string>;
  /** What it says of a token, where it is asked (RFC 7662). */
  introspected: (token: string, authorization: string | undefined) => object;
  close(): Promise<void>;
}

export async function launchTokenIssuer(): Promise<TokenIssuer> {
  const own: Signer = await signer('one');
  const other: Signer = await signer('one');
  let keyFetches = 0;
  const pages: Readonly<Record<string, () => object>> = {
    '/.well-known/oauth-authorization-server': () => ({ issuer: issuer.url, jwks_uri: `${issuer.url}/jwks` }),
    '/jwks': () => {
      keyFetches += 1;
      return { keys: [own.jwk] };
    },
  };
  const server = createServer((request, response) => {
    const answer = (page: object | undefined) =>
      response
        .writeHead(page === undefined ? 404 : 200, { 'content-type': 'application/json' })
        .end(JSON.stringify(page ?? {}));
    if (request.url !== '/introspect') answer(pages[request.url ?? '']?.());
    else {
      let body = '';
      request.on('data', (chunk) => {
        body += chunk;
      });
      request.on('end', () => {
        const token = new URLSearchParams(body).get('token') ?? '';
        answer(issuer.introspected(token, request.headers.authorization));
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const claims = (aud: unknown, more: ClaimsWish) => {
    const now = Math.floor(Date.now() / 1000);
    return { iss: url, sub: 'alice', aud, iat: now, exp: now + 3600, scope: '', ...more };
  };
  const issuer: TokenIssuer = {
    url,
    get keyFetches() {
      return keyFetches;
    },
    token: (aud, more = {}, header = {}) => sign(own, claims(aud, more), header),
    forged: (aud) => sign(other, claims(aud, {})),
    introspected: () => ({ active: false }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return issuer;
}

export async function tokenIssuer(): Promise<TokenIssuer> {
  const issuer = await launchTokenIssuer();
  onTestFinished(() => issuer.close());
  return issuer;
}

export function bearer(text: string): Headers {
  return { authorization: `Bearer ${text}` };
}
