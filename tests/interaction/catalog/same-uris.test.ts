/**
 * Backends that have the same: everything of each of them can be reached, and is told under the address that it was
 * asked for.
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { request } from '../harness/behind.ts';
import { until } from '../harness/client.ts';
import { eras, initialize } from '../harness/eras.ts';
import type { Turn } from '../harness/http-backend.ts';
import { configFile, StdioClient } from '../harness/program.ts';
import { SseClient } from '../harness/sse-client.ts';
import { legacyProcess } from '../harness/stdio-backend.ts';
import { enter, enterLegacy, heard, namesOf, openMarket, signature } from './setup.ts';
import { openShop, prompt, resource, template, tool } from './shop.ts';

const uri = 'note://shared';
const links = [uri, 'note://m-only', 'note://unlisted'];

async function twins() {
  const goods = {
    tools: [tool('t')],
    prompts: [prompt('p')],
    templates: [template('file://{path}')],
    script: {
      'tools/call': (turn: Turn) => {
        const content = [
          ...links.map((one) => ({ type: 'resource_link', name: 'n', uri: one, 'x-odd': 1 })),
          { type: 'resource', resource: { uri, text: 'embedded' } },
        ];
        turn.result({ resultType: 'complete', content });
      },
    },
  };
  const shops = [
    await openShop('modern', 'm', { ...goods, resources: [resource(uri), resource('note://m-only')] }),
    await openShop('legacy', 'l', { ...goods, resources: [resource(uri)], script: {} }),
    await openShop('modern', 'bare', { tools: [tool('t')], capabilities: { tools: {} } }),
  ];
  return { m: shops[0]!, l: shops[1]!, gateway: await openMarket(shops) };
}

describe.each(eras)('a %s client', (era) => {
  it('uses the tools, prompts and completions of each', verifies('gateway:catalog:twins'), async () => {
    const { gateway } = await twins();
    const guest = await enter(era, gateway.url());
    expect(namesOf(await guest.all('tools/list'))).toEqual(['m__t', 'l__t', 'bare__t']);
    expect(signature(await guest.ask('tools/call', { name: 'l__t' }))).toMatch(/^l: /);
    expect(signature(await guest.ask('tools/call', { name: 'bare__t' }))).toMatch(/^bare: /);
    for (const shop of ['m', 'l']) {
      expect(signature(await guest.ask('prompts/get', { name: `${shop}__p` }))).toMatch(new RegExp(`^${shop}: "p"`));
      const ofPrompt = { ref: { type: 'ref/prompt', name: `${shop}__p` }, argument: { name: 'a', value: '' } };
      expect(signature(await guest.ask('completion/complete', ofPrompt))).toMatch(new RegExp(`^${shop}: "p"`));
      const address = `bascule:${shop}/file://{path}`;
      const ofTemplate = { ref: { type: 'ref/resource', uri: address }, argument: { name: 'path', value: '' } };
      expect(signature(await guest.ask('completion/complete', ofTemplate))).toMatch(
        new RegExp(`^${shop}: "file://{path}"`),
      );
    }
  });

  it(
    'reads resources with the same URI under distinct URIs, and all others under their own',
    verifies('gateway:catalog:twins'),
    async () => {
      const { gateway } = await twins();
      const guest = await enter(era, gateway.url());
      expect(namesOf(await guest.all('resources/list'))).toEqual([
        'bascule:m/note://shared',
        'note://m-only',
        'bascule:l/note://shared',
      ]);
      for (const shop of ['m', 'l']) {
        const address = `bascule:${shop}/${uri}`;
        const answer = await guest.ask('resources/read', { uri: address });
        expect(signature(answer)).toMatch(new RegExp(`^${shop}: "${uri}"`));
        expect(answer.result.contents[0].uri).toBe(address);
      }
      const plain = await guest.ask('resources/read', { uri: 'note://m-only' });
      expect(plain.result.contents[0]).toMatchObject({ uri: 'note://m-only', text: expect.stringMatching(/^m: /) });
      const { error } = await guest.ask('resources/read', { uri });
      expect(error).toMatchObject({
        code: -32602,
        data: { reason: 'resource_ambiguous', uris: [`bascule:m/${uri}`, `bascule:l/${uri}`] },
      });
    },
  );

  it('fills in the templates of each', verifies('gateway:catalog:twins'), async () => {
    const { gateway } = await twins();
    const guest = await enter(era, gateway.url());
    const templates = namesOf(await guest.all('resources/templates/list'));
    expect(templates).toEqual(['bascule:m/file://{path}', 'bascule:l/file://{path}']);
    for (const [index, shop] of ['m', 'l'].entries()) {
      const address = templates[index]?.replace('{path}', 'a') ?? '';
      const answer = await guest.ask('resources/read', { uri: address });
      expect(signature(answer)).toMatch(new RegExp(`^${shop}: "file://a"`));
      expect(answer.result.contents[0].uri).toBe(address);
    }
  });

  it('can read every resource that a tool points to', verifies('gateway:catalog:links'), async () => {
    const { gateway } = await twins();
    const guest = await enter(era, gateway.url());
    for (const known of [false, true]) {
      if (known) await guest.all('resources/list');
      const { result } = await guest.ask('tools/call', { name: 'm__t' });
      const given = result.content.map(
        (block: { uri?: string; resource?: { uri: string } }) => block.uri ?? block.resource?.uri,
      );
      for (const [index, link] of given.entries()) {
        const read = await guest.ask('resources/read', { uri: link });
        expect(signature(read)).toContain(`m: "${links[index] ?? uri}"`);
      }
      expect(result.content[0]['x-odd']).toBe(1);
      // What can only be meant in one way stays as it is, once that is known.
      if (known) expect(given[1]).toBe('note://m-only');
    }
  });

  it(
    'gets updates under the URI that it subscribed to, and no others',
    verifies('gateway:catalog:twins', 'gateway:catalog:subscriptions'),
    async () => {
      const { gateway, m, l } = await twins();
      const guest = await enter(era, gateway.url());
      await guest.all('resources/list');
      const wanted = [`bascule:l/${uri}`, 'note://m-only'];
      const stream = await guest.listen({ resourceSubscriptions: wanted });
      await l.updated(uri);
      await m.updated('note://m-only');
      const updated = 'notifications/resources/updated';
      for (const address of wanted)
        await stream.message(({ method, params }) => method === updated && params.uri === address);
      expect(m.subscribers(uri)).toBe(0);
      expect(
        heard(stream, updated)
          .map(({ params }) => params.uri)
          .sort(),
      ).toEqual([...wanted].sort());
    },
  );

  it('learns that no backend has a resource', verifies('gateway:catalog:unknown-resource'), async () => {
    const { gateway } = await twins();
    const { error } = await (await enter(era, gateway.url())).ask('resources/read', { uri: 'other://x' });
    expect(error).toMatchObject({ code: era === 'legacy' ? -32002 : -32602, data: { uri: 'other://x' } });
  });
});

describe('an update that no client subscribed to', verifies('gateway:catalog:unasked-updates'), () => {
  const updated = 'notifications/resources/updated';
  const told = ['note://shared', 'note://l-only', 'note://unlisted'];
  const expected = ['bascule:l/note://shared', 'note://l-only', 'bascule:l/note://unlisted'];

  async function backends() {
    const m = await openShop('modern', 'm', { resources: [resource(uri)], ttlMs: 600_000 });
    const l = await openShop('legacy', 'l', { resources: [resource(uri), resource('note://l-only')] });
    return { m, l };
  }

  it('reaches a legacy session under an address that leads back to its backend', async () => {
    const { m, l } = await backends();
    const guest = await enterLegacy((await openMarket([m, l])).url());
    await guest.all('resources/list');
    await guest.all('resources/templates/list');
    const stream = await guest.listen({});
    const standing = await l.backend.standing();
    for (const one of told) standing.event({ jsonrpc: '2.0', method: updated, params: { uri: one } });
    await until(() => heard(stream, updated).length === told.length, 'all are heard');
    expect(heard(stream, updated).map(({ params }) => params.uri)).toEqual(expected);
  });

  it('reaches a client over HTTP+SSE under an address that leads back to its backend', async () => {
    const { m, l } = await backends();
    const client = await SseClient.connect(`${(await openMarket([m, l])).origin}/sse`);
    for (const method of ['resources/list', 'resources/templates/list']) await client.ask(request(method, method, {}));
    const standing = await l.backend.standing();
    for (const one of told) standing.event({ jsonrpc: '2.0', method: updated, params: { uri: one } });
    const heardHere = () => client.heard.filter(({ method }) => method === updated);
    await until(() => heardHere().length === told.length, 'all are heard');
    expect(heardHere().map(({ params }) => params.uri)).toEqual(expected);
  });

  it('reaches a client over stdio under an address that leads back to its backend', async () => {
    const { m } = await backends();
    const child = await legacyProcess({
      'resources/list': (turn) => turn.result({ resources: [resource(uri), resource('note://l-only')] }),
      'resources/templates/list': (turn) => turn.result({ resourceTemplates: [] }),
      'resources/read': (turn) => turn.result({ contents: [] }),
    });
    const config = { m: { url: m.backend.url }, l: { command: child.command, args: child.args } };
    const client = new StdioClient(configFile({ backends: config }));
    await client.ask(initialize());
    client.say({ jsonrpc: '2.0', method: 'notifications/initialized' });
    // From its first call on the session has a process of its own, and its lists come from there.
    await client.ask(request('read', 'resources/read', { uri: 'bascule:l/note://l-only' }));
    const { process } = await child.arrival('resources/read');
    for (const method of ['resources/list', 'resources/templates/list']) await client.ask(request(method, method, {}));
    for (const one of told) process.say({ jsonrpc: '2.0', method: updated, params: { uri: one } });
    const heardHere = () => client.heard.filter(({ method }) => method === updated);
    await until(() => heardHere().length === told.length, 'all are heard');
    expect(heardHere().map(({ params }) => params.uri)).toEqual(expected);
  });
});

it.each(eras)(
  'where one backend alone has resources, no link of a result is touched for a %s client',
  verifies('gateway:catalog:links'),
  async (era) => {
    const text = '{ "content":[{"type":"resource_link","uri":"note:\\/\\/x","name":"n","n":1.0}] }';
    const shops = [
      await openShop(era, 'm', {
        tools: [tool('t')],
        resources: [resource('note://x')],
        script: {
          'tools/call': (turn) =>
            turn.json(`{"jsonrpc":"2.0","id":${JSON.stringify(turn.message.id)},"result":${text}}`),
        },
      }),
      await openShop('modern', 'n', { tools: [tool('t')], capabilities: { tools: {} } }),
    ];
    const guest = await enter(era, (await openMarket(shops)).url());
    const { body } = await guest.send('tools/call', { name: 'm__t' });
    expect(body).toContain('"content":[{"type":"resource_link","uri":"note:\\/\\/x","name":"n","n":1.0}]');
  },
);
