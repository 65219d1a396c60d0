import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { keyFileAt } from '../../src/app/key-files.ts';
import { newKey, revokeKey } from '../../src/cli/key-command.ts';
import { Failure } from '../../src/errors/failure.ts';
import { basesOf } from '../../src/identity/auth-metadata.ts';
import { createIdentity } from '../../src/identity/create.ts';
import { identityLimits } from '../../src/identity/limits.ts';
import type { GuardedSettings } from '../../src/identity/settings.ts';
import { bearer, issuerSettings, signer, TestIssuer } from './support.ts';

test('the room as it is built from a config: keys of a file, tokens of an issuer, scopes, the local one', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'bascule-identity-'));
  const issuer = new TestIssuer(await signer('one'));
  const keyFile = join(directory, 'keys.json');
  const room = createIdentity(
    { keyFile, issuers: [issuerSettings()], implies: { 'mcp:read': ['mcp'] }, localScopes: ['mcp'] },
    { ...issuer.outside, keyFileAt, warn: issuer.warn },
  );
  try {
    const settings: GuardedSettings = {
      kind: 'guarded',
      keys: true,
      tokens: true,
      style: 'challenge',
      audiences: [],
      scopes: { required: ['mcp'], methods: {}, tools: {} },
    };
    const guard = room.guardFor(settings, basesOf({}, 'http://127.0.0.1:8808'), ['/mcp']);
    if (guard.kind === 'open') throw new Error('open');
    const said: string[] = [];
    const command = { file: keyFile, say: (text: string) => said.push(text), remark: () => undefined };
    newKey('bob', {}, command);
    issuer.time.move(identityLimits.keyFileMs);
    const bob = await room.identity.identify(bearer(said[0]!), guard);
    const alice = await room.identity.identify(bearer(await issuer.sign({ aud: 'http://localhost:8808/mcp' })), guard);
    if (bob instanceof Failure || alice instanceof Failure) throw new Error('refused');
    expect(guard.scopes.check(alice)).toBeUndefined();
    expect(guard.scopes.check(bob)?.data).toEqual({ required: ['mcp'], missing: ['mcp'] });
    expect(room.local.scopes).toEqual(new Set(['mcp']));
    revokeKey('bob', command);
    issuer.time.move(identityLimits.keyFileMs);
    expect(room.identity.stillGood(bob)).toBe(false);
    expect(room.guardFor({ kind: 'open' }, [], [])).toEqual({ kind: 'open' });
  } finally {
    room.close();
    rmSync(directory, { recursive: true });
  }
  expect(issuer.time.waits).toBe(0);
});
