/** Everything that the gateway says while it comes by tokens, uses and loses them is looked through for them. */
import { describe, expect, it } from 'vitest';
import { TestTime } from '../../oauth/client/support.ts';
import { verifies } from '../../requirements/verifies.ts';
import { eras } from '../harness/eras.ts';
import { Office } from './office.ts';

/** What nobody but the gateway, the backend and its authorization server may see. */
function secretsOf({ backend }: Office): readonly string[] {
  const forms = backend.issuer.site.log.map(({ form }) => form);
  const names = ['code', 'code_verifier', 'refresh_token', 'client_secret', 'client_assertion', 'subject_token'];
  const sent = forms.flatMap((form) => names.flatMap((name) => form.get(name) ?? []));
  const basic = backend.issuer.site.log.flatMap(({ headers }) => headers.authorization?.split(' ')[1] ?? []);
  const secrets = basic.map((text) => Buffer.from(text, 'base64').toString().split(':')[1] ?? '');
  const known = [...sent, ...basic, ...secrets, ...backend.issuer.accessTokens.keys(), ...backend.owners.keys()];
  return [...new Set(known)].filter((secret) => secret.length > 8);
}

describe('tokens, codes and secrets', verifies('gateway:credentials:secrets', 'client-auth:token-provenance'), () => {
  it.each(eras)('stand in no answer, no log and no page (%s)', async (era) => {
    const time = new TestTime();
    const office = await Office.open({ backend: era, ports: { timeOfDay: time.now } });
    const { backend } = office;
    const said: string[] = [];
    const ada = office.employee('ada');
    const client = await office.client({ client: era, door: 'merged' }, ada, async (link) => {
      const page = await ada.person.agree(link, backend);
      said.push(page.text, JSON.stringify([...page.headers]));
      return 'accept';
    });
    const call = async (args: object = {}) => void said.push(JSON.stringify(await client.call('files__work', args)));
    await call();
    // Renewed, renewed in vain, agreed to anew, refused for good.
    time.move(3_590_000);
    await call();
    for (const token of backend.owners.keys()) backend.ended.add(token);
    time.move(400_000);
    await call();
    backend.issuer.endRefreshTokens();
    time.move(4_000_000);
    await call();
    backend.issuer.tokenAnswer = ({ form }) => ({
      status: 400,
      body: { error: 'invalid_grant', error_description: [...form.values()].join(' ') },
    });
    time.move(4_000_000);
    await call();
    for (const token of backend.owners.keys()) backend.ended.add(token);
    await call({ as: 'admin' });
    said.push(JSON.stringify(await client.tools()));
    said.push(
      JSON.stringify(office.gateway.log),
      JSON.stringify(office.gateway.config.backends.map(({ name }) => name)),
    );
    const secrets = secretsOf(office);
    expect(secrets.length).toBeGreaterThan(12);
    const everything = said.join('\n');
    for (const secret of secrets) {
      expect(everything.includes(secret), `${secret} was told`).toBe(false);
      expect(everything.includes(encodeURIComponent(secret)), `${secret}, encoded`).toBe(false);
    }
  });

  it.each(eras)('of the client’s own never reach the backend or its authorization server (%s)', async (era) => {
    const office = await Office.open({ backend: era });
    const { backend } = office;
    const ada = office.employee('ada');
    const client = await office.client({ client: era, door: 'single' }, ada);
    await client.call('work');
    expect(backend.presented.length).toBeGreaterThan(1);
    const heard = [
      JSON.stringify(backend.inner.received),
      JSON.stringify(backend.presented),
      JSON.stringify(backend.issuer.site.log),
    ].join('\n');
    expect(heard).not.toContain(ada.key);
    expect(heard).not.toContain(ada.key.slice(-43));
  });
});
