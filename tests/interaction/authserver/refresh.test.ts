/** Refresh tokens: each good once, always for the same endpoint and no wider scope, and gone with their user. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { hashPassword } from '../../../src/oauth/server/passwords.ts';
import { addUser } from '../../../src/oauth/server/user-book.ts';
import { writeUserFile } from '../../../src/oauth/server/user-file.ts';
import { verifies } from '../../requirements/verifies.ts';
import { DEADLINE_MS } from '../harness/client.ts';
import { claimsOf, Setting } from './setting.ts';

const told = ({ status, json }: { status: number; json: { error?: string } }) => ({ status, error: json.error });
const grant = { status: 400, error: 'invalid_grant' };

describe('a refresh token', verifies('gateway:authserver:refresh'), () => {
  it('returns a token for the same endpoint and the same scope, and a new refresh token', async () => {
    const setting = await Setting.launch({ identity: { scopes: { required: ['mcp:use'] } } });
    const resource = `${setting.origin}/servers/b/mcp`;
    const { client, access, refresh } = await setting.tokens({ resource, scope: 'mcp:use mcp' });
    let current = refresh;
    for (let round = 0; round < 3; round += 1) {
      const { json } = await setting.refresh(client, current);
      expect(json.refresh_token).not.toBe(current);
      expect(claimsOf(json.access_token)).toMatchObject({ aud: resource, scope: claimsOf(access).scope, sub: 'ada' });
      expect(await setting.enters(json.access_token, '/servers/b/mcp')).toBe(200);
      current = json.refresh_token;
    }
  });

  it('revokes the whole grant when it is replayed', async () => {
    const setting = await Setting.launch();
    const { client, refresh } = await setting.tokens();
    const { json } = await setting.refresh(client, refresh);
    expect(told(await setting.refresh(client, refresh))).toEqual(grant);
    expect(told(await setting.refresh(client, json.refresh_token))).toEqual(grant);
  });

  it('never widens scope or audience', async () => {
    const setting = await Setting.launch({ identity: { scopes: { methods: { 'tools/call': ['tools:call'] } } } });
    const { client, refresh } = await setting.tokens();
    expect(told(await setting.refresh(client, refresh, { scope: 'mcp tools:call' }))).toEqual({
      status: 400,
      error: 'invalid_scope',
    });
    const resource = `${setting.origin}/servers/b/mcp`;
    expect(told(await setting.refresh(client, refresh, { resource }))).toMatchObject({ error: 'invalid_target' });
  });

  it('is of no use to another client', async () => {
    const setting = await Setting.launch();
    const { refresh } = await setting.tokens();
    expect(told(await setting.refresh(await setting.register(), refresh))).toEqual(grant);
  });

  it('is not issued to a client that did not request it', async () => {
    const setting = await Setting.launch();
    const { refresh } = await setting.tokens({}, { grant_types: ['authorization_code'] });
    expect(refresh).toBeUndefined();
  });

  it('can be revoked', async () => {
    const setting = await Setting.launch();
    const { client, refresh } = await setting.tokens();
    const body = new URLSearchParams({ token: refresh, client_id: client.client_id });
    expect((await setting.post('/oauth/revoke', body)).status).toBe(200);
    expect(told(await setting.refresh(client, refresh))).toEqual(grant);
  });

  it.each([
    { name: 'is removed', users: ['bob'], changedAt: 0 },
    { name: 'has a new password', users: ['ada'], changedAt: Date.now() + 60_000 },
  ])('ends when its user $name, without a restart', async ({ users, changedAt }) => {
    const setting = await Setting.launch();
    const { client, refresh } = await setting.tokens();
    const hash = await hashPassword('another long password');
    const file = addUser(undefined, users[0] ?? '', hash, changedAt);
    writeFileSync(join(setting.folder, 'users.json'), writeUserFile(file));
    let current = refresh;
    const tried = async () => {
      const answer = await setting.refresh(client, current);
      current = answer.json.refresh_token ?? current;
      return answer.json.error;
    };
    // The file is looked at every two seconds.
    await expect.poll(tried, { timeout: DEADLINE_MS, interval: 250 }).toBe('invalid_grant');
  });
});
