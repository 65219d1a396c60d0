import { beforeEach, describe, expect, it } from 'vitest';
import { openIdSignIn } from '../../../../src/oauth/client/pages/openid.ts';
import { verifies } from '../../../requirements/verifies.ts';
import { type Faults, TestIssuer } from './issuer.ts';
import { bench, consentFor, people, titleOf } from './support.ts';

let issuer: TestIssuer;
beforeEach(async () => {
  issuer = await TestIssuer.create();
});

function made() {
  const foreignSignIn = openIdSignIn([{ issuer: issuer.issuer, clientId: 'gate', clientSecret: 'hush' }], {
    fetchFor: () => (url, init) => issuer.fetch(url, init as RequestInit),
    now: () => Date.now(),
  });
  const all = bench({ foreignSignIn });
  all.consents.pending.set('c1', consentFor(people.foreign));
  return { ...all, visitor: all.browser() };
}

describe('a link of an account at another issuer', verifies('gateway:consent:foreign-issuer'), () => {
  it('leads to that issuer, and on from there for that account', async () => {
    const { visitor, consents } = made();
    const page = await visitor.get('/connect/c1');
    expect(page.body).toContain('Sign in at id.example');
    expect(page.body).not.toContain('4711');
    const there = String((await visitor.submit('/connect/c1')).headers.location);
    expect(new URL(there).searchParams.get('redirect_uri')).toBe('https://gate.example/oauth/signed-in');
    expect(Object.fromEntries(new URL(there).searchParams)).toMatchObject({
      scope: 'openid',
      code_challenge_method: 'S256',
    });
    const back = await visitor.get(`/oauth/signed-in?${issuer.signIn(there, '4711')}`);
    expect(back).toMatchObject({
      status: 303,
      headers: { location: 'https://login.tickets.example/authorize?state=c1.s3cret' },
    });
    expect((await visitor.get('/oauth/callback?code=x&state=c1.s3cret')).status).toBe(200);
    expect(consents.completed).toHaveLength(1);
  });

  it('is not for another account there, which sees no name', async () => {
    const { visitor } = made();
    const there = String((await visitor.submit('/connect/c1')).headers.location);
    const back = await visitor.get(`/oauth/signed-in?${issuer.signIn(there, 'mallory')}`);
    expect(back.status).toBe(403);
    expect(titleOf(back)).toBe('This link is not yours');
    expect(back.body).not.toMatch(/4711|mallory|tickets/);
    expect((await visitor.get('/oauth/callback?code=x&state=c1.s3cret')).status).toBe(403);
  });

  // The owner is made to sign in by a link that a stranger began: the answer must not count in either browser.
  it('an answer is accepted only in the browser that started the flow, and once', async () => {
    const { visitor, browser } = made();
    const there = String((await visitor.submit('/connect/c1')).headers.location);
    const answer = `/oauth/signed-in?${issuer.signIn(there, '4711')}`;
    expect((await browser().get(answer)).status).toBe(403);
    expect((await visitor.get(answer)).status).toBe(303);
    expect((await visitor.get(answer)).status).toBe(403);
  });

  it("the issuer's own no is shown, once it is known to be the issuer's", async () => {
    const { visitor } = made();
    const there = String((await visitor.submit('/connect/c1')).headers.location);
    const state = new URL(there).searchParams.get('state');
    const said = `/oauth/signed-in?state=${state}&error=login_required&error_description=%3Cb%3E`;
    const foreign = await visitor.get(`${said}&iss=https%3A%2F%2Fevil.example`);
    expect(foreign.status).toBe(502);
    expect(foreign.body).not.toContain('login_required');

    const again = String((await visitor.submit('/connect/c1')).headers.location);
    const own = said.replace(String(state), String(new URL(again).searchParams.get('state')));
    const answer = await visitor.get(`${own}&iss=https%3A%2F%2Fid.example`);
    expect(answer.status).toBe(400);
    expect(answer.body).toContain('login_required');
    expect(answer.body).toContain('&lt;b&gt;');
  });

  const faults: readonly { readonly name: string; readonly faults: Faults }[] = [
    { name: 'a signature by another key', faults: { wrongKey: true } },
    { name: 'another nonce', faults: { claims: { nonce: 'other' } } },
    { name: 'another audience', faults: { claims: { aud: 'other' } } },
    { name: 'another issuer in the token', faults: { claims: { iss: 'https://evil.example' } } },
    { name: 'an ID token that is over', faults: { claims: { exp: 1 } } },
    { name: 'no subject', faults: { claims: { sub: undefined } } },
    { name: 'no ID token', faults: { noIdToken: true } },
    { name: 'no connection', faults: { down: true } },
  ];
  it.each(faults)('$name authenticates no one', async ({ faults: wrong }) => {
    const { visitor, warnings } = made();
    const there = String((await visitor.submit('/connect/c1')).headers.location);
    const query = issuer.signIn(there, '4711');
    issuer.faults = wrong;
    const back = await visitor.get(`/oauth/signed-in?${query}`);
    expect(back.status).toBe(502);
    expect(back.body).toContain('sign_in_failed');
    expect((await visitor.get('/oauth/callback?code=x&state=c1.s3cret')).status).toBe(403);
    const code = new URLSearchParams(query).get('code') ?? '';
    expect(JSON.stringify(warnings)).not.toMatch(new RegExp(`${code}|hush|4711`));
  });

  it.each([
    { name: 'that is down', faults: { down: true } },
    { name: 'whose metadata names another issuer', faults: { metadata: { issuer: 'https://evil.example' } } },
    { name: 'without a place to sign in', faults: { metadata: { authorization_endpoint: undefined } } },
  ] satisfies { name: string; faults: Faults }[])(
    'an issuer $name is reported on a page',
    async ({ faults: wrong }) => {
      issuer.faults = wrong;
      const { visitor, warnings } = made();
      const answer = await visitor.submit('/connect/c1');
      expect(answer.status).toBe(502);
      expect(answer.body).toContain('sign_in_failed');
      expect(warnings).toHaveLength(1);
    },
  );

  it('reads the metadata once for many', async () => {
    const { visitor } = made();
    await visitor.submit('/connect/c1');
    await visitor.submit('/connect/c1');
    expect(issuer.asked).toHaveLength(1);
  });
});
