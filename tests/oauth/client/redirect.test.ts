/** What a person brings back, and what of it is believed. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { OAuthCredentials } from '../../../src/oauth/client/create.ts';
import { verifies } from '../../requirements/verifies.ts';
import { failureOf, World } from './support.ts';

let world: World;
let credentials: OAuthCredentials;
beforeEach(async () => {
  world = await World.open();
  credentials = world.start();
});
afterEach(() => world.close());

async function begun(): Promise<{ id: string; brought: URLSearchParams }> {
  const failure = await world.firstRefusal(credentials);
  const id = String(failure.data?.elicitationId);
  return { id, brought: await world.visit(await credentials.consents.authorizationUrl(id)) };
}

interface Row {
  readonly name: string;
  readonly promised?: boolean;
  /** `own`: the issuer itself. */
  readonly iss?: string;
  readonly good: boolean;
}

/** https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#authorization-response-validation */
const table: readonly Row[] = [
  { name: 'promised and right', promised: true, iss: 'own', good: true },
  { name: 'promised and wrong', promised: true, iss: 'https://evil.example', good: false },
  { name: 'promised and missing', promised: true, good: false },
  { name: 'promised and empty', promised: true, iss: '', good: false },
  { name: 'not promised and right', iss: 'own', good: true },
  { name: 'not promised and wrong', iss: 'https://evil.example', good: false },
  { name: 'not promised and empty', iss: '', good: false },
  { name: 'not promised and missing', good: true },
  { name: 'denied and wrong', promised: false, iss: 'https://evil.example', good: false },
  { name: 'with a slash more', promised: true, iss: 'own/', good: false },
  { name: 'in capitals', promised: true, iss: 'OWN', good: false },
];

describe('the issuer in the redirect', verifies('client-auth:authorization-response:iss-verify'), () => {
  for (const kind of ['a code', 'an error'] as const) {
    it.each(table)(`$name, with ${kind}`, async ({ promised, iss, good }) => {
      if (promised !== undefined) {
        world.issuer.metadata = { authorization_response_iss_parameter_supported: promised };
      }
      world.issuer.redirect = (parameters) => {
        const { issuer } = world.issuer;
        if (iss !== undefined) parameters.set('iss', iss.replace('own', issuer).replace('OWN', issuer.toUpperCase()));
        if (kind === 'a code') return;
        parameters.delete('code');
        parameters.set('error', 'access_denied');
        parameters.set('error_description', 'You said no');
      };
      const { id, brought } = await begun();
      if (good && kind === 'a code') {
        await credentials.consents.complete(id, brought);
        return;
      }
      const failure = await failureOf(credentials.consents.complete(id, brought));
      expect(failure.reason).toBe(good ? 'consent_refused' : 'consent_invalid');
      // On a mismatch nothing that it says is shown.
      expect(failure.data).toEqual(good ? { error: 'access_denied', description: 'You said no' } : undefined);
      expect(world.issuer.site.asked('/token')).toEqual([]);
    });
  }
});

describe('a redirect to another address than ours', verifies('client-auth:state:verify'), () => {
  const foreign: readonly { name: string; change: (parameters: URLSearchParams) => void }[] = [
    { name: 'without a state', change: (parameters) => parameters.delete('state') },
    { name: 'with another state', change: (parameters) => parameters.set('state', 'x.y') },
    {
      name: 'with half of the state',
      change: (parameters) => parameters.set('state', parameters.get('state')?.split('.')[0] ?? ''),
    },
    { name: 'with the state twice', change: (parameters) => parameters.append('state', parameters.get('state') ?? '') },
    { name: 'with two codes', change: (parameters) => parameters.append('code', 'another') },
    { name: 'without a code', change: (parameters) => parameters.delete('code') },
    { name: 'with an implicit token', change: (parameters) => parameters.set('token', 'x') },
    { name: 'with an ID token', change: (parameters) => parameters.set('id_token', 'x') },
    { name: 'with a signed response', change: (parameters) => parameters.set('response', 'x') },
  ];
  it.each(foreign)('$name is discarded, and the real one still counts', async ({ change }) => {
    const { id, brought } = await begun();
    const changed = new URLSearchParams(brought);
    change(changed);
    expect((await failureOf(credentials.consents.complete(id, changed))).reason).toBe('consent_invalid');
    expect(world.issuer.site.asked('/token')).toEqual([]);
    await credentials.consents.complete(id, brought);
  });

  it('is valid for one use, also for concurrent ones', async () => {
    const { id, brought } = await begun();
    const tries = await Promise.allSettled(
      Array.from({ length: 10 }, () => credentials.consents.complete(id, brought)),
    );
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(world.issuer.site.asked('/token')).toHaveLength(1);
    expect((await failureOf(credentials.consents.complete(id, brought))).reason).toBe('consent_unknown');
  });
});

describe('a call that waits for a consent', () => {
  it(
    'learns that it was refused, at another replica too',
    verifies('client-auth:authorize:error-surfaces'),
    async () => {
      world.issuer.redirect = (parameters) => {
        parameters.delete('code');
        parameters.set('error', 'access_denied');
      };
      const { id, brought } = await begun();
      const waiting = world.start().consents.waitFor(id, 10_000);
      await failureOf(credentials.consents.complete(id, brought));
      expect(await waiting).toMatchObject({ reason: 'consent_refused', data: { error: 'access_denied' } });
      expect(world.issuer.site.asked('/token')).toEqual([]);
    },
  );

  it('does not wait for longer than it wants to', async () => {
    const { id } = await begun();
    expect(await credentials.consents.waitFor(id, 1)).toMatchObject({ reason: 'consent_pending' });
    const stop = new AbortController();
    const waiting = credentials.consents.waitFor(id, 600_000, stop.signal);
    stop.abort();
    expect(await waiting).toMatchObject({ reason: 'consent_pending' });
  });
});
