/** How tokens for a backend are come by, kept and renewed, seen from outside. */
import { createHash, generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { TestTime } from '../../oauth/client/support.ts';
import { verifies } from '../../requirements/verifies.ts';
import type { Call, Json } from '../harness/client.ts';
import { bearer, tokenIssuer } from '../harness/credentials.ts';
import { eras, modern } from '../harness/eras.ts';
import { caller } from './caller.ts';
import { tokenIn } from './guarded-backend.ts';
import { done, Office } from './office.ts';

/** Many at once, without a deadline for each. */
const posted = ({ headers, body }: Call): RequestInit => ({
  method: 'POST',
  headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body),
});

const single = { client: 'modern', door: 'single' } as const;

describe(
  'a backend that requires more scopes',
  verifies('client-auth:403-scope-union', 'client-auth:403-scope-upgrade'),
  () => {
    it.each(eras)('makes the user consent to all of them together (%s)', async (era) => {
      const office = await Office.open({ backend: era });
      const { backend } = office;
      backend.needs = (text) => (text.includes('"admin"') ? ['admin'] : ['read']);
      const client = await office.client({ client: era, door: 'single' }, office.employee('ada'));
      expect(await client.call('work')).toMatchObject(done);
      expect(await client.call('work', { as: 'admin' })).toMatchObject(done);
      const scopes = backend.issuer.site.asked('/authorize').map(({ query }) => query.get('scope'));
      expect(scopes).toEqual(['read', 'read admin']);
      expect(client.asked).toHaveLength(2);
      expect(await client.call('work')).toMatchObject(done);
      expect(client.asked).toHaveLength(2);
    });

    it('gets no retry if no scope would help', async () => {
      const office = await Office.open({ backend: 'modern' });
      const { backend } = office;
      const client = await office.client(single, office.employee('ada'));
      expect(await client.call('work')).toMatchObject(done);
      backend.issuer.tokenAnswer = (_asked, grant) =>
        grant === 'authorization_code' ? backend.issuer.give('read') : undefined;
      backend.needs = (text) => (text.includes('"admin"') ? ['admin'] : []);
      const { error } = await client.call('work', { as: 'admin' });
      expect(error.data.reason).toBe('backend_forbidden');
      expect(client.asked).toHaveLength(2);
      // What it has is good for everything else.
      expect(await client.call('work')).toMatchObject(done);
    });
  },
);

describe('an expired token', verifies('client-auth:refresh:transparent'), () => {
  it('is refreshed once for a thousand calls, and none of them fails', async () => {
    const time = new TestTime();
    const office = await Office.open({
      backend: 'modern',
      ports: { timeOfDay: time.now },
    });
    const ada = office.employee('ada');
    const client = await office.client(single, ada);
    expect(await client.call('work')).toMatchObject(done);
    const { refusals } = office.backend;
    time.move(3_590_000);
    const reasons = await Promise.all(
      Array.from({ length: 1_000 }, async (_, id) => {
        const call = modern({ id, method: 'tools/call', params: { name: 'work' }, headers: ada.credentials });
        const answer = await fetch(office.url('single'), posted(call));
        return ((await answer.json()) as Json).error?.data?.reason;
      }),
    );
    expect(new Set(reasons)).toEqual(new Set([undefined]));
    expect(office.backend.issuer.tokenRequests('refresh_token')).toHaveLength(1);
    expect(office.backend.refusals).toBe(refusals);
    expect(client.asked).toHaveLength(1);
  }, 60_000);

  it.each(eras)('is refreshed early if the backend rejects it (%s)', async (era) => {
    const time = new TestTime();
    const office = await Office.open({ backend: era, ports: { timeOfDay: time.now } });
    const { backend } = office;
    const client = await office.client({ client: era, door: 'single' }, office.employee('ada'));
    expect(await client.call('work')).toMatchObject(done);
    time.move(120_000);
    for (const token of backend.owners.keys()) backend.ended.add(token);
    expect(await client.call('work')).toMatchObject(done);
    expect(backend.issuer.tokenRequests('refresh_token')).toHaveLength(1);
    expect(client.asked).toHaveLength(1);
  });

  it.each(eras)('is replaced by a new consent if it cannot be refreshed (%s)', async (era) => {
    const time = new TestTime();
    const office = await Office.open({ backend: era, ports: { timeOfDay: time.now } });
    const client = await office.client({ client: era, door: 'single' }, office.employee('ada'));
    expect(await client.call('work')).toMatchObject(done);
    time.move(3_700_000);
    office.backend.issuer.endRefreshTokens();
    for (const token of office.backend.owners.keys()) office.backend.ended.add(token);
    expect(await client.call('work')).toMatchObject(done);
    expect(client.asked).toHaveLength(2);
  });
});

describe('after a restart', verifies('gateway:credentials:restart'), () => {
  it.each(eras)('no user has to consent again (%s)', async (era) => {
    const office = await Office.open({ backend: era });
    const row = { client: era, door: 'single' } as const;
    const before = await office.client(row, office.employee('ada'));
    expect(await before.call('work')).toMatchObject(done);
    await office.restart();
    const after = await office.client(row, office.employee('ada'));
    expect(await after.call('work')).toMatchObject(done);
    expect(after.asked).toEqual([]);
    expect(office.backend.issuer.site.asked('/register')).toHaveLength(1);
  });

  it('a page from before the restart stays valid', async () => {
    const office = await Office.open({ backend: 'modern', more: { seal: { key: 'k'.repeat(40) } } });
    const ada = office.employee('ada');
    const before = await office.client(single, ada, 'never');
    const { error } = await before.call('work');
    await office.restart();
    expect((await ada.person.agree(error.data.url, office.backend)).status).toBe(200);
    const after = await office.client(single, ada, 'never');
    expect(await after.call('work')).toMatchObject(done);
  });
});

describe('a machine account', verifies('client-auth:client-credentials'), () => {
  const secret = { grant: 'client_credentials', clientId: 'gateway', clientSecret: 'open-sesame' };

  it.each([
    { era: 'legacy', shared: false },
    { era: 'legacy', shared: true },
    { era: 'modern', shared: false },
    { era: 'modern', shared: true },
  ] as const)('needs no user ($era, shared: $shared)', async ({ era, shared }) => {
    const office = await Office.open({ backend: era, auth: { ...secret, scopes: ['read'], shared } });
    for (const name of ['ada', 'bob'] as const) {
      const client = await office.client({ client: era, door: 'merged' }, office.employee(name), 'never');
      expect(await client.call('files__work')).toMatchObject(done);
    }
    const asked = office.backend.issuer.tokenRequests('client_credentials');
    expect(asked).toHaveLength(shared ? 1 : 2);
    expect(asked[0]?.form.get('resource')).toBe(office.backend.url);
    expect(asked[0]?.form.get('scope')).toBe('read');
    expect(asked[0]?.headers.authorization).toBe(`Basic ${Buffer.from('gateway:open-sesame').toString('base64')}`);
    expect(office.backend.issuer.site.asked('/authorize')).toEqual([]);
  });

  it('proves itself by a signature where it has a key', async () => {
    const { privateKey } = generateKeyPairSync('ec', {
      namedCurve: 'P-256',
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    });
    const auth = { grant: 'client_credentials', clientId: 'gateway', privateKey };
    const office = await Office.open({ backend: 'modern', auth });
    const client = await office.client(single, office.employee('ada'), 'never');
    expect(await client.call('work')).toMatchObject(done);
    const [asked] = office.backend.issuer.tokenRequests('client_credentials');
    expect(asked?.form.get('client_assertion_type')).toBe('urn:ietf:params:oauth:client-assertion-type:jwt-bearer');
    expect(asked?.form.get('client_assertion')).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
    expect(asked?.headers.authorization).toBeUndefined();
  });

  it('that is rejected by its authorization server gets an error, and other backends continue', async () => {
    const office = await Office.open({ backend: 'modern', auth: secret });
    office.backend.issuer.tokenAnswer = () => ({ status: 401, body: { error: 'invalid_client' } });
    const client = await office.client({ client: 'modern', door: 'merged' }, office.employee('ada'), 'never');
    const { error } = await client.call('files__work');
    expect(error.data).toMatchObject({ reason: 'authorization_refused', error: 'invalid_client' });
    expect(await client.call('other__free')).toMatchObject({ result: { content: [{ text: 'free' }] } });
  });
});

describe('a token of the caller’s own issuer', verifies('gateway:credentials:token-exchange'), () => {
  it.each(eras)('is exchanged for one of the backend’s, for each caller alone (%s)', async (era) => {
    const issuer = await tokenIssuer();
    const office = await Office.open({
      backend: era,
      more: { identity: { issuers: [{ issuer: issuer.url }] } },
      auth: (as) => ({ grant: 'token_exchange', issuer: as, audience: 'files' }),
    });
    const url = office.url('single');
    const tokens = await Promise.all(['ada', 'bob'].map((sub) => issuer.token(url, { sub })));
    for (const token of tokens) {
      const client = await caller({ era, url, credentials: bearer(token) });
      expect(await client.call('work')).toMatchObject(done);
    }
    const asked = office.backend.issuer.tokenRequests('urn:ietf:params:oauth:grant-type:token-exchange');
    expect(asked.map(({ form }) => form.get('subject_token'))).toEqual(tokens);
    expect(asked[0]?.form.get('audience')).toBe('files');
    const calls = office.backend.inner.of('tools/call').map(({ headers }) => tokenIn(headers.authorization));
    expect(new Set(calls).size).toBe(2);
    for (const presented of office.backend.presented) expect(tokens).not.toContain(tokenIn(presented));
  });

  it('is needed: a key is no token', async () => {
    const office = await Office.open({ backend: 'modern', auth: (as) => ({ grant: 'token_exchange', issuer: as }) });
    const client = await office.client(single, office.employee('ada'), 'never');
    expect((await client.call('work')).error.data.reason).toBe('exchange_impossible');
  });
});

describe('the requests to authorization server and backend', () => {
  const asked = verifies('client-auth:resource-parameter', 'client-auth:pkce:s256');
  it('name the backend as the resource, and use PKCE with S256', asked, async () => {
    const office = await Office.open({ backend: 'modern' });
    const { url, issuer } = office.backend;
    const client = await office.client(single, office.employee('ada'));
    expect(await client.call('work')).toMatchObject(done);
    const [{ query } = { query: new URLSearchParams() }] = issuer.site.asked('/authorize');
    const [{ form } = { form: new URLSearchParams() }] = issuer.tokenRequests('authorization_code');
    expect([query.get('resource'), form.get('resource')]).toEqual([url, url]);
    expect(query.get('code_challenge_method')).toBe('S256');
    const verifier = form.get('code_verifier') ?? '';
    expect(query.get('code_challenge')).toBe(createHash('sha256').update(verifier).digest('base64url'));
  });

  it.each(eras)(
    'has the token in the header of every request (%s)',
    verifies('client-auth:bearer-header:every-request'),
    async (era) => {
      const office = await Office.open({ backend: era });
      const client = await office.client({ client: era, door: 'single' }, office.employee('ada'));
      for (let calls = 0; calls < 3; calls += 1) expect(await client.call('work')).toMatchObject(done);
      expect(await client.tools()).toEqual(['work']);
      const { received } = office.backend.inner;
      expect(received.length).toBeGreaterThan(4);
      for (const one of received) expect(office.backend.ownerOf(one)).toBe('ada');
    },
  );
});
