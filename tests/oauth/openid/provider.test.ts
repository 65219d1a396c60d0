/** Our client at an OpenID provider: how long a step takes at most. */
import { expect, it } from 'vitest';
import { OpenIdProvider } from '../../../src/oauth/openid/provider.ts';
import { verifies } from '../../requirements/verifies.ts';

const issuer = 'https://idp.example';

it('all requests of one refresh share one time limit', verifies('gateway:authserver:company'), async () => {
  const signals: unknown[] = [];
  const fetch = async (url: string, init: object) => {
    signals.push('signal' in init ? init.signal : undefined);
    return url.endsWith('/token')
      ? Response.json({ error: 'invalid_grant' }, { status: 400 })
      : Response.json({ issuer, token_endpoint: `${issuer}/token` });
  };
  const provider = new OpenIdProvider({ issuer, clientId: 'bascule' }, { fetch, now: () => 0 });
  await expect(provider.refresh('a token')).rejects.toMatchObject({ refused: true });
  expect(signals).toEqual([expect.any(AbortSignal), signals[0]]);
  expect(signals[1]).toBe(signals[0]);
});
