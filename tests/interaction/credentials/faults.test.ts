/**
 * Authorization servers that are away, slow or wrong: a named error for the one call, and nothing else is disturbed.
 */
import { describe, expect, it } from 'vitest';
import { type Asked, type Said, TestTime } from '../../oauth/client/support.ts';
import { verifies } from '../../requirements/verifies.ts';
import { open, send, until } from '../harness/client.ts';
import { eras, modern } from '../harness/eras.ts';
import { done, Office } from './office.ts';

const merged = (client: (typeof eras)[number]) => ({ client, door: 'merged' }) as const;

interface Fault {
  readonly name: string;
  readonly reason: string;
  /** How it is brought about; returns how it ends. */
  befall(office: Office): () => void;
}

/** The page at a path answers otherwise for a while. */
function answering(path: string, said: Said): Fault['befall'] {
  return ({ backend }) => {
    const { pages } = backend.issuer.site;
    const usual = pages.get(path);
    pages.set(path, () => said);
    return () => usual && pages.set(path, usual);
  };
}

const metadata = '/.well-known/oauth-authorization-server';

const faults: readonly Fault[] = [
  {
    name: 'whose metadata is unavailable',
    reason: 'authorization_unavailable',
    befall: answering(metadata, { status: 503, body: {} }),
  },
  {
    name: 'whose metadata names another issuer',
    reason: 'authorization_untrusted',
    befall: ({ backend: { issuer } }) => {
      issuer.metadata = { issuer: 'https://other.example' };
      return () => {
        issuer.metadata = {};
      };
    },
  },
  {
    name: 'without PKCE',
    reason: 'authorization_untrusted',
    befall: ({ backend: { issuer } }) => {
      issuer.metadata = { code_challenge_methods_supported: ['plain'] };
      return () => {
        issuer.metadata = {};
      };
    },
  },
  {
    name: 'that takes no registrations',
    reason: 'client_unregistered',
    befall: answering('/register', { status: 400, body: { error: 'invalid_client_metadata' } }),
  },
];

describe.each(eras)(
  'for a %s client, an authorization server',
  verifies('gateway:credentials:others-unaffected'),
  (era) => {
    it.each(faults)('$name costs the backend alone, until it is well again', async ({ reason, befall }) => {
      const time = new TestTime();
      const office = await Office.open({ backend: era, ports: { timeOfDay: time.now } });
      const heal = befall(office);
      const client = await office.client(merged(era), office.employee('ada'));
      const { error } = await client.call('files__work');
      expect(error.data.reason).toBe(reason);
      expect(client.asked).toEqual([]);
      expect(await client.tools()).toEqual(['other__free']);
      expect(await client.call('other__free')).toMatchObject({ result: { content: [{ text: 'free' }] } });
      heal();
      time.move(120_000);
      expect(await client.call('files__work')).toMatchObject(done);
      expect(client.asked).toHaveLength(1);
    });

    it('that refuses the code ends the call, and the next one begins anew', async () => {
      const office = await Office.open({ backend: era });
      const { issuer } = office.backend;
      const ada = office.employee('ada');
      const client = await office.client(merged(era), ada, async (link) => {
        await ada.person.agree(link, office.backend);
        return 'accept';
      });
      issuer.tokenAnswer = () => ({ status: 400, body: { error: 'invalid_grant' } });
      const { error } = await client.call('files__work');
      expect(error.data).toMatchObject({ reason: 'authorization_refused', error: 'invalid_grant' });
      issuer.tokenAnswer = undefined;
      expect(await client.call('files__work')).toMatchObject(done);
      expect(new Set(client.asked).size).toBe(2);
    });
  },
);

describe('an authorization server that is slow', verifies('gateway:credentials:refused'), () => {
  it('gets nothing for a client that disconnected meanwhile', async () => {
    const time = new TestTime();
    const office = await Office.open({ backend: 'modern', ports: { timeOfDay: time.now }, limits: { sseAfterMs: 0 } });
    const ada = office.employee('ada');
    const client = await office.client({ client: 'modern', door: 'single' }, ada);
    expect(await client.call('work')).toMatchObject(done);
    time.move(3_590_000);
    const { pages } = office.backend.issuer.site;
    const give = pages.get('/token') as (asked: Asked) => Said | Promise<Said>;
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    pages.set('/token', async (asked) => {
      await held;
      return give(asked);
    });
    const params = { name: 'work', arguments: { gone: true } };
    const call = modern({ method: 'tools/call', params, headers: ada.credentials });
    const waiting = await open(office.url('single'), call);
    await until(() => office.backend.issuer.tokenRequests('refresh_token').length === 1, 'it is renewed');
    waiting.close();
    // Two round trips after which the end of that connection must have been seen.
    for (let i = 0; i < 2; i++) await send(office.url('single'), { method: 'OPTIONS' });
    release();
    expect(await client.call('work', { here: true })).toMatchObject(done);
    const calls = office.backend.inner.of('tools/call').map(({ message }) => message.params.arguments);
    expect(calls).toEqual([{}, { here: true }]);
    expect(client.asked).toHaveLength(1);
  });
});
