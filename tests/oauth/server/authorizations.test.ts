/** What a stranger can make the gateway keep by asking for a token. */
import { describe, expect, it } from 'vitest';
import { interactionCollection } from '../../../src/oauth/server/adapter.ts';
import { authServerLimits as limits } from '../../../src/oauth/server/limits.ts';
import { verifies } from '../../requirements/verifies.ts';
import { type Served, serve } from './served.ts';

const redirect = 'http://127.0.0.1:7777/callback';

async function asker({ origin }: Served) {
  const registered = await fetch(`${origin}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris: [redirect], token_endpoint_auth_method: 'none' }),
  });
  const { client_id } = (await registered.json()) as { readonly client_id: string };
  return async (state = 's') => {
    const query = new URLSearchParams({
      response_type: 'code',
      client_id,
      redirect_uri: redirect,
      state,
      code_challenge: 'x'.repeat(43),
      code_challenge_method: 'S256',
    });
    const response = await fetch(`${origin}/oauth/authorize?${query}`, { redirect: 'manual' });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
}

describe('an authorization request', verifies('gateway:authserver:bounded'), () => {
  it('is bounded in size', async () => {
    const served = await serve();
    const ask = await asker(served);
    expect((await ask('x'.repeat(limits.authorizeChars))).status).toBe(413);
    expect((await ask('x'.repeat(limits.authorizeChars / 2))).status).toBe(303);
    expect(await served.records.keys(interactionCollection, '', 10)).toHaveLength(1);
  });

  it('is bounded in number for one address', async () => {
    const served = await serve();
    const ask = await asker(served);
    for (let at = 0; at < limits.authorizationsPerAddress; at += 1) expect((await ask()).status).toBe(303);
    const refused = await ask();
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(refused.text).toContain('Too many open sign-ins');
    const kept = await served.records.keys(interactionCollection, '', 1_000);
    expect(kept).toHaveLength(limits.authorizationsPerAddress);
  });

  it('replaces another one at the limit of open ones', async () => {
    const served = await serve();
    const ask = await asker(served);
    const open = (at: number) => served.records.put(interactionCollection, `open-${at}`, '{}', Date.now() + 3_600_000);
    for (let at = 1; at < limits.openInteractions; at += 1) await open(at);
    expect((await ask()).status).toBe(303);
    const [first] = await served.records.keys(`${interactionCollection}:held`, '', 10);
    expect((await ask()).status).toBe(303);
    expect(await served.records.keys(interactionCollection, '', 10_000)).toHaveLength(limits.openInteractions);
    expect(await served.records.keys(`${interactionCollection}:held`, '', 10)).not.toContain(first);
  });
});
