import { describe, expect, it } from 'vitest';
import type { OwnSignIn } from '../../../../src/oauth/client/pages/ports.ts';
import { verifies } from '../../../requirements/verifies.ts';
import { bench, consentFor, failureOf, keys, people, titleOf, tokenIn } from './support.ts';

const here = { remoteAddress: '127.0.0.1' };
const localUrl = 'http://127.0.0.1:8787';

/** Whoever is named in the cookie `session` is signed in. */
const ownSignIn: OwnSignIn = {
  issuer: 'https://gate.example',
  signedIn: async (cookies) => {
    const who = /session=(\w+)/.exec(cookies ?? '')?.[1];
    return who && JSON.stringify(['token', 'https://gate.example', who]);
  },
  signInUrl: (returnTo) => `/auth/login?return=${encodeURIComponent(returnTo)}`,
};

describe('the consent page', () => {
  it('shows the backend, the authorization server, the scopes and the user', async () => {
    const { consents, browser } = bench();
    consents.pending.set('c1', consentFor(people.key));
    const answer = await browser().get('/connect/c1');
    expect(answer.status).toBe(200);
    for (const text of ['tickets.example', 'login.tickets.example', 'tickets:read', 'tickets:write', 'laptop'])
      expect(answer.body).toContain(text);
    expect(answer.headers).toMatchObject({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
  });

  it('escapes text of others', async () => {
    const { consents, browser } = bench();
    const hostile = '<img src=x>"\'';
    consents.pending.set('c1', consentFor(people.key, { backend: hostile, issuer: hostile, scopes: [hostile] }));
    expect((await browser().get('/connect/c1')).body).not.toContain('<img');
  });

  it('shows a long list of scopes as a number', async () => {
    const { consents, browser } = bench();
    const scopes = Array.from({ length: 500 }, (_, index) => `scope-${index}`);
    consents.pending.set('c1', consentFor(people.key, { scopes }));
    const { body } = await browser().get('/connect/c1');
    expect(body).toContain('and 450 more');
    expect(body).not.toContain('scope-50<');
  });

  it.each([
    {
      name: 'names the host of the pages that users are redirected to',
      at: 'https://sso.example/authorize',
      named: true,
    },
    { name: 'names the issuer alone where the pages are its own', at: 'https://login.tickets.example/a', named: false },
  ])('$name', async ({ at, named }) => {
    const { consents, browser } = bench();
    consents.pending.set('c1', consentFor(people.key, { authorizationEndpoint: at }));
    const { body } = await browser().get('/connect/c1');
    expect(body.includes('on pages of <span class="code">sso.example</span>')).toBe(named);
    expect(body.includes('on pages of')).toBe(named);
  });

  it('warns if all users will share the account', async () => {
    const { consents, browser } = bench();
    consents.pending.set('c1', consentFor(people.key, { shared: true }));
    expect((await browser().get('/connect/c1')).body).toContain('For everybody.');
  });

  it('does not show an account name to a user who has not authenticated for it', async () => {
    const { consents, browser } = bench({ ownSignIn });
    consents.pending.set('c1', consentFor(people.own));
    expect((await browser().get('/connect/c1')).body).not.toContain('>ann<');
    expect((await browser().get('/connect/c1', { cookie: 'session=ann' })).body).toContain('>ann<');
  });

  it(
    'is the same for an id that is unknown, used, ended or no id at all',
    verifies('gateway:consent:link-ends'),
    async () => {
      const { browser } = bench();
      const addresses = [
        '/connect/unknown',
        '/connect/',
        '/connect/a/b',
        '/connect/%00',
        `/connect/${'a'.repeat(5000)}`,
      ];
      const answers = await Promise.all(addresses.map((address) => browser().get(address)));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([404]));
      expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    },
  );

  it('knows HEAD, and no other methods', async () => {
    const { consents, browser } = bench();
    consents.pending.set('c1', consentFor(people.key));
    expect((await browser().send({ method: 'HEAD', address: '/connect/c1' })).status).toBe(200);
    const answer = await browser().send({ method: 'DELETE', address: '/connect/c1' });
    expect(answer).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD, POST' } });
  });
});

describe('a link for the local user', verifies('gateway:consent:principal-alone'), () => {
  const cases = [
    { name: 'at the machine', publicUrl: localUrl, from: here, status: 303 },
    { name: 'over IPv6', publicUrl: 'http://[::1]:8787', from: { remoteAddress: '::1' }, status: 303 },
    { name: 'over IPv4 in IPv6', publicUrl: localUrl, from: { remoteAddress: '::ffff:127.0.0.1' }, status: 303 },
    { name: 'from elsewhere', publicUrl: localUrl, from: { remoteAddress: '192.0.2.1' }, status: 403 },
    {
      name: 'by a name that was pointed here',
      publicUrl: localUrl,
      from: { ...here, host: 'evil.example' },
      status: 403,
    },
    {
      name: 'through a proxy',
      publicUrl: localUrl,
      from: { ...here, headers: { 'x-forwarded-for': '1.2.3.4' } },
      status: 403,
    },
    {
      name: 'under a public address',
      publicUrl: 'https://gate.example',
      from: { ...here, host: '127.0.0.1' },
      status: 403,
    },
  ];
  it.each(cases)('$name: $status', async ({ publicUrl, from, status }) => {
    const { consents, browser } = bench({ publicUrl });
    consents.pending.set('c1', consentFor(people.local));
    const visitor = browser(from);
    expect((await visitor.get('/connect/c1')).status).toBe(status === 303 ? 200 : status);
    expect((await visitor.submit('/connect/c1', status === 303 ? {} : { token: 'x' })).status).toBe(
      403 + (status - 403),
    );
  });
});

it('a form that was fetched at the machine is of no use elsewhere', async () => {
  const { consents, browser } = bench({ publicUrl: localUrl });
  consents.pending.set('c1', consentFor(people.local));
  const visitor = browser(here);
  const token = tokenIn(await visitor.get('/connect/c1'));
  const stranger = browser({ remoteAddress: '192.0.2.1' });
  for (const [name, value] of visitor.cookies) stranger.cookies.set(name, value);
  const answer = await stranger.post('/connect/c1', { token });
  expect(answer.status).toBe(403);
  expect(titleOf(answer)).toBe('Open this link on the gateway’s computer');
});

describe('a link of a key', verifies('gateway:consent:principal-alone'), () => {
  it('leads on with that key, and binds the browser', async () => {
    const { consents, browser } = bench();
    consents.pending.set('c1', consentFor(people.key));
    const visitor = browser();
    const answer = await visitor.submit('/connect/c1', { key: ` ${keys.laptop}\n` });
    expect(answer).toMatchObject({
      status: 303,
      headers: {
        location: 'https://login.tickets.example/authorize?state=c1.s3cret',
        'referrer-policy': 'no-referrer',
      },
    });
    expect(visitor.setCookies).toHaveLength(2);
    for (const set of visitor.setCookies)
      expect(set).toMatch(/^__Host-[\w-]+=[\w-]+; Path=\/; HttpOnly; SameSite=Lax; Secure/);
  });

  it('has no prefix and no Secure where there is no TLS: browsers would not keep it', async () => {
    const { consents, browser } = bench({ publicUrl: localUrl });
    consents.pending.set('c1', consentFor(people.key));
    const visitor = browser(here);
    await visitor.submit('/connect/c1', { key: keys.laptop });
    for (const set of visitor.setCookies)
      expect(set).toMatch(/^bascule-[\w-]+=[\w-]+; Path=\/; HttpOnly; SameSite=Lax(; Max-Age=\d+)?$/);
  });

  it('is not for the holder of another key, who sees no name', async () => {
    const { consents, browser } = bench();
    consents.pending.set('c1', consentFor(people.key));
    const answer = await browser().submit('/connect/c1', { key: keys.other });
    expect(answer.status).toBe(403);
    expect(titleOf(answer)).toBe('This link is not yours');
    expect(answer.body).not.toMatch(/laptop|tickets|other"/);
  });

  it('asks again after a wrong key, and does not repeat it', async () => {
    const { consents, browser } = bench();
    consents.pending.set('c1', consentFor(people.key));
    const answer = await browser().submit('/connect/c1', { key: 'wrong-key' });
    expect(answer.status).toBe(403);
    expect(answer.body).toContain('role="alert"');
    expect(answer.body).not.toContain('wrong-key');
  });

  it('rejects every key, also the right one, for some time after five wrong ones', async () => {
    const { consents, browser, move } = bench();
    consents.pending.set('c1', consentFor(people.key));
    consents.pending.set('c2', consentFor(people.key));
    const visitor = browser();
    for (let count = 0; count < 5; count += 1)
      expect((await visitor.submit('/connect/c1', { key: count % 2 ? keys.other : 'wrong' })).status).toBe(403);
    const answer = await visitor.submit('/connect/c1', { key: keys.laptop });
    expect(answer).toMatchObject({ status: 429, headers: { 'retry-after': '600' } });
    expect((await visitor.submit('/connect/c2', { key: keys.laptop })).status).toBe(303);
    move(600_000);
    expect((await visitor.submit('/connect/c1', { key: keys.laptop })).status).toBe(303);
  });
});

describe('a link of an account at our own authorization server', verifies('gateway:consent:principal-alone'), () => {
  it('offers to sign in and to come back', async () => {
    const { consents, browser } = bench({ ownSignIn });
    consents.pending.set('c1', consentFor(people.own));
    expect((await browser().get('/connect/c1')).body).toContain('href="/auth/login?return=%2Fconnect%2Fc1"');
  });

  it('leads on for that account alone', async () => {
    const { consents, browser } = bench({ ownSignIn });
    consents.pending.set('c1', consentFor(people.own));
    const visitor = browser();
    visitor.cookies.set('session', 'ann');
    expect((await visitor.submit('/connect/c1')).status).toBe(303);
    visitor.cookies.set('session', 'bob');
    const answer = await visitor.get('/connect/c1');
    expect(answer.status).toBe(403);
    expect(answer.body).not.toMatch(/ann|bob|tickets/);
  });

  it('checks again when the form is sent: a user who signed out or changed the account meanwhile is rejected', async () => {
    const { consents, browser } = bench({ ownSignIn });
    consents.pending.set('c1', consentFor(people.own));
    const visitor = browser();
    visitor.cookies.set('session', 'ann');
    const token = tokenIn(await visitor.get('/connect/c1'));
    visitor.cookies.set('session', 'bob');
    expect((await visitor.post('/connect/c1', { token })).status).toBe(403);
    visitor.cookies.delete('session');
    expect((await visitor.post('/connect/c1', { token })).headers.location).toBe('/connect/c1');
  });
});

describe('a link without a way to authenticate its user', () => {
  it.each([
    { name: 'a program', person: people.program, title: 'This is for a program' },
    { name: 'an issuer without a client', person: people.foreign, title: 'The gateway cannot verify who you are' },
  ])('$name', async ({ person, title }) => {
    const { consents, browser } = bench();
    consents.pending.set('c1', consentFor(person));
    const answer = await browser().get('/connect/c1');
    expect(answer.status).toBe(403);
    expect(titleOf(answer)).toBe(title);
  });
});

describe('a form', () => {
  it.each([
    { name: 'without its token', fields: { key: keys.laptop, token: '' }, status: 403 },
    { name: 'with the token of another browser', fields: { key: keys.laptop, token: 'A'.repeat(43) }, status: 403 },
  ])('$name is rejected', async ({ fields, status }) => {
    const { consents, browser } = bench();
    consents.pending.set('c1', consentFor(people.key));
    expect((await browser().submit('/connect/c1', fields)).status).toBe(status);
  });

  it('with the token for another link is rejected', async () => {
    const { consents, browser } = bench();
    consents.pending.set('c1', consentFor(people.key));
    consents.pending.set('c2', consentFor(people.key));
    const visitor = browser();
    const token = tokenIn(await visitor.get('/connect/c1'));
    expect((await visitor.post('/connect/c2', { token, key: keys.laptop })).status).toBe(403);
  });

  it('from another site, or without a cookie, is rejected', async () => {
    const { consents, browser } = bench();
    consents.pending.set('c1', consentFor(people.key));
    const visitor = browser();
    const token = tokenIn(await visitor.get('/connect/c1'));
    const form = { method: 'POST', address: '/connect/c1', body: `token=${token}&key=${keys.laptop}` };
    const type = { 'content-type': 'application/x-www-form-urlencoded' };
    expect((await visitor.send({ ...form, headers: { ...type, 'sec-fetch-site': 'cross-site' } })).status).toBe(403);
    expect((await browser().send({ ...form, headers: type })).status).toBe(403);
    expect((await visitor.send({ ...form, headers: { 'content-type': 'text/plain' } })).status).toBe(400);
    expect((await visitor.send({ ...form, body: `${form.body}&key=x`, headers: type })).status).toBe(400);
    expect((await visitor.send({ ...form, headers: type })).status).toBe(303);
  });

  it('reports that the authorization server cannot be found, or that the link has expired meanwhile', async () => {
    const { consents, browser } = bench();
    consents.pending.set('c1', consentFor(people.key));
    consents.cannotLeave = failureOf('backend_unauthorized', 'No <metadata>.');
    const answer = await browser().submit('/connect/c1', { key: keys.laptop });
    expect(answer.status).toBe(502);
    expect(answer.body).toContain('No &lt;metadata&gt;.');
    consents.cannotLeave = failureOf('consent_unknown');
    expect((await browser().submit('/connect/c1', { key: keys.laptop })).status).toBe(404);
  });
});
