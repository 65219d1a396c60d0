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
  await expect(provider.refresh('a token', async () => undefined)).rejects.toMatchObject({ refused: true });
  expect(signals).toEqual([expect.any(AbortSignal), signals[0]]);
  expect(signals[1]).toBe(signals[0]);
});

it(
  'the next refresh token is handed on before the ID token is verified',
  verifies('gateway:authserver:company'),
  async () => {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const second = Math.floor(Date.now() / 1000);
    const claims = { iss: issuer, sub: 'ada', aud: 'bascule', iat: second, exp: second + 60 };
    const idToken = `${part({ alg: 'RS256' })}.${part(claims)}.${part({})}`;
    const answers: Readonly<Record<string, () => Response>> = {
      '/.well-known/openid-configuration': () =>
        Response.json({ issuer, token_endpoint: `${issuer}/token`, jwks_uri: `${issuer}/jwks` }),
      '/token': () =>
        Response.json({ access_token: 'a', token_type: 'bearer', refresh_token: 'second', id_token: idToken }),
    };
    const fetch = async (url: string) => answers[new URL(url).pathname]?.() ?? new Response('', { status: 503 });
    const provider = new OpenIdProvider({ issuer, clientId: 'bascule' }, { fetch, now: () => 0 });
    const rotated: string[] = [];
    const keep = async (token: string) => void rotated.push(token);
    await expect(provider.refresh('first', keep)).rejects.toMatchObject({ refused: false });
    expect(rotated).toEqual(['second']);
  },
);
