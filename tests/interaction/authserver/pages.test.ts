/** The pages: what they show, who may post to them, and how often. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { DEADLINE_MS } from '../harness/client.ts';
import { isLogin } from './browser.ts';
import { callback, challenge, password, Setting } from './setting.ts';

async function atLogin(metadata: object = {}, more: Readonly<Record<string, string>> = {}) {
  const setting = await Setting.launch({ users: ['ada', 'bob'] });
  const client = await setting.register(metadata);
  const browser = setting.browser();
  const url = setting.authorizeUrl(client, challenge(), more);
  const page = await browser.go(url);
  const signIn = (name = 'ada', secret = password) =>
    browser.submit(page, { action: 'sign-in', name, password: secret });
  return { setting, client, browser, url, page, signIn };
}

describe('consent', verifies('gateway:authserver:consent'), () => {
  it('shows the client, the scopes, the user, and where the answer goes', async () => {
    const { signIn, setting } = await atLogin(
      { client_name: 'Example <b>App</b>', redirect_uris: ['https://app.example/callback'] },
      { scope: 'mcp offline_access', prompt: 'consent' },
    );
    const { text } = await signIn();
    expect(text).toContain('Example &lt;b&gt;App&lt;/b&gt;');
    expect(text).toContain('app.example');
    expect(text).toContain('Use the tools, resources and prompts behind this gateway');
    expect(text).toContain('Stay connected while you are away');
    expect(text).toContain(`${setting.origin}/mcp`);
    expect(text).toMatch(/Signed in as<\/dt><dd>ada/);
    expect(text).not.toContain('your own computer');
  });

  it('warns if all redirects stay on this computer', async () => {
    const { signIn } = await atLogin({ redirect_uris: [callback, 'http://localhost:1/x'] });
    const { text } = await signIn();
    expect(text).toContain('127.0.0.1:7777');
    expect(text).toContain('Any program that runs there can receive the');
  });

  it.each([
    { name: 'warns if this answer stays on this computer, though others would not', used: callback, warns: true },
    { name: 'does not where this answer leaves it', used: 'https://app.example/callback', warns: false },
  ])('$name', async ({ used, warns }) => {
    const redirect_uris = ['https://app.example/callback', callback];
    const { signIn } = await atLogin({ redirect_uris }, { redirect_uri: used });
    const { text } = await signIn();
    expect(text).toContain(new URL(used).host);
    expect(text.includes('Any program that runs there can receive the')).toBe(warns);
  });

  it('is required each time if a program on this computer asks', async () => {
    const { browser, url, signIn } = await atLogin();
    await browser.submit(await signIn(), { action: 'allow' });
    const again = await browser.go(url);
    expect(again.text).toContain('value="allow"');
  });

  it('is remembered for a web client that requests no more than before', async () => {
    const { browser, url, signIn } = await atLogin({ redirect_uris: ['https://app.example/callback'] });
    await browser.submit(await signIn(), { action: 'allow' });
    expect((await browser.go(url)).url.searchParams.get('code')).toBeTruthy();
  });

  it('can be given by another user than the browser remembers', async () => {
    const { browser, signIn } = await atLogin();
    const login = await browser.submit(await signIn('ada'), { action: 'switch' });
    expect(isLogin(login)).toBe(true);
    const consent = await browser.submit(login, { action: 'sign-in', name: 'bob', password });
    expect(consent.text).toMatch(/Signed in as<\/dt><dd>bob/);
    expect((await browser.submit(consent, { action: 'allow' })).url.searchParams.get('code')).toBeTruthy();
  });
});

describe('every page', verifies('gateway:authserver:pages'), () => {
  it('has no script, is not framed, not cached, and sends no referrer', async () => {
    const { page, signIn, browser, setting } = await atLogin();
    const consent = await signIn();
    const trouble = await browser.go(`${setting.origin}/oauth/authorize?client_id=nobody`);
    const ended = await browser.go(`${setting.origin}/oauth/interaction/nothing`);
    const out = await browser.go(`${setting.origin}/oauth/sign-out`);
    for (const one of [page, consent, trouble, ended, out]) {
      const policy = one.headers.get('content-security-policy') ?? '';
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toContain('unsafe');
      expect(policy).not.toContain('script-src');
      expect(one.text).not.toMatch(/<script|javascript:|\son[a-z]+=/i);
      expect(one.headers.get('cache-control')).toBe('no-store');
      expect(one.headers.get('referrer-policy')).toBe('no-referrer');
      expect(one.headers.get('x-content-type-options')).toBe('nosniff');
    }
    expect(trouble.status).toBe(400);
    expect(ended.status).toBe(400);
  });

  it('rejects a form without its token, or with that of another page', async () => {
    const { browser, page, signIn, setting, client } = await atLogin();
    const other = await browser.go(setting.authorizeUrl(client, challenge()));
    const token = /name="token" value="([^"]*)"/.exec(other.text)?.[1] ?? '';
    for (const forged of ['', 'x', token]) {
      const answer = await browser.submit(page, { action: 'sign-in', name: 'ada', password, token: forged });
      expect({ forged, status: answer.status }).toEqual({ forged, status: 400 });
      expect(answer.text).toContain('This sign-in has ended');
    }
    const consent = await signIn();
    expect((await browser.submit(consent, { action: 'allow', token })).text).toContain('This sign-in has ended');
    expect((await browser.submit(consent, { action: 'allow' })).status).toBe(0);
  });

  it('rejects a form that another site has sent, also for signing in', async () => {
    const setting = await Setting.launch();
    const browser = setting.browser();
    const { url, text } = await browser.go(`${setting.origin}/oauth/sign-in`);
    const token = /name="token" value="([^"]*)"/.exec(text)?.[1] ?? '';
    const body = new URLSearchParams({ token, action: 'sign-in', name: 'ada', password });
    for (const [site, status] of [
      ['cross-site', 400],
      ['same-site', 400],
      ['same-origin', 200],
    ] as const) {
      const answer = await browser.go(url, { method: 'POST', body, headers: { 'sec-fetch-site': site } });
      expect([site, answer.status]).toEqual([site, status]);
    }
  });

  it('is of no use in another browser', async () => {
    const { page, setting } = await atLogin();
    const stranger = setting.browser();
    expect((await stranger.go(page.url)).text).toContain('This sign-in has ended');
    const posted = await stranger.submit(page, { action: 'sign-in', name: 'ada', password });
    expect(posted.text).toContain('This sign-in has ended');
  });

  it('sets cookies that are HttpOnly, SameSite and signed', async () => {
    const { setting, url, page } = await atLogin();
    const response = await fetch(url, { redirect: 'manual' });
    const lines = response.headers.getSetCookie();
    expect(lines.length).toBeGreaterThan(1);
    for (const line of lines) expect(line).toMatch(/; httponly.*samesite=lax|samesite=lax.*; httponly/i);
    const forged = await fetch(page.url, {
      headers: { cookie: lines.map((line) => `${line.split(';')[0]}x`).join('; ') },
    });
    expect(forged.status).toBe(400);
    expect(setting.gateway.log.filter(({ level }) => level === 'error')).toEqual([]);
  });
});

describe('signing in', verifies('gateway:authserver:sign-in'), () => {
  it('does not reveal which part was wrong', async () => {
    const { signIn } = await atLogin();
    const known = await signIn('ada', 'wrong password');
    const unknown = await signIn('nobody', 'wrong password');
    expect([known.status, unknown.status]).toEqual([400, 400]);
    const shape = (text: string) => text.replace(/value="[^"]*"/g, '');
    expect(shape(known.text)).toBe(shape(unknown.text));
    expect(known.text).toContain('The user name or the password is wrong');
    expect(known.text).not.toContain('wrong password');
  });

  it('is slowed down after five failures, for right passwords too, and only for that name', async () => {
    const { signIn, browser } = await atLogin();
    for (let at = 0; at < 5; at += 1) expect((await signIn('ada', `guess ${at}`)).status).toBe(400);
    const waiting = await signIn();
    expect(waiting.status).toBe(429);
    expect(Number(waiting.headers.get('retry-after'))).toBeGreaterThan(600);
    expect(waiting.text).toContain('Try again in 15 minutes');
    const consent = await signIn('bob');
    expect(consent.text).toContain('value="allow"');
    expect((await browser.submit(consent, { action: 'allow' })).status).toBe(0);
  });

  it('logs wrong passwords and the lockout, without name or password', verifies('gateway:log:refusals'), async () => {
    const { signIn, setting } = await atLogin();
    for (let at = 0; at < 5; at += 1) await signIn('ada', `guess ${at}`);
    await signIn();
    const told = setting.gateway.log.filter(({ text }) => text.startsWith('sign-in refused'));
    expect(told.map(({ text }) => text)).toEqual([
      expect.stringContaining('wrong name or password'),
      expect.stringContaining('too many wrong passwords'),
    ]);
    expect(told[0]).toMatchObject({ level: 'warn', facts: { address: '127.0.0.1' } });
    expect(JSON.stringify(told)).not.toMatch(/guess|ada/);
  });

  it('logs the same on the page that is for signing in alone', verifies('gateway:log:refusals'), async () => {
    const { browser, setting } = await atLogin();
    const page = await browser.go(`${setting.origin}/oauth/sign-in`);
    await browser.submit(page, { name: 'ada', password: 'a guess' });
    const told = setting.gateway.log.filter(({ text }) => text.startsWith('sign-in refused'));
    expect(told.map(({ text }) => text)).toEqual([expect.stringContaining('wrong name or password')]);
  });

  it('ends when the user is removed', async () => {
    const { browser, url, signIn, setting } = await atLogin({ redirect_uris: ['https://app.example/callback'] });
    await browser.submit(await signIn(), { action: 'allow' });
    writeFileSync(join(setting.folder, 'users.json'), JSON.stringify({ version: 1, users: [] }));
    // The file is looked at every two seconds.
    await expect.poll(async () => isLogin(await browser.go(url)), { timeout: DEADLINE_MS, interval: 250 }).toBe(true);
  });

  it('on its own redirects to a page of the gateway, and nowhere else', async () => {
    const setting = await Setting.launch();
    for (const [target, lands] of [
      ['/healthz', '/healthz'],
      ['//evil.example', '/oauth/sign-in'],
      ['https://evil.example', '/oauth/sign-in'],
      ['/\\evil.example', '/oauth/sign-in'],
    ]) {
      const browser = setting.browser();
      const page = await browser.go(`${setting.origin}/oauth/sign-in?return=${encodeURIComponent(target ?? '')}`);
      const after = await browser.submit(page, { action: 'sign-in', name: 'ada', password });
      expect([target, after.url.pathname]).toEqual([target, lands]);
      const out = await browser.go(`${setting.origin}/oauth/sign-out`);
      expect(out.text).toContain('signed in as <strong>ada</strong>');
      expect((await browser.submit(out, { action: 'sign-out' })).text).toContain('You are signed out');
      expect((await browser.go(`${setting.origin}/oauth/sign-out`)).text).toContain('You are signed out');
    }
  });
});

it(
  'is at home behind a proxy, over https',
  verifies('gateway:authserver:pages', 'gateway:authserver:metadata'),
  async () => {
    const setting = await Setting.launch({ identity: { publicUrl: 'https://mcp.example' } });
    expect(await setting.metadata()).toMatchObject({
      issuer: 'https://mcp.example',
      authorization_endpoint: 'https://mcp.example/oauth/authorize',
    });
    const client = await setting.register();
    const url = setting.authorizeUrl(client, challenge(), { resource: 'https://mcp.example/mcp' });
    const response = await fetch(url, { redirect: 'manual', headers: { 'x-forwarded-proto': 'http' } });
    expect(response.status).toBe(303);
    const lines = response.headers.getSetCookie();
    for (const line of lines) expect(line).toMatch(/^__(Secure|Host)-bascule_.*; secure/i);
    const cookie = lines.map((line) => line.split(';')[0]).join('; ');
    const page = await fetch(new URL(response.headers.get('location') ?? '', setting.origin), { headers: { cookie } });
    expect(await page.text()).toContain('Sign in');
    // What a browser says of its own form, and what our rules for scripts would refuse.
    const token = 'x';
    const posted = await fetch(page.url, {
      method: 'POST',
      headers: { cookie, origin: 'https://mcp.example' },
      body: new URLSearchParams({ token }),
    });
    expect(posted.status).toBe(400);
    expect(await posted.text()).toContain('This sign-in has ended');
  },
);
