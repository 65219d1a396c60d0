/** What must not be seen is seen nowhere: not in the log at its most talkative, not on the console, not on disk. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { challenge, password, Setting } from './setting.ts';

it('keeps tokens, codes, secrets and passwords to itself', verifies('gateway:authserver:secrets'), async () => {
  const printed: unknown[] = [];
  const spies = (['log', 'info', 'warn', 'error', 'debug'] as const).map((name) =>
    vi.spyOn(console, name).mockImplementation((...said) => void printed.push(...said)),
  );
  const setting = await Setting.launch();
  const secretive = await setting.register({
    token_endpoint_auth_method: 'client_secret_post',
    redirect_uris: ['https://app.example/cb'],
  });
  const { client, access, refresh, code, verifier, browser } = await setting.tokens();
  const { json } = await setting.refresh(client, refresh);
  const login = await browser.go(`${setting.origin}/oauth/sign-in`);
  await browser.submit(login, { action: 'sign-in', name: 'ada', password: 'a wrong password' });
  // What goes wrong is told more about than what goes right.
  await setting.exchange(client, code, verifier);
  await setting.exchange(secretive, 'x', 'y', { client_secret: secretive.client_secret ?? '' });
  await setting.browser().go(setting.authorizeUrl({ ...client, client_id: 'nobody' }, challenge()));
  await setting.refresh(client, refresh);
  const cookies = [...browser.cookies.values()].map(({ value }) => value);
  const secrets = {
    access,
    refresh,
    rotated: json.refresh_token,
    code,
    verifier,
    password,
    wrong: 'a wrong password',
    clientSecret: secretive.client_secret ?? '',
    ...Object.fromEntries(cookies.map((value, at) => [`cookie ${at}`, value])),
  };
  await setting.gateway.close(0);
  for (const spy of spies) spy.mockRestore();

  const log = JSON.stringify(setting.gateway.log);
  const console_ = printed.map(String).join('\n');
  expect(console_).toBe('');
  const dir = join(setting.folder, 'state');
  const files = readdirSync(dir).map((name) => join(dir, name));
  expect(files.length).toBeGreaterThan(1);
  for (const path of files) expect(statSync(path).mode & 0o077, path).toBe(0);
  const onDisk = files.map((path) => readFileSync(path).toString('latin1')).join('\n');
  for (const [name, secret] of Object.entries(secrets)) {
    expect(secret.length, name).toBeGreaterThan(8);
    expect(log.includes(secret), `${name} in the log`).toBe(false);
    expect(onDisk.includes(secret), `${name} on disk`).toBe(false);
  }
});
