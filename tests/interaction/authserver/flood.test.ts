/**
 * A flood of sign-ins that are begun, or of registrations, takes the room from whoever sends it and from nobody else.
 */
import { describe, expect, it, vi } from 'vitest';
import { authServerLimits as limits } from '../../../src/oauth/server/limits.ts';
import { verifies } from '../../requirements/verifies.ts';
import { isLogin } from './browser.ts';
import { challenge, password, type Registered, Setting } from './setting.ts';

/** The bounds of the server, a hundred times smaller: the flood is over in a second. */
vi.mock('../../../src/oauth/server/limits.ts', async (original) => {
  const { authServerLimits } = await original<typeof import('../../../src/oauth/server/limits.ts')>();
  const small = { openInteractions: 40, authorizationsPerAddress: 10, clients: 100, registrationsPerAddress: 10 };
  return { authServerLimits: { ...authServerLimits, ...small } };
});

/** The proxy is the test, and may speak for any address. */
const more = { listen: { trustedProxies: ['127.0.0.1'] } };
const AT_ONCE = 4;

/** Of both families, each as many times as one is let. */
function* flooders(count: number, each: number): Generator<string> {
  for (let sent = 0; sent < count; sent += 1) {
    const at = Math.floor(sent / each);
    yield at % 2 === 0 ? `198.18.${at >> 8}.${at & 255}` : `2001:db8:${at.toString(16)}:${sent.toString(16)}::1`;
  }
}

async function inParallel(addresses: Iterable<string>, send: (address: string) => Promise<number>): Promise<number[]> {
  const statuses: number[] = [];
  const left = addresses[Symbol.iterator]();
  const work = async () => {
    for (let next = left.next(); next.done !== true; next = left.next()) statuses.push(await send(next.value));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return statuses;
}

function beginAll(setting: Setting, client: Registered, each: number): Promise<number[]> {
  const url = setting.authorizeUrl(client, challenge());
  return inParallel(flooders(limits.openInteractions * 2, each), async (address) => {
    const headers = { 'x-forwarded-for': address };
    const response = await fetch(url, { redirect: 'manual', headers });
    await response.text();
    return response.status;
  });
}

function registerAll(setting: Setting): Promise<number[]> {
  return inParallel(flooders(limits.clients * 2, limits.registrationsPerAddress), async (address) => {
    const body = { redirect_uris: ['https://flood.example/callback'] };
    return (await setting.post('/oauth/register', body, { 'x-forwarded-for': address })).status;
  });
}

async function finish(setting: Setting, client: Registered): Promise<number> {
  const proof = challenge();
  const back = await setting.agree(setting.browser(), setting.authorizeUrl(client, proof));
  const { json } = await setting.exchange(client, back.searchParams.get('code') ?? '', proof.verifier);
  return setting.enters(json.access_token);
}

describe('a flood', verifies('gateway:authserver:flood'), () => {
  it('of sign-ins from many addresses ends and rejects no sign-in of others', async () => {
    const setting = await Setting.launch({ more });
    const client = await setting.register();
    const before = { proof: challenge(), browser: setting.browser() };
    const login = await before.browser.go(setting.authorizeUrl(client, before.proof));
    const consenting = setting.browser();
    const atLogin = await consenting.go(setting.authorizeUrl(client, challenge()));
    const atConsent = await consenting.submit(atLogin, { action: 'sign-in', name: 'ada', password });

    const statuses = await beginAll(setting, client, limits.authorizationsPerAddress);
    expect(new Set(statuses)).toEqual(new Set([303]));

    expect(isLogin(await before.browser.go(login.url))).toBe(true);
    const agreed = await before.browser.submit(login, { action: 'sign-in', name: 'ada', password });
    const back = await before.browser.submit(agreed, { action: 'allow' });
    const code = back.url.searchParams.get('code') ?? '';
    expect((await setting.exchange(client, code, before.proof.verifier)).status).toBe(200);
    expect((await consenting.submit(atConsent, { action: 'allow' })).url.searchParams.has('code')).toBe(true);
    expect(await finish(setting, client)).toBe(200);
  });

  it('of sign-ins, each from its own address, ends no session of signed-in users', async () => {
    const setting = await Setting.launch({ more });
    const client = await setting.register();
    const browser = setting.browser();
    const login = await browser.go(setting.authorizeUrl(client, challenge()));
    const consent = await browser.submit(login, { action: 'sign-in', name: 'ada', password });
    const statuses = await beginAll(setting, client, 1);
    expect(new Set(statuses)).toEqual(new Set([303]));
    expect((await browser.submit(consent, { action: 'allow' })).url.searchParams.has('code')).toBe(true);
    expect(await finish(setting, client)).toBe(200);
  });

  it('of sign-ins of one signed-in user ends no sign-in of others', async () => {
    const setting = await Setting.launch({ more, users: ['ada', 'bob'] });
    const client = await setting.register();
    const other = { proof: challenge(), browser: setting.browser() };
    const login = await other.browser.go(setting.authorizeUrl(client, other.proof));
    const flooder = setting.browser();
    const atLogin = await flooder.go(setting.authorizeUrl(client, challenge()));
    await flooder.submit(atLogin, { action: 'sign-in', name: 'ada', password });
    const url = setting.authorizeUrl(client, challenge());
    const addresses = flooders(limits.openInteractions * 2, limits.authorizationsPerAddress);
    const statuses = await inParallel(addresses, async (address) => {
      return (await flooder.go(url, { headers: { 'x-forwarded-for': address } })).status;
    });
    expect(new Set(statuses)).toEqual(new Set([200]));

    expect(isLogin(await other.browser.go(login.url))).toBe(true);
    const agreed = await other.browser.submit(login, { action: 'sign-in', name: 'bob', password });
    const back = await other.browser.submit(agreed, { action: 'allow' });
    expect(back.url.searchParams.has('code')).toBe(true);
  });

  it('from the networks of one IPv6 site counts as that of one address', async () => {
    const setting = await Setting.launch({ more });
    const register = (network: number) => {
      const headers = { 'x-forwarded-for': `2001:db8:7:${network}::1` };
      return setting.post('/oauth/register', { redirect_uris: ['https://flood.example/callback'] }, headers);
    };
    for (let at = 0; at < limits.registrationsPerAddress; at += 1) expect((await register(at)).status).toBe(201);
    expect((await register(limits.registrationsPerAddress)).status).toBe(429);
  });

  it('of registrations from many addresses ends and rejects no client of others', async () => {
    const setting = await Setting.launch({ more });
    const used = await setting.tokens();
    const waiting = await setting.register();

    const statuses = await registerAll(setting);
    expect(new Set(statuses)).toEqual(new Set([201]));

    expect((await setting.refresh(used.client, used.refresh)).status).toBe(200);
    expect(await finish(setting, waiting)).toBe(200);
    expect(await finish(setting, await setting.register())).toBe(200);
  });
});
