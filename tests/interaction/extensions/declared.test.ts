/** Extensions that both sides declare: what the gateway carries reaches the other side, and nothing else does. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { enter, openMarket } from '../catalog/setup.ts';
import { openShop, tool } from '../catalog/shop.ts';
import type { Json } from '../harness/client.ts';
import { eras } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';

const ui = 'io.modelcontextprotocol/ui';
const tasks = 'io.modelcontextprotocol/tasks';
const settings = { mimeTypes: ['text/html;profile=mcp-app'], more: [1] };
const strange: Json = JSON.parse('{"__proto__":{"x":1},"constructor":{},"":{},"a/b c":{},"com.example/thing":{}}');
const declared = { [ui]: settings, [tasks]: {}, ...strange, 'com.example/odd': true };
const key = 'io.modelcontextprotocol/clientCapabilities';

/** What the backend was told of the client's extensions with the call. */
const told = ({ message }: Json) => message.params._meta?.[key].extensions ?? message.params.capabilities?.extensions;

describe.each(eras)('for a %s client', (era) => {
  describe.each(eras)('at a %s backend', (backendEra) => {
    const open = async (config: object = {}) => {
      const capabilities = { tools: {}, extensions: { ...declared, [ui]: {} } };
      const shop = await openShop(backendEra, 'a', { capabilities, tools: [tool('t')] });
      const other = await openShop(backendEra, 'b', { capabilities: { tools: {} }, tools: [tool('t')] });
      const backends = { a: { url: shop.backend.url }, b: { url: other.backend.url } };
      return { shop, gateway: await startGateway({ backends, ...config }) };
    };
    /** The request that has told the backend of its client: the call itself, or the one that opened its session. */
    const telling = backendEra === 'modern' ? 'tools/call' : 'initialize';

    it.each([undefined, 'a'])(
      'only known extensions pass, both ways (endpoint of %s)',
      verifies(
        'gateway:extensions:carried',
        'extensions:client:capability-ad:gates-server-behaviour',
        'extensions:client:capability-ad:legacy-omits-claimed',
      ),
      async (backend) => {
        const { shop, gateway } = await open();
        const client = await enter(era, gateway.url(backend), { capabilities: { extensions: declared } });
        // The gateway knows tasks, where both sides are modern.
        const withTasks = era === 'modern' && backendEra === 'modern' && { [tasks]: {} };
        expect(client.greeting.capabilities.extensions).toEqual({ [ui]: {}, ...withTasks });
        await client.ask('tools/call', { name: backend === undefined ? 'a__t' : 't', arguments: {} });
        expect(told(shop.backend.of(telling).at(-1) as Json)).toEqual({ [ui]: settings, ...withTasks });
        const leftOut = gateway.log.filter(({ text }) => text.startsWith('an extension of a backend was left out'));
        expect(leftOut.map(({ facts }) => facts.extension)).toContain('com.example/thing');
        expect(new Set(leftOut.map(({ facts }) => facts.extension)).size).toBe(leftOut.length);
      },
    );

    it(
      'an extension passes as data where the config says so, and a known one is left out where it is denied',
      verifies('gateway:extensions:carried'),
      async () => {
        const extensions = { 'com.example/thing': 'pass', [ui]: 'deny', [tasks]: 'deny' };
        const { shop, gateway } = await open({ extensions });
        const client = await enter(era, gateway.url('a'), { capabilities: { extensions: declared } });
        expect(client.greeting.capabilities.extensions).toEqual({ 'com.example/thing': {} });
        await client.ask('tools/call', { name: 't', arguments: {} });
        expect(told(shop.backend.of(telling).at(-1) as Json)).toEqual({ 'com.example/thing': {} });
        const { error } = await client.ask('thing/get', { uri: 'x:y' });
        expect(error.code).toBe(-32601);
        expect(shop.count('thing/get')).toBe(0);
      },
    );
  });

  it('an endpoint decides before the file', verifies('gateway:extensions:carried'), async () => {
    const capabilities = { tools: {}, extensions: { [ui]: {}, 'com.example/thing': {} } };
    const shop = await openShop('modern', 'a', { capabilities, tools: [tool('t')] });
    const gateway = await startGateway({
      backends: { a: { url: shop.backend.url } },
      extensions: { [ui]: 'deny', 'com.example/thing': 'pass' },
      endpoints: [{ path: '/one' }, { path: '/two', extensions: { [ui]: 'pass', 'com.example/thing': 'deny' } }],
    });
    const at = async (path: string) => (await enter(era, `${gateway.origin}${path}`)).greeting.capabilities.extensions;
    expect(await at('/one')).toEqual({ 'com.example/thing': {} });
    expect(await at('/two')).toEqual({ [ui]: {} });
  });

  it(
    'a merged endpoint promises only the settings that every backend holds',
    verifies('gateway:extensions:carried'),
    async () => {
      const offering = (own: object) => ({
        capabilities: { tools: {}, extensions: { [ui]: own } },
        tools: [tool('t')],
      });
      const shops = [
        await openShop('modern', 'a', offering({ mimeTypes: ['x', 'y'], only: true, list: true })),
        await openShop('legacy', 'b', offering({ mimeTypes: ['y', 'z'], list: true })),
      ];
      const { greeting } = await enter(era, (await openMarket(shops)).url());
      expect(greeting.capabilities.extensions).toEqual({ [ui]: { mimeTypes: ['y'], list: true } });
    },
  );
});
