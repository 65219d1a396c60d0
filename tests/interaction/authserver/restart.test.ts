/** Whatever the process knew is gone; what people and clients did is not. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { challenge, claimsOf, password, Setting } from './setting.ts';

describe('a restart', verifies('gateway:authserver:durable'), () => {
  it('between any two steps of a flow loses nothing', async () => {
    const setting = await Setting.launch();
    const client = await setting.register();
    await setting.restart();
    const proof = challenge();
    const browser = setting.browser();
    const login = await browser.go(setting.authorizeUrl(client, proof));
    await setting.restart();
    const consent = await browser.submit(login, { action: 'sign-in', name: 'ada', password });
    await setting.restart();
    const back = await browser.submit(consent, { action: 'allow' });
    const code = back.url.searchParams.get('code') ?? '';
    await setting.restart();
    const { json } = await setting.exchange(client, code, proof.verifier);
    await setting.restart();
    expect(await setting.enters(json.access_token)).toBe(200);
    expect((await setting.exchange(client, code, proof.verifier)).status).toBe(400);
  });

  it('between login and refresh keeps the grant, its rotation and its audience', async () => {
    const setting = await Setting.launch();
    const { client, access, refresh } = await setting.tokens();
    await setting.restart();
    const first = await setting.refresh(client, refresh);
    expect(claimsOf(first.json.access_token).aud).toBe(claimsOf(access).aud);
    await setting.restart();
    const second = await setting.refresh(client, first.json.refresh_token);
    expect(second.status).toBe(200);
    await setting.restart();
    expect((await setting.refresh(client, refresh)).json.error).toBe('invalid_grant');
    expect((await setting.refresh(client, second.json.refresh_token)).json.error).toBe('invalid_grant');
  });

  it('keeps the browser signed in, and the keys', async () => {
    const setting = await Setting.launch();
    const { browser, client } = await setting.tokens({}, { redirect_uris: ['https://app.example/cb'] });
    const keys = await setting.metadata('/oauth/jwks');
    await setting.restart();
    expect(await setting.metadata('/oauth/jwks')).toEqual(keys);
    const again = await browser.go(setting.authorizeUrl(client, challenge()));
    expect(again.url.searchParams.get('code')).toBeTruthy();
  });
});
