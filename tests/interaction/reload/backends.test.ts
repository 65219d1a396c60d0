/** Backends that come and go while clients are there. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { enter, eventually, heard, namesOf, signature } from '../catalog/setup.ts';
import { openShop, type Shop, tool } from '../catalog/shop.ts';
import { Held, text } from '../harness/behind.ts';
import { type Answer, send, until } from '../harness/client.ts';
import { connectLegacy, eras, initialize, modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';

const configOf = (shops: readonly Shop[], more: object = {}) => ({
  backends: Object.fromEntries(shops.map(({ name, backend }) => [name, { url: backend.url }])),
  ...more,
});
const changed = 'notifications/tools/list_changed';
const told = (stream: Parameters<typeof heard>[0]) => heard(stream, changed).length;

describe.each(eras)('a %s client', verifies('gateway:reload:backends'), (era) => {
  describe.each(eras)('and %s backends', (backendEra) => {
    const shop = (name: string, tools: string[]) =>
      openShop(backendEra, name, { tools: tools.map((one) => tool(one)), ttlMs: 60_000, cacheScope: 'public' });

    it('is notified of an added backend, lists its tools and calls them', async () => {
      const [a, b, c] = await Promise.all([shop('a', ['one']), shop('b', ['two']), shop('c', ['three'])]);
      const gateway = await startGateway(configOf([a, b]));
      const guest = await enter(era, gateway.url());
      expect(namesOf(await guest.all('tools/list'))).toEqual(['a__one', 'b__two']);
      const stream = await guest.listen({ toolsListChanged: true });
      gateway.reload(configOf([a, b, c]));
      await until(() => told(stream) > 0, 'the change was told');
      await eventually(async () => namesOf(await guest.all('tools/list')).includes('c__three'));
      expect(signature(await guest.ask('tools/call', { name: 'c__three', arguments: {} }))).toMatch(/^c: /);
      expect(signature(await guest.ask('tools/call', { name: 'a__one', arguments: {} }))).toMatch(/^a: /);
    });

    it('is notified of a removed backend, and cannot call it any more', async () => {
      const [a, b, c] = await Promise.all([shop('a', ['one']), shop('b', ['two']), shop('c', ['three'])]);
      const gateway = await startGateway(configOf([a, b, c]));
      const guest = await enter(era, gateway.url());
      expect(await guest.all('tools/list')).toHaveLength(3);
      const stream = await guest.listen({ toolsListChanged: true });
      gateway.reload(configOf([a, b]));
      await until(() => told(stream) > 0, 'the change was told');
      expect(namesOf(await guest.all('tools/list'))).toEqual(['a__one', 'b__two']);
      const before = c.count('tools/call');
      const { error } = await guest.ask('tools/call', { name: 'c__three', arguments: {} });
      expect(error.message).toBe('Unknown tool: c__three');
      expect(c.count('tools/call')).toBe(before);
    });

    it('continues with a backend that was replaced under the same name', async () => {
      const [a, b] = await Promise.all([shop('a', ['one']), shop('b', ['two'])]);
      const other = await shop('b', ['zwei']);
      const gateway = await startGateway(configOf([a, b]));
      const guest = await enter(era, gateway.url());
      expect(namesOf(await guest.all('tools/list'))).toEqual(['a__one', 'b__two']);
      const stream = await guest.listen({ toolsListChanged: true });
      gateway.reload(configOf([a, other]));
      await until(() => told(stream) > 0, 'the change was told');
      await eventually(async () => namesOf(await guest.all('tools/list')).includes('b__zwei'));
      expect(signature(await guest.ask('tools/call', { name: 'b__zwei', arguments: {} }))).toMatch(/^b: \["zwei"/);
      expect(other.count('tools/call')).toBe(1);
    });

    it('of one backend learns that there are two, and of two that there is one', async () => {
      const [a, b] = await Promise.all([shop('a', ['one']), shop('b', ['two'])]);
      const gateway = await startGateway(configOf([a]));
      const guest = await enter(era, gateway.url());
      expect(namesOf(await guest.all('tools/list'))).toEqual(['one']);
      const stream = await guest.listen({ toolsListChanged: true });
      gateway.reload(configOf([a, b]));
      await until(() => told(stream) > 0, 'the change was told');
      await eventually(async () => (await guest.all('tools/list')).length === 2);
      expect(signature(await guest.ask('tools/call', { name: 'b__two', arguments: {} }))).toMatch(/^b: /);
      // A modern stream was one backend's, and ended so that its client asks again.
      if (era === 'modern') await until(() => stream.over, 'the stream has ended');
      const next = era === 'modern' ? await guest.listen({ toolsListChanged: true }) : stream;
      const before = told(next);
      gateway.reload(configOf([a]));
      await until(() => told(next) > before, 'the change was told again');
      expect(namesOf(await guest.all('tools/list'))).toEqual(['one']);
      expect(signature(await guest.ask('tools/call', { name: 'one', arguments: {} }))).toMatch(/^a: /);
    });

    it('gets the answer of a call that runs at a backend which is removed', async () => {
      const held = new Held();
      const [a, b] = await Promise.all([shop('a', ['one']), shop('b', ['two'])]);
      const slow = await openShop(backendEra, 'slow', { tools: [tool('wait')], script: { 'tools/call': held.take } });
      const gateway = await startGateway(configOf([a, b, slow]));
      const guest = await enter(era, gateway.url());
      const answer = guest.ask('tools/call', { name: 'slow__wait', arguments: {} });
      const turn = await held.nth(1);
      gateway.reload(configOf([a, b]));
      turn.result({ resultType: 'complete', ...text('done') });
      expect((await answer).result.content).toEqual(text('done').content);
    });

    it('gets an error in time for an endless call at a removed backend', async () => {
      const held = new Held();
      const [a, b] = await Promise.all([shop('a', ['one']), shop('b', ['two'])]);
      const slow = await openShop(backendEra, 'slow', { tools: [tool('wait')], script: { 'tools/call': held.take } });
      const limits = { drainMs: 50 };
      const gateway = await startGateway(configOf([a, b, slow], { limits }));
      const guest = await enter(era, gateway.url());
      const answer = guest.ask('tools/call', { name: 'slow__wait', arguments: {} });
      await held.nth(1);
      gateway.reload(configOf([a, b], { limits }));
      expect((await answer).error.data.reason).toBe('backend_unavailable');
    });
  });
});

describe('a backend that is replaced while it is being opened', verifies('gateway:reload:backends'), () => {
  const opening: readonly { readonly name: string; readonly held: string; send(url: string): Promise<Answer> }[] = [
    { name: 'initialize', held: 'initialize', send: (url) => send(url, { body: initialize() }) },
    {
      name: 'server/discover',
      held: 'server/discover',
      send: (url) => send(url, modern({ method: 'server/discover' })),
    },
    {
      name: 'a call',
      held: 'server/discover',
      send: (url) => send(url, modern({ method: 'tools/call', params: { name: 't', arguments: {} } })),
    },
  ];

  it.each(opening)('answers $name with backend_unavailable', async ({ held: method, send: ask }) => {
    const held = new Held();
    const other = await openShop('legacy', 'b');
    const behind = await openShop('legacy', 'b', { script: { [method]: held.take } });
    const limits = { drainMs: 50 };
    const gateway = await startGateway(configOf([behind], { limits }));
    const answer = ask(gateway.url('b'));
    await held.nth(1);
    gateway.reload(configOf([other], { limits }));
    expect((await answer).json().error.data.reason).toBe('backend_unavailable');
  });
});

describe('a session of one backend', verifies('gateway:reload:backends'), () => {
  it('ends when that is removed, and its stream with it', async () => {
    const [a, b] = await Promise.all([openShop('legacy', 'a'), openShop('legacy', 'b')]);
    const gateway = await startGateway(configOf([a, b]));
    const client = await connectLegacy(gateway.url('b'));
    const stream = await client.listen();
    gateway.reload(configOf([a]));
    await stream.ended;
    expect(stream.complete).toBe(true);
    const answer = await client.post({ jsonrpc: '2.0', id: 1, method: 'ping' });
    expect([answer.status, answer.json().error.data.reason]).toEqual([404, 'path_not_found']);
  });

  it('ends when that is another, so that its client begins anew', async () => {
    const [a, b, other] = await Promise.all(['a', 'b', 'b'].map((name) => openShop('legacy', name)));
    if (a === undefined || b === undefined || other === undefined) throw new Error('no shops');
    const gateway = await startGateway(configOf([a, b]));
    const client = await connectLegacy(gateway.url('b'));
    gateway.reload(configOf([a, other]));
    const answer = await client.post({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    expect([answer.status, answer.json().error.data.reason]).toEqual([404, 'session_not_found']);
    const again = await connectLegacy(gateway.url('b'));
    expect((await again.post({ jsonrpc: '2.0', id: 1, method: 'tools/list' })).status).toBe(200);
    expect(other.count('tools/list')).toBe(1);
  });

  it('of another backend is not touched', async () => {
    const [a, b] = await Promise.all([openShop('legacy', 'a'), openShop('legacy', 'b')]);
    const gateway = await startGateway(configOf([a, b]));
    const client = await connectLegacy(gateway.url('a'));
    const opened = a.count('initialize');
    gateway.reload(configOf([a]));
    expect((await client.post({ jsonrpc: '2.0', id: 1, method: 'tools/list' })).status).toBe(200);
    expect(a.count('initialize')).toBe(opened);
  });
});

describe('endpoints', verifies('gateway:reload:endpoints'), () => {
  it('that are added are served, and those that are removed are unknown', async () => {
    const a = await openShop('modern', 'a', { tools: [tool('one')] });
    const gateway = await startGateway(configOf([a], { endpoints: [{ path: '/old' }] }));
    const client = await connectLegacy(`${gateway.origin}/old`);
    const stream = await client.listen();
    const list = modern({ method: 'tools/list' });
    expect((await send(`${gateway.origin}/new`, list)).status).toBe(404);
    gateway.reload(configOf([a], { endpoints: [{ path: '/new' }] }));
    expect((await send(`${gateway.origin}/new`, list)).status).toBe(200);
    await stream.ended;
    const answer = await send(`${gateway.origin}/old`, list);
    expect([answer.status, answer.json().error.data.reason]).toEqual([404, 'path_not_found']);
  });

  it('that changed their protocol end the sessions that were there', async () => {
    const a = await openShop('modern', 'a', { tools: [tool('one')] });
    const { backends, ...rest } = configOf([a]);
    const ledger = { protocol: 'json-rpc', url: 'http://127.0.0.1:9/' };
    const at = (endpoint: object) => ({
      ...rest,
      backends: { ...(backends as object), ledger },
      endpoints: [{ path: '/at', ...endpoint }],
    });
    const mcp = at({ backends: ['a'] });
    const gateway = await startGateway(mcp);
    const client = await connectLegacy(`${gateway.origin}/at`);
    const stream = await client.listen();
    gateway.reload(at({ protocol: 'json-rpc', backends: ['ledger'] }));
    await stream.ended;
    gateway.reload(mcp);
    expect((await client.post({ jsonrpc: '2.0', id: 1, method: 'ping' })).json().error.data.reason).toBe(
      'session_not_found',
    );
  });

  it('have the names of the new config', async () => {
    const [a, b] = await Promise.all(
      ['a', 'b'].map((name) => openShop('modern', name, { tools: [tool(`of_${name}`)] })),
    );
    if (a === undefined || b === undefined) throw new Error('no shops');
    const at = (names: string) => configOf([a, b], { endpoints: [{ path: '/mcp', names }] });
    const gateway = await startGateway(at('always'));
    const guest = await enter('legacy', gateway.url());
    expect(namesOf(await guest.all('tools/list'))).toEqual(['a__of_a', 'b__of_b']);
    gateway.reload(at('never'));
    expect(namesOf(await guest.all('tools/list'))).toEqual(['of_a', 'of_b']);
    expect(signature(await guest.ask('tools/call', { name: 'of_b', arguments: {} }))).toMatch(/^b: /);
  });
});
