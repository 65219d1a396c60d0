/** `/connect` lists what a person is connected to, after they have shown who they are. */
import { expect, it } from 'vitest';
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
