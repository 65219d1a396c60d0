/** An opening that failed is tried again: what hindered it may be over. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { AuthServerHost } from '../../src/app/auth-server-host.ts';
import { Storage } from '../../src/app/storage.ts';
import { type BackendOAuth, UpstreamOAuth } from '../../src/app/upstream-oauth.ts';
import { ClientAddresses } from '../../src/downstream/callers.ts';
import { MemoryAttempts } from '../../src/exchange/memory-attempts.ts';
import type { Authenticator } from '../../src/identity/authenticator.ts';
import type { RefusalLog } from '../../src/observe/refusals.ts';
import { Backends } from '../../src/upstream/backends.ts';
import { configOf } from '../config/loading.ts';
import { LeapClock } from '../interaction/harness/clock.ts';
import { MemoryRecords } from '../kit/memory-records.ts';
import { failureOf, TestTime } from '../oauth/client/support.ts';

const outside = { now: Date.now, warn: () => undefined, after: () => () => undefined };

test('a store that cannot be opened is tried again after a second, not with each request', async () => {
  const base = mkdtempSync(join(tmpdir(), 'state-'));
  const dir = join(base, 'store');
  writeFileSync(dir, 'in the way');
  const clock = new LeapClock();
  const after = (ms: number, action: () => void) => clock.after(ms, action);
  const state = new Storage(configOf(`store: { dir: '${dir}' }\nbackends: {}\n`), { ...outside, after });
  onTestFinished(async () => {
    await state.close();
    rmSync(base, { recursive: true });
  });
  const refusal = { name: 'StoreError', message: expect.stringContaining(dir) };
  await expect(state.open()).rejects.toMatchObject(refusal);
  rmSync(dir);
  await expect(state.open()).rejects.toMatchObject(refusal);
  clock.leap(1000);
  expect(await state.open()).toBe(await state.open());
});

test('a backend that demands consent is retried by the next call when the first one found no storage open', async () => {
  const servers = { mcpServers: { files: { url: 'http://127.0.0.1:1/mcp' } } };
  const config = configOf(JSON.stringify(servers), 'mcp.json');
  const { warn } = outside;
  const door = { tokenOf: () => undefined, keyOf: () => undefined } as unknown as Authenticator;
  const authority = {} as unknown as AuthServerHost;
  const addresses = new ClientAddresses([]);
  const now = { authenticator: door, addresses, backends: new Backends([]), oauth: {} as BackendOAuth };
  const refusals = {} as unknown as RefusalLog;
  const connections = new UpstreamOAuth({
    currentGeneration: { now },
    authority,
    time: new TestTime(),
    refusals,
    warn,
    attempts: new MemoryAttempts(() => 0),
  });
  now.oauth = connections.of(config);
  let asked = 0;
  const url = async () => {
    asked += 1;
    if (asked === 1) throw new Error('not yet');
    return 'http://127.0.0.1:8808';
  };
  const state = new Storage(config, { ...outside, records: new MemoryRecords(Date.now) });
  onTestFinished(async () => {
    connections.close();
    await state.close();
  });
  const [backend] = config.backends;
  const presented = backend && connections.presentedTo(backend);
  if (presented?.kind !== 'shared') throw new Error('it is presented nothing');
  await connections.open(url, state).catch(() => undefined);
  const refusal = { status: 401, wwwAuthenticate: ['Bearer'], presented: {} };
  // Nobody is at that address; that it was looked for is enough.
  expect((await failureOf(presented.credentialProvider.refused(refusal))).reason).toBe('authorization_unavailable');
  expect(asked).toBe(2);
});
