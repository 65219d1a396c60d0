/** Uses up what a gateway of several processes allows. Every request has a connection of its own. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { hashPassword } from '../../../src/oauth/server/passwords.ts';
import { addUser } from '../../../src/oauth/server/user-book.ts';
import { writeUserFile } from '../../../src/oauth/server/user-file.ts';
import { Browser } from '../authserver/browser.ts';
import { DEADLINE_MS, send } from './client.ts';
import { initialize, modern } from './eras.ts';

export const aCall = () => modern({ method: 'tools/call', params: { name: 'echo', arguments: {} } });

export interface Spent {
  readonly admitted: number;
  readonly seconds: number;
}

/** Sends calls to these addresses in turn, several at a time, until `requests` were answered. */
export async function spend(urls: readonly string[], requests: number): Promise<Spent> {
  const begun = performance.now();
  let admitted = 0;
  let sent = 0;
  const lane = async () => {
    while (sent < requests) {
      const { status, headers, body } = await send(urls[sent++ % urls.length] ?? '', aCall());
      if (status === 200) admitted += 1;
      else expect([status, Number(headers['retry-after']) > 0, body]).toEqual([429, true, expect.any(String)]);
    }
  };
  await Promise.all(Array.from({ length: 6 }, lane));
  return { admitted, seconds: (performance.now() - begun) / 1_000 };
}

/** How many of so many sessions were opened, at these addresses in turn. */
export async function openSessions(urls: readonly string[], count: number): Promise<number> {
  const statuses = [];
  for (let at = 0; at < count; at++)
    statuses.push((await send(urls[at % urls.length] ?? '', { body: initialize() })).status);
  expect(statuses.filter((status) => status !== 200 && status !== 429)).toEqual([]);
  return statuses.filter((status) => status === 200).length;
}

/** Asks until it is so. */
export async function eventually(isSo: () => Promise<boolean>, what: string): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error(`it never happened: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** A file with the user `ada`. */
export async function userFile(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'bascule-users-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'users.json');
  writeFileSync(path, writeUserFile(addUser(undefined, 'ada', await hashPassword('correct horse battery'), 0)));
  return path;
}

/** The statuses of so many attempts to sign in with a wrong password, at these addresses in turn. */
export async function wrongPasswords(origins: readonly string[], count: number): Promise<readonly number[]> {
  const statuses = [];
  for (let at = 0; at < count; at++) {
    const origin = origins[at % origins.length] ?? '';
    const browser = new Browser(origin);
    const page = await browser.go(`${origin}/oauth/sign-in`);
    statuses.push((await browser.submit(page, { action: 'sign-in', name: 'ada', password: 'wrong' })).status);
  }
  return statuses;
}
