/**
 * What it costs to know who is calling: the gateway without identity, one that asks for keys, and one that asks for
 * tokens.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { addKey } from '../../src/identity/key-book.ts';
import { writeKeyFile } from '../../src/identity/key-file.ts';
import { missing, overHttpWith } from './bascule.ts';
import type { Contestant, Running, StartOptions } from './contestant.ts';

interface Asked {
  /** Of the config. */
  readonly identity: object | undefined;
  /** What every request presents. */
  readonly headers: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/** The same credential comes without being looked at: what it costs to read its bytes is not the question here. */
async function unread(ask: () => Promise<Asked>): Promise<Asked> {
  return { ...(await ask()), identity: undefined };
}

export async function byKey(): Promise<Asked> {
  const directory = mkdtempSync(join(tmpdir(), 'bascule-bench-'));
  const file = join(directory, 'keys.json');
  const { key, file: keys } = addKey(undefined, { name: 'bench', scopes: [] }, { bytes: randomBytes, now: Date.now });
  writeFileSync(file, writeKeyFile(keys));
  return {
    identity: { keys: { file } },
    headers: { authorization: `Bearer ${key}` },
    stop: async () => rmSync(directory, { recursive: true, force: true }),
  };
}

const audience = 'bench';

/** Of the size that large providers give out: some twenty claims, RS256. */
async function byToken(): Promise<Asked> {
  const { privateKey, publicKey } = await generateKeyPair('RS256');
  const jwks = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), alg: 'RS256', use: 'sig', kid: 'one' }] });
  const server = createServer((_request, response) => response.setHeader('content-type', 'application/json').end(jwks));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const more = Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`claim_${at}`, `what it says about ${at}`]));
  const token = await new SignJWT({ ...more, scope: 'openid mcp:use', client_id: 'bench' })
    .setProtectedHeader({ alg: 'RS256', kid: 'one', typ: 'at+jwt' })
    .setIssuer(issuer)
    .setSubject('somebody')
    .setAudience(audience)
    .setIssuedAt()
    .setExpirationTime('2h')
    .sign(privateKey);
  return {
    identity: { issuers: [{ issuer, jwksUri: `${issuer}/jwks` }], audiences: [audience] },
    headers: { authorization: `Bearer ${token}` },
    stop: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function guarded(ask: () => Promise<Asked>, options: StartOptions): Promise<Running> {
  const { identity, headers, stop } = await ask();
  const running = await overHttpWith({ ...(identity && { identity }) }, options);
  return {
    at: (target) => ({ ...running.at(target), headers }),
    stop: async () => {
      await running.stop();
      await stop();
    },
  };
}

function contestant(name: string, ask: () => Promise<Asked>): Contestant {
  return { name, group: 'identity', missing, start: (options) => guarded(ask, options) };
}

export const askingNothing: Contestant = {
  ...contestant('no identity', () => unread(byToken)),
  isFloor: true,
};
export const ignoringKeys = contestant('no identity, key sent', () => unread(byKey));
export const askingForKeys = contestant('key', byKey);
export const askingForTokens = contestant('token', byToken);
