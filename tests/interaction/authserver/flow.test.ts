/** From a client that knows nothing to a call that goes through. */
import { expect, it } from 'vitest';
import { challenge, claimsOf, Setting } from './setting.ts';

it('gives a token that the gateway takes', async () => {
  const setting = await Setting.launch();
  const { access, refresh, client } = await setting.tokens();
  expect(claimsOf(access)).toMatchObject({
    iss: setting.origin,
    sub: 'ada',
    aud: `${setting.origin}/mcp`,
    client_id: client.client_id,
    scope: 'mcp',
  });
  expect(await setting.enters(access)).toBe(200);
  expect(await setting.enters(access, '/servers/b/mcp')).toBe(401);
  expect(refresh).toBeTypeOf('string');
  void challenge;
});
