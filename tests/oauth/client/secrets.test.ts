/** Tokens, codes and secrets: in no log, in no error, and in no record that somebody could read. */
import { inspect } from 'node:util';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Failure } from '../../../src/errors/failure.ts';
import type { Records } from '../../../src/store/ports.ts';
import { createSeal } from '../../../src/store/seal.ts';
import { SealedRecords } from '../../../src/store/sealed.ts';
import { MemoryRecords } from '../../kit/memory-records.ts';
import { verifies } from '../../requirements/verifies.ts';
import { type Asked, alice, World } from './support.ts';

let world: World;
beforeEach(async () => {
  world = await World.open();
});
afterEach(() => world.close());

/** Everything that was ever written, as it was written. */
function recording(records: Records, written: string[]): Records {
  return {
    get: (...given) => records.get(...given),
    put: (...given) => {
      written.push(JSON.stringify(given));
      return records.put(...given);
    },
    replace: (...given) => {
      written.push(JSON.stringify(given));
      return records.replace(...given);
    },
    take: (...given) => records.take(...given),
    delete: (...given) => records.delete(...given),
    keys: (...given) => records.keys(...given),
    close: () => records.close(),
  };
}

/** A server that repeats whatever it is sent, in confidence or not. */
function parrot(status: number) {
  return ({ text, headers }: Asked) => {
    const basic = Buffer.from(headers.authorization?.slice(6) ?? '', 'base64').toString('utf8');
    const words = [text, decodeURIComponent(text.replaceAll('+', ' ')), headers.authorization, basic].join(' ');
    return { status, body: { error: words, error_description: words, error_uri: words } };
  };
}

it('no secret that was sent is revealed', verifies('gateway:credentials:secrets'), async () => {
  const written: string[] = [];
  const told: string[] = [];
  const records = new SealedRecords(
    recording(new MemoryRecords(world.time.now), written),
    createSeal('a secret of at least thirty-two characters'),
    (text, facts) => told.push(`${text} ${JSON.stringify(facts)}`),
  );
  const tell = (error: unknown) => {
    expect(error).toBeInstanceOf(Failure);
    told.push(inspect(error, { depth: 10, showHidden: true }), JSON.stringify((error as Failure).data ?? {}));
  };
  const attempt = async (work: Promise<unknown> | undefined) => {
    await work?.catch(tell);
  };
  const pass = { clientId: 'robot', clientSecret: 'secret-of-the-config' };

  for (const status of [400, 401, 403, 500]) {
    world.issuer.tokenAnswer = undefined;
    const person = world.start({}, { records });
    const who = { ...alice, key: `person-${status}` };
    await attempt(world.connect(person, who));
    world.issuer.tokenAnswer = parrot(status);
    world.time.move(3_600_000);
    await attempt(Promise.resolve(person.credentialProviderFor('files', who)?.headers()));
    await attempt(world.connect(world.start({}, { records }), { ...alice, key: `refused-${status}` }));
    await attempt(world.connect(world.start(pass, { records }), { ...alice, key: `configured-${status}` }));

    const machine = world.start({ ...pass, grant: 'client_credentials' }, { records });
    await attempt(machine.credentialProviderFor('files', alice)?.refused(world.refusal({})));
    const exchange = { ...pass, grant: 'token_exchange', issuer: world.issuer.issuer } as const;
    const caller = world.start(exchange, { records }).credentialProviderFor('files', alice, 'token-of-the-caller');
    await attempt(caller?.refused(world.refusal({})));
  }

  const secrets = [
    ...world.issuer.accessTokens.keys(),
    ...['secret-of-the-config', 'token-of-the-caller'],
    ...world.issuer.site.log.flatMap(({ form, query }) =>
      ['code', 'code_verifier', 'refresh_token', 'client_secret'].flatMap((name) => [
        ...form.getAll(name),
        ...query.getAll(name),
      ]),
    ),
    ...world.issuer.site
      .asked('/token')
      .map(({ headers }) => headers.authorization?.slice(6) ?? '')
      .flatMap((basic) => [basic, Buffer.from(basic, 'base64').toString('utf8').split(':')[1] ?? '']),
  ].filter((secret) => secret.length > 5);
  expect(new Set(secrets).size).toBeGreaterThan(20);
  const everything = [...told, ...world.warnings, ...written].join('\n');
  expect(everything.includes('the gateway cannot get a token for a backend')).toBe(true);
  expect([...new Set(secrets)].filter((secret) => everything.includes(secret))).toEqual([]);
});
