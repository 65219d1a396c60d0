/** Signing in at a company's OpenID provider that knows neither registration nor `resource`. */
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { authServerLimits } from '../../../src/oauth/server/limits.ts';
import { verifies } from '../../requirements/verifies.ts';
import { alone, Browser } from './browser.ts';
import { type Behind, behindCompany, passThrough, person } from './company.ts';
import { challenge, claimsOf, type Registered } from './setting.ts';

beforeAll(() => {
  // The library advises against its defaults, which do for a provider that lives as long as a test.
  for (const method of ['warn', 'info'] as const) vi.spyOn(console, method).mockImplementation(() => undefined);
});

interface Got {
  readonly client: Registered;
  readonly access: string;
  readonly refresh: string;
}

/** The whole way of a client, once the person has agreed at the gateway and signed in at the company. */
async function tokensOf({ company, setting }: Behind, sub: string, browser = setting.browser()): Promise<Got> {
  const client = await setting.register();
  const proof = challenge();
  const page = await browser.go(setting.authorizeUrl(client, proof));
  const { url } = await passThrough(company, browser, page, sub);
  const { json } = await setting.exchange(client, url.searchParams.get('code') ?? '', proof.verifier);
  if (json.access_token === undefined) throw new Error(`no token: ${JSON.stringify(json)} ${url}`);
  return { client, access: json.access_token, refresh: json.refresh_token };
}

describe('sign-in at a company', verifies('gateway:authserver:company'), () => {
  it('a client that registers itself gets tokens for the person, by issuer and subject', async () => {
    const behind = await behindCompany();
    const { access } = await tokensOf(behind, 'ada');
    const { company, setting } = behind;
    expect(claimsOf(access)).toMatchObject({
      sub: `${company.issuer}#ada`,
      groups: ['developers'],
      iss: setting.origin,
    });
    expect(await setting.enters(access)).toBe(200);
  });

  it('the consent page names client, redirect and scopes before the first redirect to the provider', async () => {
    const { company, setting } = await behindCompany();
    const client = await setting.register({ client_name: 'Some Agent' });
    const page = await setting.browser().go(setting.authorizeUrl(client, challenge()));
    expect(page).toMatchObject({ status: 200 });
    expect(page.url.origin).toBe(setting.origin);
    for (const part of ['Some Agent', '127.0.0.1:7777', 'Example Inc.', '<li>']) expect(page.text).toContain(part);
    expect(company.granted).toEqual([]);
  });

  it.each(['http://[::1]:7777/callback', 'http://localhost:7777/callback', 'https://client.example/callback'])(
    'the consent page lets the browser go on to %s',
    async (redirect) => {
      const { setting } = await behindCompany();
      const client = await setting.register({ redirect_uris: [redirect] });
      const page = await setting.browser().go(setting.authorizeUrl(client, challenge()));
      const policy = page.headers.get('content-security-policy') ?? '';
      const targets = /form-action ([^;]*)/.exec(policy)?.[1]?.split(' ') ?? [];
      // A policy cannot name an IPv6 address.
      const { origin, protocol } = new URL(redirect);
      const names = [protocol, origin, origin.replace('7777', '*')];
      expect(targets.filter((target) => names.includes(target))).not.toEqual([]);
    },
  );

  it('another client is asked for again, although the provider would let the browser pass silently', async () => {
    const behind = await behindCompany();
    const { company, setting } = behind;
    const there = new Browser(company.issuer);
    const first = setting.browser();
    const go = async (browser: Browser, name: string) => {
      const page = await browser.go(setting.authorizeUrl(await setting.register({ client_name: name }), challenge()));
      expect(page.text).toContain(name);
      return browser.submit(page, { action: 'allow' });
    };
    const left = await go(first, 'One');
    await first.go(await company.signIn(left.url, 'ada', there));
    // Signed in at the provider, and new at the gateway.
    const second = setting.browser();
    const again = await go(second, 'Two');
    expect(again.url.origin).toBe(company.issuer);
    expect((await second.go(await company.signIn(again.url, 'nobody', there))).url.origin).toBe(
      'http://127.0.0.1:7777',
    );
  });

  it('a person who cancels is not sent to the provider', async () => {
    const { setting } = await behindCompany();
    const browser = setting.browser();
    const page = await browser.go(setting.authorizeUrl(await setting.register(), challenge()));
    const { url } = await browser.submit(page, { action: 'deny' });
    expect(url.searchParams.get('error')).toBe('access_denied');
  });

  it('the response of the provider counts only in the browser that agreed, and once', async () => {
    const { company, setting } = await behindCompany();
    const browser = setting.browser();
    const page = await browser.go(setting.authorizeUrl(await setting.register(), challenge()));
    const left = await browser.submit(page, { action: 'allow' });
    const back = await company.signIn(left.url, 'ada');
    expect((await setting.browser().go(back)).status).toBe(400);
    expect((await browser.go(back)).url.searchParams.get('code')).toBeTruthy();
    expect((await browser.go(back)).status).toBe(400);
  });

  it('a response that was made up is refused, and said in the log', async () => {
    const { setting } = await behindCompany();
    const browser = setting.browser();
    const page = await browser.go(setting.authorizeUrl(await setting.register(), challenge()));
    const left = await browser.submit(page, { action: 'allow' });
    const made = new URL('/oauth/sign-in/callback', setting.origin);
    made.search = new URLSearchParams({ code: 'x', state: left.url.searchParams.get('state') ?? '' }).toString();
    const answer = await browser.go(made);
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.text).toContain('Example Inc.');
    expect(answer.text).not.toContain('hush');
  });

  it('a stranger who repeats responses is stopped, and neither the provider nor the log hears of more', async () => {
    const { company, setting } = await behindCompany();
    const page = await setting.browser().go(`${setting.origin}/oauth/sign-in`);
    const cookie = page.headers.getSetCookie().map((line) => line.split(';')[0]);
    const token = /name="token" value="([^"]*)"/.exec(page.text)?.[1] ?? '';
    const options = { headers: { ...alone, cookie: cookie.join('; ') }, redirect: 'manual' } as const;
    const left = await fetch(page.url, { ...options, method: 'POST', body: new URLSearchParams({ token }) });
    const flow = left.headers.getSetCookie().map((line) => line.split(';')[0]);
    const state = new URL(left.headers.get('location') ?? '').searchParams.get('state');
    const back = `${setting.origin}/oauth/sign-in/callback?error=access_denied&iss=${company.issuer}&state=${state}`;
    const again = async () => (await fetch(back, { headers: { ...alone, cookie: flow.join('; ') } })).status;
    expect(await again()).toBe(403);
    const most = authServerLimits.providerStepsPerAddress;
    let refused = 1;
    while (refused <= most && (await again()) === 403) refused += 1;
    expect(refused).toBeLessThan(most);
    expect(await again()).toBe(429);
    // A browser that comes from nowhere does not count.
    expect((await setting.browser().go(back)).status).toBe(400);
  });

  it('a person without a required claim is refused', async () => {
    const people = [person('ada', { hd: 'example.com' }), person('eve', { hd: 'elsewhere.example' })];
    const behind = await behindCompany({ company: { people }, provider: { require: { hd: 'example.com' } } });
    expect(claimsOf((await tokensOf(behind, 'ada')).access).sub).toContain('#ada');
    const { company, setting } = behind;
    const browser = setting.browser();
    const page = await browser.go(setting.authorizeUrl(await setting.register(), challenge()));
    expect(await passThrough(company, browser, page, 'eve')).toMatchObject({ status: 403 });
  });

  it('the pages of the gateway send people there as well, and lead back', async () => {
    const { company, setting } = await behindCompany();
    const browser = setting.browser();
    const page = await browser.go(`${setting.origin}/oauth/sign-in?return=/oauth/sign-out`);
    expect(page.text).toContain('Continue to Example Inc.');
    const back = await passThrough(company, browser, page, 'bob');
    expect(back.url.pathname).toBe('/oauth/sign-out');
    expect(back.text).toContain('bob of the company');
  });

  it('a reload of the gateway in between loses nothing', async () => {
    const { company, setting } = await behindCompany();
    const browser = setting.browser();
    const client = await setting.register();
    const page = await browser.go(setting.authorizeUrl(client, challenge()));
    const left = await browser.submit(page, { action: 'allow' });
    await setting.restart();
    const { url } = await browser.go(await company.signIn(left.url, 'ada'));
    expect(url.searchParams.get('code')).toBeTruthy();
  });
});

describe('a browser that is signed in', verifies('gateway:authserver:company'), () => {
  it('is sent to the provider again after half a day, however often it was used in between', async () => {
    let now = Date.now();
    const behind = await behindCompany({ ports: { timeOfDay: () => now } });
    const { setting } = behind;
    const browser = setting.browser();
    await tokensOf(behind, 'ada', browser);
    const pageOf = async () => browser.go(setting.authorizeUrl(await setting.register(), challenge()));
    for (const hours of [6, 5]) {
      now += hours * 3_600_000;
      expect((await pageOf()).text).toContain('Signed in as');
    }
    now += 2 * 3_600_000;
    expect((await pageOf()).text).toContain('Allow and continue to Example Inc.');
  });
});

describe('a refresh', verifies('gateway:authserver:company'), () => {
  it('asks the provider, and brings the groups up to date', async () => {
    const behind = await behindCompany();
    const { client, refresh } = await tokensOf(behind, 'ada');
    const ada = behind.company.people.get('ada');
    if (ada !== undefined) ada.groups = ['owners'];
    const { status, json } = await behind.setting.refresh(client, refresh);
    expect(status).toBe(200);
    expect(claimsOf(json.access_token).groups).toEqual(['owners']);
    expect(behind.company.granted).toEqual(['authorization_code', 'refresh_token']);
  });

  it('of a person who is disabled at the provider is refused, for all clients, until they sign in again', async () => {
    const behind = await behindCompany();
    const { setting, company } = behind;
    const one = await tokensOf(behind, 'ada');
    const two = await tokensOf(behind, 'ada');
    const ada = company.people.get('ada');
    if (ada === undefined) throw new Error('ada is missing');
    ada.isDisabled = true;
    expect(await setting.refresh(one.client, one.refresh)).toMatchObject({
      status: 400,
      json: { error: 'invalid_grant' },
    });
    ada.isDisabled = false;
    expect(await setting.refresh(two.client, two.refresh)).toMatchObject({
      status: 400,
      json: { error: 'invalid_grant' },
    });
  });

  it('many at once ask the provider one after the other, and all succeed', async () => {
    const behind = await behindCompany();
    const all = await Promise.all(Array.from({ length: 4 }, () => tokensOf(behind, 'ada')));
    const answers = await Promise.all(all.map(({ client, refresh }) => behind.setting.refresh(client, refresh)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  });

  it('without a refresh token of the provider goes on for half a day', async () => {
    let now = Date.now();
    const ports = { timeOfDay: () => now };
    const behind = await behindCompany({ company: { givesRefreshTokens: false }, ports });
    const { client, refresh } = await tokensOf(behind, 'ada');
    now += 11 * 3_600_000;
    const { status, json } = await behind.setting.refresh(client, refresh);
    expect(status).toBe(200);
    now += 2 * 3_600_000;
    expect((await behind.setting.refresh(client, json.refresh_token)).status).toBe(400);
  });
});
