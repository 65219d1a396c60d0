import { describe, expect, it } from 'vitest';
import { verifies } from '../../../requirements/verifies.ts';
import { bench, consentFor, failureOf, keys, people, type TestBrowser, titleOf } from './support.ts';

/** As far as the authorization server. */
async function left({ hidesState = false } = {}) {
  const made = bench();
  made.consents.hidesState = hidesState;
  made.consents.pending.set('c1', consentFor(people.key));
  const visitor: TestBrowser = made.browser();
  expect((await visitor.submit('/connect/c1', { key: keys.laptop })).status).toBe(303);
  return { ...made, visitor };
}

const good = '/oauth/callback?code=the-code&state=c1.s3cret&iss=https%3A%2F%2Flogin.tickets.example';

describe('the callback from the authorization server', verifies('gateway:consent:browser-bound'), () => {
  it.each([{ hidesState: false }, { hidesState: true }])(
    'completes in the browser that started the flow: %o',
    async (how) => {
      const { consents, visitor } = await left(how);
      const answer = await visitor.get(good);
      expect(answer.status).toBe(200);
      expect(titleOf(answer)).toBe('Connected');
      expect(answer.body).not.toMatch(/the-code|s3cret/);
      expect(consents.completed).toEqual([{ id: 'c1', parameters: good.split('?')[1] }]);
    },
  );

  it('counts once: the cookie is gone, and so is the link', async () => {
    const { consents, visitor } = await left();
    await visitor.get(good);
    expect((await visitor.get(good)).status).toBe(403);
    expect((await visitor.get('/connect/c1')).status).toBe(404);
    expect(consents.completed).toHaveLength(1);
  });

  // https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#phishing
  it('in another browser completes nothing, and the browser that left still can', async () => {
    const { consents, visitor, browser } = await left();
    const victim = await browser().get(good);
    expect(victim.status).toBe(403);
    expect(victim.body).not.toMatch(/tickets|laptop|the-code/);
    expect(consents.completed).toEqual([]);
    expect((await visitor.get(good)).status).toBe(200);
  });

  it.each([
    { name: 'another state of the same link', address: '/oauth/callback?code=x&state=c1.other', status: 403 },
    { name: 'the state of another link', address: '/oauth/callback?code=x&state=c2.s3cret', status: 403 },
    { name: 'the id alone', address: '/oauth/callback?code=x&state=c1', status: 403 },
    { name: 'no state', address: '/oauth/callback?code=x', status: 400 },
    { name: 'two states', address: `${good}&state=c1.s3cret`, status: 400 },
    { name: 'two codes', address: `${good}&code=other`, status: 400 },
  ])('refuses $name', async ({ address, status }) => {
    const { consents, visitor } = await left();
    expect((await visitor.get(address)).status).toBe(status);
    expect(consents.completed).toEqual([]);
  });

  it('with a pushed state compares what follows the id, and the browser stays bound', async () => {
    const { visitor } = await left({ hidesState: true });
    const answer = await visitor.get('/oauth/callback?code=x&state=c1.other');
    expect(answer.status).toBe(400);
    expect(titleOf(answer)).toBe('This response does not match');
    expect((await visitor.get(good)).status).toBe(200);
  });

  it('is rejected after half an hour', async () => {
    const { visitor, move } = await left();
    move(30 * 60_000);
    expect((await visitor.get(good)).status).toBe(403);
  });

  it('finds the link ended', async () => {
    const { consents, visitor } = await left();
    consents.pending.clear();
    expect((await visitor.get(good)).status).toBe(404);
  });

  it('is rejected with a cookie that was changed, or made for another link', async () => {
    const { consents, visitor } = await left();
    const [name = '', value = ''] = [...visitor.cookies].find(([key]) => key.includes('consent')) ?? [];
    visitor.cookies.set(name, `${value.slice(0, -1)}${value.endsWith('A') ? 'B' : 'A'}`);
    expect((await visitor.get(good)).status).toBe(403);
    consents.pending.set('c2', consentFor(people.key));
    await visitor.submit('/connect/c2', { key: keys.laptop });
    const second = [...visitor.cookies].find(([key]) => key.includes('consent') && key !== name)?.[1] ?? '';
    visitor.cookies.set(name, second);
    expect((await visitor.get(good)).status).toBe(403);
  });

  it('two flows in one browser do not disturb each other', async () => {
    const { consents, visitor } = await left();
    consents.pending.set('c2', consentFor(people.key));
    await visitor.submit('/connect/c2', { key: keys.laptop });
    expect((await visitor.get(good)).status).toBe(200);
    expect((await visitor.get('/oauth/callback?code=x&state=c2.s3cret')).status).toBe(200);
  });

  it('accepts only GET: a HEAD would use up the code', async () => {
    const { visitor } = await left();
    for (const method of ['HEAD', 'POST', 'OPTIONS'])
      expect((await visitor.send({ method, address: good })).status).toBe(405);
    expect((await visitor.get(good)).status).toBe(200);
  });
});

describe('an error response of the authorization server', verifies('gateway:consent:errors-shown'), () => {
  const said = (error: string) =>
    `/oauth/callback?state=c1.s3cret&error=${error}&error_description=${encodeURIComponent('<script>alert(1)</script>')}`;

  it.each([
    { name: 'the user declined', error: 'access_denied', title: 'Not connected' },
    { name: 'an error', error: 'invalid_scope', title: 'The authorization server refused' },
  ])('$name', async ({ error, title }) => {
    const { consents, visitor } = await left();
    consents.failsWith = failureOf('consent_refused');
    const answer = await visitor.get(said(error));
    expect(answer.status).toBe(400);
    expect(titleOf(answer)).toBe(title);
    expect(answer.body).toContain(error);
    expect(answer.body).toContain('&lt;script&gt;');
    expect(answer.body).not.toContain('<script');
  });

  it('is not shown to a browser that did not start the flow: it could be forged', async () => {
    const { browser } = await left();
    const answer = await browser().get(said('read_this'));
    expect(answer.status).toBe(403);
    expect(answer.body).not.toMatch(/read_this|alert/);
  });

  it('is not shown without a verified issuer: it may come from another server', async () => {
    const { consents, visitor } = await left();
    consents.failsWith = failureOf('consent_invalid');
    const answer = await visitor.get(`${said('read_this')}&iss=https%3A%2F%2Fevil.example`);
    expect(answer.status).toBe(400);
    expect(answer.body).not.toMatch(/read_this|alert|evil/);
  });

  it('is cut where it does not end', async () => {
    const { consents, visitor } = await left();
    consents.failsWith = failureOf('consent_refused');
    const answer = await visitor.get(`/oauth/callback?state=c1.s3cret&error=${'e'.repeat(6000)}`);
    expect(answer.body.length).toBeLessThan(8000);
  });

  it('a failure of the exchange is named, without the code', async () => {
    const { consents, visitor } = await left();
    consents.failsWith = failureOf('token_refused', 'The authorization server did not take the code.');
    const answer = await visitor.get(good);
    expect(answer.status).toBe(502);
    expect(answer.body).toContain('token_refused');
    expect(answer.body).not.toContain('the-code');
  });
});
