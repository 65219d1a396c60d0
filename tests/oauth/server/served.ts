/** The authorization server by itself behind a socket: its users, its clock and its records in the test's hand. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { MemoryAttempts } from '../../../src/exchange/memory-attempts.ts';
import { type AuthServer, createAuthServer } from '../../../src/oauth/server/create.ts';
import { hashPassword, type PasswordHash } from '../../../src/oauth/server/passwords.ts';
import type { AuthServerSettings } from '../../../src/oauth/server/settings.ts';
import { addUser } from '../../../src/oauth/server/user-book.ts';
import { writeUserFile } from '../../../src/oauth/server/user-file.ts';
import { createSeal } from '../../../src/store/seal.ts';
import { MemoryRecords } from '../../kit/memory-records.ts';

export const password = 'correct horse battery';
let hashed: Promise<PasswordHash> | undefined;

export interface Served {
  readonly origin: string;
  readonly server: AuthServer;
  readonly records: MemoryRecords;
  /** No user, or ada, with a password of that time. */
  rewriteUsers(changed: number | undefined): void;
}

export async function serve({
  trustedProxies = [],
  ...settings
}: Partial<AuthServerSettings> & { trustedProxies?: readonly string[] } = {}): Promise<Served> {
  hashed ??= hashPassword(password);
  const hash = await hashed;
  const usersSince = (changed: number | undefined) =>
    changed === undefined
      ? JSON.stringify({ version: 1, users: [] })
      : writeUserFile(addUser(undefined, 'ada', hash, changed));
  let text = usersSince(0);
  let look: () => void = () => undefined;
  const records = new MemoryRecords(() => Date.now());
  let server: AuthServer | undefined;
  const http = createServer((req, res) => {
    void server?.handle(req, res, new URL(req.url ?? '', 'http://x').pathname);
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  server = await createAuthServer(
    {
      issuer: origin,
      settings: {
        userFile: '/users.json',
        scopes: {},
        tokenTtlMs: 60_000,
        refreshTtlMs: 3_600_000,
        registration: 'open',
        metadataDocuments: false,
        allowAddresses: [],
        ...settings,
      },
      trustedProxies,
      resources: [{ addresses: [`${origin}/mcp`], required: [], scopes: [] }],
    },
    {
      records,
      time: {
        now: () => Date.now(),
        after: (_ms, action) => {
          look = action;
          return () => undefined;
        },
      },
      attempts: new MemoryAttempts(Date.now),
      warn: () => undefined,
      refused: () => undefined,
      seal: createSeal(undefined),
      providerFetch: () => () => Promise.reject(new Error('no provider')),
      flights: { once: (_name, _done, work) => work() },
      outwardFetch: () => Promise.reject(new Error('nothing is fetched here')),
      userFileAt: () => ({ stamp: () => text, read: () => text }),
    },
  );
  onTestFinished(async () => {
    server?.close();
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  });
  return {
    origin,
    server,
    records,
    rewriteUsers: (changed) => {
      text = usersSince(changed);
      look();
    },
  };
}
