/** `/connect` lists what a person is connected to, after they have shown who they are. */
import { expect, it } from 'vitest';
import { pageLimits } from '../../../src/oauth/client/pages/limits.ts';
import { verifies } from '../../requirements/verifies.ts';
import { send } from '../harness/client.ts';
import { Office } from './office.ts';

const linkIn = (text: string) => /\/connect\/[\w-]{16,}/.exec(text)?.[0];

it(
  'lists the backends of the person, with the link to consent, and then that they are connected',
  verifies('gateway:connect:list'),
  async () => {
    const office = await Office.open({ backend: 'modern' });
    const { origin } = office.gateway;
    const [ada, bob] = [office.employee('ada'), office.employee('bob')];
    const form = await ada.person.browser.go(`${origin}/connect`);
    expect(form.text).not.toContain('files');
    const list = () => ada.person.browser.submit(form, { key: ada.key });
    const before = await list();
    expect(before.text).toContain('files');
    expect(before.text).toContain('Needs your consent');
    const link = `${origin}${linkIn(before.text)}`;
    expect((await ada.person.agree(link, office.backend)).status).toBe(200);
    const after = await list();
    expect(after.text).toContain('Connected');
    expect(linkIn(after.text)).toBeUndefined();
    // Another person has another link, and does not see this one's account.
    const other = await bob.person.browser.submit(await bob.person.browser.go(`${origin}/connect`), { key: bob.key });
    expect(other.text).not.toContain('Connected');
    expect(linkIn(other.text)).toBeDefined();
  },
);

it('needs a key of this gateway, and a form of its own', verifies('gateway:connect:list'), async () => {
  const office = await Office.open({ backend: 'modern' });
  const { origin } = office.gateway;
  const ada = office.employee('ada');
  const form = await ada.person.browser.go(`${origin}/connect`);
  const wrong = await ada.person.browser.submit(form, { key: 'bsk_nonsense' });
  expect(wrong).toMatchObject({ status: 403 });
  expect(wrong.text).not.toContain('files');
  const forged = await send(`${origin}/connect`, {
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ key: ada.key, token: 'x' }).toString(),
  });
  expect(forged.status).toBe(403);
  expect(forged.body).not.toContain('files');
});

it(
  'wrong keys are logged, and counted by the client that a trusted proxy names',
  verifies('gateway:connect:list'),
  async () => {
    const office = await Office.open({ backend: 'modern', more: { listen: { trustedProxies: ['127.0.0.1'] } } });
    const { origin, log } = office.gateway;
    const ada = office.employee('ada');
    const form = await ada.person.browser.go(`${origin}/connect`);
    const submit = (key: string, address: string) =>
      ada.person.browser.submit(form, { key }, { 'x-forwarded-for': address });
    for (let tries = 0; tries < pageLimits.wrongKeys; tries++)
      expect((await submit('bsk_nonsense', '192.0.2.1')).status).toBe(403);
    expect((await submit(ada.key, '192.0.2.1')).status).toBe(429);
    expect((await submit(ada.key, '192.0.2.2')).status).toBe(200);
    // The first is logged at once, the others together, and the key is in neither.
    const refusals = log.filter(({ facts }) => facts.reason === 'key_unknown');
    const facts = { address: '192.0.2.1', path: '/connect', reason: 'key_unknown' };
    expect(refusals).toMatchObject([{ level: 'warn', facts }]);
    expect(JSON.stringify(log)).not.toContain('bsk_nonsense');
  },
);

it('a wrong key at the page of one consent is logged', verifies('gateway:connect:list'), async () => {
  const office = await Office.open({ backend: 'modern' });
  const { origin, log } = office.gateway;
  const [ada, bob] = [office.employee('ada'), office.employee('bob')];
  const list = await ada.person.browser.submit(await ada.person.browser.go(`${origin}/connect`), { key: ada.key });
  const page = await ada.person.browser.go(`${origin}${linkIn(list.text)}`);
  for (const key of ['bsk_nonsense', bob.key])
    expect((await ada.person.browser.submit(page, { key })).status).toBe(403);
  const refusals = log.filter(({ facts }) => facts.reason === 'key_unknown');
  // The id of a consent is not in the log.
  const where = { address: '127.0.0.1', path: '/connect' };
  expect(refusals.map(({ facts }) => facts)).toEqual([{ ...where, reason: 'key_unknown' }]);
});
