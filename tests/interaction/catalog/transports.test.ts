/**
 * Other ways to an endpoint with many backends: HTTP+SSE, messages without a session, backends that speak both eras.
 */
import { expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { request } from '../harness/behind.ts';
import { send, until } from '../harness/client.ts';
import { eras } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { agreed, modernBackend } from '../harness/http-backend.ts';
import { SseClient } from '../harness/sse-client.ts';
import { enter, namesOf, openMarket, signature } from './setup.ts';
import { openShop, tool } from './shop.ts';

const goods = { tools: [tool('t'), tool('u')], ttlMs: 600_000 };

it(
  'a client of 2024-11-05 gets the items of all backends, and all list changes',
  verifies('gateway:catalog:merge', 'gateway:catalog:subscriptions'),
  async () => {
    const shops = [await openShop('modern', 'm', goods), await openShop('legacy', 'l', goods)];
    const { origin } = await openMarket(shops);
    const client = await SseClient.connect(`${origin}/sse`);
    const { result } = await client.ask(request(1, 'tools/list'));
    expect(namesOf(result.tools)).toEqual(['m__t', 'm__u', 'l__t', 'l__u']);
    for (const [index, { name }] of shops.entries()) {
      const answer = await client.ask(request(index + 2, 'tools/call', { name: `${name}__u`, arguments: {} }));
      expect(signature(answer)).toMatch(new RegExp(`^${name}: `));
    }
    const told = () => client.heard.filter(({ method }) => method === 'notifications/tools/list_changed').length;
    for (const [index, shop] of shops.entries()) {
      await shop.changed('tools');
      await until(() => told() === index + 1, `${shop.name} is heard`);
    }
  },
);

it(
  'a client without a session is served page by page, without a new read of the lists each time',
  verifies('gateway:catalog:pages', 'gateway:catalog:answers-cached'),
  async () => {
    const shops = [await openShop('modern', 'm', goods), await openShop('legacy', 'l', goods)];
    const gateway = await openMarket(shops, { endpoint: { sessions: 'optional' }, limits: { listPageEntries: 3 } });
    const ask = async (id: number, method: string, params: object = {}) =>
      (
        await send(gateway.url(), {
          body: request(id, method, params),
          headers: { 'mcp-protocol-version': '2025-11-25' },
        })
      ).json();
    for (const _ of [1, 2]) {
      const first = await ask(1, 'tools/list');
      expect(namesOf(first.result.tools)).toEqual(['m__t', 'm__u', 'l__t']);
      const second = await ask(2, 'tools/list', { cursor: first.result.nextCursor });
      expect(namesOf(second.result.tools)).toEqual(['l__u']);
    }
    expect(shops.map((shop) => shop.count('tools/list'))).toEqual([1, 1]);
    for (const { name } of shops) {
      expect(signature(await ask(3, 'tools/call', { name: `${name}__t` }))).toMatch(new RegExp(`^${name}: `));
    }
  },
);

it.each(eras)(
  'a backend of both eras is called in the era of a %s client',
  verifies('gateway:catalog:merge'),
  async (era) => {
    const said: string[] = [];
    const dual = await modernBackend({
      initialize: (turn) =>
        turn.json({ jsonrpc: '2.0', id: turn.message.id, result: agreed(turn.message) }, 200, {
          'mcp-session-id': 'both',
        }),
      'tools/list': (turn) => {
        said.push(turn.received.headers['mcp-session-id'] === 'both' ? 'legacy' : 'modern');
        turn.result({ resultType: 'complete', tools: [tool('t')], ttlMs: 600_000, cacheScope: 'public' });
      },
    });
    const shop = await openShop('modern', 'm', goods);
    const gateway = await startGateway({ backends: { dual: { url: dual.url }, m: { url: shop.backend.url } } });
    const guest = await enter(era, gateway.url());
    expect(namesOf(await guest.all('tools/list'))).toEqual(['dual__t', 'm__t', 'm__u']);
    await guest.all('tools/list');
    expect(said).toEqual([era]);
  },
);
