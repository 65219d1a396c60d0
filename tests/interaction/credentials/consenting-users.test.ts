/** How people show on the page that they are the one whose client has asked, for every way in which clients come. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { sign, signer } from '../../identity/support.ts';
import { MemoryRecords } from '../../kit/memory-records.ts';
import { TestIssuer } from '../../oauth/client/pages/issuer.ts';
import { Site } from '../../oauth/client/support.ts';
import { verifies } from '../../requirements/verifies.ts';
import { Browser, isLogin } from '../authserver/browser.ts';
import { password, Setting } from '../authserver/setting.ts';
import { bearer } from '../harness/credentials.ts';
import { eras } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { caller } from './caller.ts';
import { GuardedBackend, oauth } from './guarded-backend.ts';
import { done, Office } from './office.ts';
import { Person } from './person.ts';

/** The guard lets nobody there: only that the operator wrote it down makes it reachable. */
async function issuerOnThisMachine(): Promise<TestIssuer> {
  const site = await Site.open();
  onTestFinished(() => site.close());
  const issuer = await TestIssuer.create(site.origin);
  for (const path of ['/.well-known/openid-configuration', '/keys', '/token']) {
    site.pages.set(path, async ({ method, text }) => {
      const answer = await issuer.fetch(`${site.origin}${path}`, { method, body: text });
      return { status: answer.status, body: await answer.text() };
    });
  }
  return issuer;
}

/** From the authorization server's page back to the gateway. */
async function comeBack(browser: Browser, left: URL) {
  const { headers } = await fetch(left, { redirect: 'manual' });
  return browser.go(headers.get('location') ?? '');
}

describe(
  'a user who is signed in at the gateway’s own authorization server',
  verifies('gateway:consent:principal-alone'),
  () => {
    async function setting() {
      const backend = await GuardedBackend.open({ era: 'modern' });
      const house = await Setting.launch({
        users: ['ada', 'bob'],
        more: { backends: { files: { url: backend.url, auth: oauth } } },
      });
      const { access, browser } = await house.tokens();
      const client = await caller({ era: 'modern', url: house.gateway.url(), credentials: bearer(access) });
      const { error } = await client.call('work');
      return { backend, house, browser, client, link: error.data.url as string };
    }

    it('consents with one click', async () => {
      const { browser, client, link } = await setting();
      const page = await browser.go(link);
      expect(page.text).toContain('ada');
      const left = await browser.submit(page, {});
      expect((await comeBack(browser, left.url)).status).toBe(200);
      expect(await client.call('work')).toMatchObject(done);
    });

    it('signs in first if necessary, and returns to the page', async () => {
      const { house, client, link } = await setting();
      const browser = house.browser();
      const page = await browser.go(link);
      const [, href = ''] = /<a class="button" href="([^"]+)"/.exec(page.text) ?? [];
      const login = await browser.go(new URL(href.replaceAll('&amp;', '&'), house.origin));
      expect(isLogin(login)).toBe(true);
      const again = await browser.submit(login, { action: 'sign-in', name: 'ada', password });
      expect(again.url.href).toBe(link);
      const left = await browser.submit(again, {});
      expect((await comeBack(browser, left.url)).status).toBe(200);
      expect(await client.call('work')).toMatchObject(done);
    });

    it('is rejected for a link of another user', async () => {
      const { house, backend, link } = await setting();
      const browser = house.browser();
      const page = await browser.go(link);
      const [, href = ''] = /<a class="button" href="([^"]+)"/.exec(page.text) ?? [];
      const login = await browser.go(new URL(href.replaceAll('&amp;', '&'), house.origin));
      const again = await browser.submit(login, { action: 'sign-in', name: 'bob', password });
      expect(again.status).toBe(403);
      expect(backend.issuer.site.asked('/authorize')).toEqual([]);
    });
  },
);

describe('a user with an account at another issuer', verifies('gateway:consent:foreign-issuer'), () => {
  it.each([
    { subject: 'ada', goesOn: true },
    { subject: 'bob', goesOn: false },
  ])('signs in there: $subject', async ({ subject, goesOn }) => {
    const backend = await GuardedBackend.open({ era: 'modern' });
    const issuer = await issuerOnThisMachine();
    const key = await signer('access');
    const jwksUri = `${issuer.issuer}/access-keys`;
    const gateway = await startGateway(
      {
        backends: { files: { url: backend.url, auth: oauth } },
        identity: { issuers: [{ issuer: issuer.issuer, jwksUri, signIn: { clientId: 'gateway' } }] },
      },
      {
        records: new MemoryRecords(Date.now),
        fetch: async () => Response.json({ keys: [key.jwk] }),
      },
    );
    const url = gateway.url();
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: issuer.issuer, sub: 'ada', aud: url, iat: now, exp: now + 600 };
    const client = await caller({ era: 'modern', url, credentials: bearer(await sign(key, claims)) });
    const { error } = await client.call('work');
    const browser = new Browser(gateway.origin);
    const away = await browser.submit(await browser.go(error.data.url), {});
    expect(away.url.origin).toBe(issuer.issuer);
    const back = await browser.go(`${gateway.origin}/oauth/signed-in?${issuer.signIn(away.url.href, subject)}`);
    if (goesOn) {
      expect((await comeBack(browser, back.url)).status).toBe(200);
      expect(await client.call('work')).toMatchObject(done);
    } else {
      expect(back.status).toBe(403);
      expect(backend.issuer.site.asked('/authorize')).toEqual([]);
      expect((await client.call('work')).error.data.reason).toBe('consent_needed');
    }
  });
});

describe('a user of this machine', verifies('gateway:consent:principal-alone'), () => {
  it.each(eras)('consents without credentials at an open endpoint (%s)', async (era) => {
    const backend = await GuardedBackend.open({ era });
    const gateway = await startGateway(
      { backends: { files: { url: backend.url, auth: oauth } } },
      { records: new MemoryRecords(Date.now) },
    );
    const ada = new Person('ada', gateway.origin);
    const shown = async (link: string) => {
      expect((await ada.agree(link, backend)).status).toBe(200);
      return 'accept' as const;
    };
    const client = await caller({ era, url: gateway.url(), shown });
    expect(await client.call('work')).toMatchObject(done);
  });

  it.each(eras)('consents for all users if the account is shared (%s)', async (era) => {
    const office = await Office.open({ backend: era, auth: { shared: true } });
    const row = { client: era, door: 'merged' } as const;
    const bob = await office.client(row, office.employee('bob'), 'never');
    const stream = await bob.session?.listen();
    const { error } = await bob.call('files__work');
    expect(error.data.reason).toBe('consent_needed');
    const somebody = new Person('operator', office.gateway.origin);
    expect((await somebody.agree(error.data.url, office.backend)).status).toBe(200);
    await stream?.message(({ method }) => method === 'notifications/tools/list_changed');
    expect(await bob.call('files__work')).toMatchObject(done);
    const ada = await office.client(row, office.employee('ada'), 'never');
    expect(await ada.call('files__work')).toMatchObject(done);
    expect([...(await ada.tools())].sort()).toEqual(['files__work', 'other__free']);
    const owners = office.backend.inner.of('tools/call').map((call) => office.backend.ownerOf(call));
    expect(owners).toEqual(['operator', 'operator']);
  });
});
