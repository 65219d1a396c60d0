/** What somebody without credentials can find out: nothing about which servers there are. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { send } from '../harness/client.ts';
import { bearer, keyRing } from '../harness/credentials.ts';
import { startGateway } from '../harness/gateway.ts';
import { type House, launchHouse } from './house.ts';
import { ways } from './ways.ts';

let house: House;
beforeAll(async () => {
  house = await launchHouse();
});
afterAll(() => house.close());

/** Everything that an answer tells, with the name of the server taken out. */
async function told(way: (typeof ways)[number], server: string, headers = {}): Promise<object> {
  const answer = await house.try(way, `/servers/${server}/mcp`, headers);
  const { date: _, ...rest } = answer.headers;
  const text = JSON.stringify({ status: answer.status, headers: rest, body: answer.body });
  return JSON.parse(text.replaceAll(`/${server}/`, '/x/').replace(/"content-length":"\d+"/, '"content-length":""'));
}

describe('without credentials, a server that does not exist', verifies('gateway:identity:no-names'), () => {
  it.each(ways)('is answered as one that does: $name', async (way) => {
    expect(await told(way, 'nobody')).toEqual(await told(way, 'legacy'));
    const wrong = bearer(`bsc_${'0'.repeat(12)}_${'A'.repeat(43)}`);
    expect(await told(way, 'nobody', wrong)).toEqual(await told(way, 'legacy', wrong));
    house.expectNothingPassed();
  });

  it('has the same metadata, and is 404 with credentials', async () => {
    const at = (server: string) => `${house.gateway.origin}/.well-known/oauth-protected-resource/servers/${server}/mcp`;
    const [known, unknown] = [await send(at('legacy'), { method: 'GET' }), await send(at('nobody'), { method: 'GET' })];
    expect(unknown.status).toBe(200);
    expect(unknown.body.replace('nobody', 'legacy')).toBe(known.body);
    const url = `${house.gateway.origin}/servers/nobody/mcp`;
    const answer = await send(url, {
      body: { jsonrpc: '2.0', id: 1, method: 'ping' },
      headers: bearer(house.keys.good),
    });
    expect({ status: answer.status, reason: answer.json().error.data.reason }).toEqual({
      status: 404,
      reason: 'path_not_found',
    });
  });

  it('is 404 at an open endpoint', async () => {
    const open = await startGateway({ backends: {} });
    expect((await send(`${open.origin}/servers/nobody/mcp`, { body: {} })).status).toBe(404);
  });
});

describe('/readyz', verifies('gateway:run:readiness-names'), () => {
  const backends = { one: { url: 'http://127.0.0.1:9/mcp' } };
  const look = (origin: string, headers = {}) => send(`${origin}/readyz`, { method: 'GET', headers });

  it('names backends only to authenticated callers', async () => {
    const ring = keyRing();
    const key = ring.make('carol');
    const gateway = await startGateway({ backends, identity: { keys: { file: ring.path } } });
    expect(Object.keys((await look(gateway.origin)).json())).toEqual(['status']);
    expect(Object.keys((await look(gateway.origin, bearer('guess'))).json())).toEqual(['status']);
    expect(Object.keys((await look(gateway.origin, bearer(key))).json())).toContain('backends');
  });

  it('names backends to every local caller if identity is open', async () => {
    const gateway = await startGateway({ backends });
    expect(Object.keys((await look(gateway.origin)).json())).toContain('backends');
  });

  it('names backends to no one on the network if identity is open', async () => {
    const gateway = await startGateway({ backends, listen: { host: '0.0.0.0', openToNetwork: true } });
    const local = gateway.origin.replace('0.0.0.0', '127.0.0.1');
    expect(Object.keys((await look(local)).json())).toEqual(['status']);
  });
});

describe('an address with a slash behind it', verifies('gateway:http:trailing-slash'), () => {
  it.each(['/mcp/', '/servers/legacy/mcp/', '/servers/modern/mcp/'])('%s is the same endpoint', async (path) => {
    const ping = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const stranger = await send(`${house.gateway.origin}${path}`, { body: ping });
    expect(stranger.status).toBe(401);
    const open = await startGateway({
      backends: { legacy: { url: house.legacy.url }, modern: { url: house.modern.url } },
    });
    const initialize = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
    const answer = await send(`${open.origin}${path}`, { body: { ...ping, method: 'initialize', params: initialize } });
    expect(answer.status).toBe(200);
    house.legacy.forget();
    house.modern.forget();
  });
});
