/** Overrides over every transport, for clients and backends of both eras. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { eras } from '../harness/eras.ts';
import { call, named, ways } from '../policy/setup.ts';
import { find, list, ofFirst, openOverridden } from './setup.ts';

const cases = eras.flatMap((era) => ways.map((way) => ({ ...way, era })));

describe.each(cases)('a client over $name, in front of $era backends', ({ name, enter, where, era }) => {
  it(
    'gets lists under their overrides',
    verifies('gateway:overrides:lists', 'gateway:overrides:arguments'),
    async () => {
      const client = await enter(await openOverridden({ era }));
      const tools = ofFirst(where, (await client.ask(list())).result.tools);
      expect(tools.map((tool) => tool.name)).toEqual([named(where, 'lookup'), named(where, 'other')]);
      const { properties } = find.inputSchema;
      const { title, annotations, ...oldest } = find;
      // The revision of HTTP+SSE has no titles and no annotations.
      const titled = { title: 'Look up', annotations: { ...annotations, title: 'Look up' } };
      expect(tools[0]).toEqual({
        ...oldest,
        ...(!name.startsWith('HTTP+SSE') && titled),
        name: named(where, 'lookup'),
        description: 'Looks things up in Europe',
        inputSchema: {
          ...find.inputSchema,
          properties: { text: properties.text, limit: { ...properties.limit, default: 10 } },
          required: ['text'],
        },
      });
      const prompts = ofFirst(where, (await client.ask(list('prompts/list'))).result.prompts);
      expect(prompts).toEqual([
        { name: named(where, 'welcome'), description: 'Says hello', arguments: [{ name: 'who' }] },
      ]);
    },
  );

  it(
    'calls by the new names, with the final arguments',
    verifies('gateway:overrides:names', 'gateway:overrides:arguments', 'gateway:overrides:refused-argument'),
    async () => {
      const house = await openOverridden({ era });
      const client = await enter(house);
      const ask = (tool: string, args?: object) => client.ask(call(named(where, tool), args));
      expect((await ask('lookup', { text: 'a' })).result.content[0].text).toBe('find');
      expect((await ask('lookup', { limit: 3, text: 'a' })).result).toBeDefined();
      expect(house.a.of('tools/call').map(({ message }) => message.params.arguments)).toEqual([
        { text: 'a', region: 'eu', limit: 10 },
        { limit: 3, text: 'a', region: 'eu' },
      ]);
      house.forget();
      for (const region of ['us', 'eu'])
        expect((await ask('lookup', { text: 'a', region })).error).toMatchObject({
          code: -32602,
          data: { reason: 'fixed_argument', argument: 'region' },
        });
      for (const tool of ['find', 'purge', 'Purge', 'FIND'])
        expect((await ask(tool)).error).toMatchObject({
          code: -32602,
          message: `Unknown tool: ${named(where, tool)}`,
          data: { reason: 'invalid_params' },
        });
      expect(house.a.of('tools/call')).toEqual([]);
      expect((await ask('other', {})).result.content[0].text).toBe('other');
    },
  );

  it('gets and completes prompts by the new names', verifies('gateway:overrides:names'), async () => {
    const client = await enter(await openOverridden({ era }));
    const get = (prompt: string) => ({
      jsonrpc: '2.0',
      id: 1,
      method: 'prompts/get',
      params: { name: named(where, prompt) },
    });
    expect((await client.ask(get('welcome'))).result.description).toBe('greet');
    expect((await client.ask(get('greet'))).error.message).toBe(`Unknown prompt: ${named(where, 'greet')}`);
    const ref = { type: 'ref/prompt', name: named(where, 'welcome') };
    const params = { ref, argument: { name: 'who', value: '' } };
    const completed = await client.ask({ jsonrpc: '2.0', id: 1, method: 'completion/complete', params });
    expect(completed.result.completion.values).toEqual(['greet']);
  });
});
