/** Who may come in, when that changes while they are here. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { openShop } from '../catalog/shop.ts';
import { open, send, until } from '../harness/client.ts';
import { bearer, keyRing } from '../harness/credentials.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';

describe('a change of identity', verifies('gateway:reload:identity'), () => {
  it('is decided by the new keys at once, and streams of the old ones end', async () => {
    const [old, next] = [keyRing(), keyRing()];
    const [gone, good] = [bearer(old.make('gone')), bearer(next.make('good'))];
    const shop = await openShop('modern', 'a');
    const configOf = (file: string) => ({ backends: { a: { url: shop.backend.url } }, identity: { keys: { file } } });
    const gateway = await startGateway(configOf(old.path));
    const ping = modern({ method: 'tools/list' });
    const asks = async (headers: object) =>
      (await send(gateway.url(), { ...ping, headers: { ...ping.headers, ...headers } })).status;
    const client = await connectLegacy(gateway.url(), {}, gone);
    const stream = await client.listen();
    const listen = modern({ method: 'subscriptions/listen', params: { notifications: { toolsListChanged: true } } });
    const subscription = await open(gateway.url(), { ...listen, headers: { ...listen.headers, ...gone } });
    await subscription.message(({ method }) => method === 'notifications/subscriptions/acknowledged');
    expect([await asks(gone), await asks(good)]).toEqual([200, 401]);
    gateway.reload(configOf(next.path));
    expect([await asks(gone), await asks(good)]).toEqual([401, 200]);
    await Promise.all([stream.ended, subscription.ended]);
    expect((await client.post({ jsonrpc: '2.0', id: 1, method: 'ping' })).status).toBe(401);
  });

  it('requires credentials of clients that needed none before, and ends their streams', async () => {
    const ring = keyRing();
    const shop = await openShop('legacy', 'a');
    const backends = { a: { url: shop.backend.url } };
    const gateway = await startGateway({ backends });
    const client = await connectLegacy(gateway.url());
    const stream = await client.listen();
    gateway.reload({ backends, identity: { keys: { file: ring.path } } });
    await stream.ended;
    expect((await client.post({ jsonrpc: '2.0', id: 1, method: 'ping' })).status).toBe(401);
  });

  it('is reported in the style of the new config', async () => {
    const ring = keyRing();
    const shop = await openShop('modern', 'a');
    const configOf = (style: string) => ({
      backends: { a: { url: shop.backend.url } },
      identity: { keys: { file: ring.path }, style },
    });
    const gateway = await startGateway(configOf('challenge'));
    const asks = async () => (await send(gateway.url(), modern({ method: 'tools/list' }))).status;
    expect(await asks()).toBe(401);
    gateway.reload(configOf('envelope'));
    expect(await asks()).toBe(200);
  });

  it('does not affect clients that are still accepted', async () => {
    const ring = keyRing();
    const credentials = bearer(ring.make('good'));
    const shop = await openShop('legacy', 'a');
    const configOf = (more: object) => ({
      backends: { a: { url: shop.backend.url } },
      identity: { keys: { file: ring.path }, ...more },
    });
    const gateway = await startGateway(configOf({}));
    const client = await connectLegacy(gateway.url(), {}, credentials);
    const stream = await client.listen();
    gateway.reload(configOf({ style: 'envelope' }));
    await until(() => gateway.assembled.config.generation === 2, 'it was reloaded');
    expect((await client.post({ jsonrpc: '2.0', id: 1, method: 'ping' })).status).toBe(200);
    expect(stream.over).toBe(false);
  });
});
