/** Tools, listed and called: an official client and server of one era, with the gateway between them. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { until } from '../harness/client.ts';
import { eras } from '../harness/eras.ts';
import { Gate } from '../harness/gate.ts';
import { launchPair, type PlainPair } from '../harness/pairs.ts';
import { audio, embeddedBlob, embeddedText, everyPage, image, link, page, text } from './samples.ts';

const capabilities = { tools: { listChanged: true } };

const schema2020 = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: { address: { $anchor: 'a', type: 'object', properties: { city: { type: 'string' } } } },
  properties: { home: { $ref: '#/$defs/address' }, tags: { type: 'array', prefixItems: [{ type: 'string' }] } },
  dependentRequired: { home: ['tags'] },
  unevaluatedProperties: false,
  additionalProperties: { type: 'integer' },
};

const tools = {
  echo: {
    name: 'echo',
    description: 'Says it again',
    inputSchema: { type: 'object', properties: { say: { type: 'string' } }, required: ['say'] },
  },
  dressed: {
    name: 'dressed',
    title: 'A tool with everything',
    description: 'Has all that a list can show',
    inputSchema: { type: 'object' },
    annotations: { title: 'Dressed', readOnlyHint: true, destructiveHint: false, idempotentHint: true },
    icons: [{ src: 'https://example.com/icon.png', mimeType: 'image/png', sizes: ['48x48'] }],
    _meta: { 'example.com/team': { name: 'blue' } },
  },
  strict: { name: 'strict', description: 'JSON Schema 2020-12', inputSchema: schema2020 },
};

/** Results by the name of the tool that gives them. */
const results: Readonly<Record<string, object>> = {
  image: { content: [image] },
  audio: { content: [audio] },
  embedded: { content: [embeddedText, embeddedBlob] },
  link: { content: [link] },
  mixed: { content: [text('one'), image, link, audio, embeddedText, text('two')] },
  structured: { content: [text('{"n":1,"of":[true,null]}')], structuredContent: { n: 1, of: [true, null] } },
  bare: { content: [], structuredContent: { alone: { n: 1.5 } } },
  broken: { content: [text('It broke')], isError: true },
};

/** Without the lists that the gateway asked for meanwhile: each replica has its own. */
const callsOf = ({ seen }: PlainPair) => seen.filter(({ method }) => method === 'tools/call');

describe.each(eras)('tools, %s', (era) => {
  let pair: PlainPair;
  const gate = new Gate();
  beforeAll(async () => {
    pair = await launchPair(
      era,
      { capabilities },
      {
        'tools/list': page('tools', Object.values(tools), 2),
        'tools/call': async ({ name, arguments: given }) => {
          if (name === 'first') await gate.opened;
          if (name === 'second') gate.open();
          return results[name] ?? { content: [text(`${name} ${JSON.stringify(given)}`)] };
        },
      },
    );
  });
  afterAll(() => pair.close());

  it('advertises the capabilities of the backend', verifies('tools:capability:declared'), async () => {
    const client = await pair.connect();
    expect(client.getServerCapabilities()).toEqual(capabilities);
  });

  it(
    'lists tools as the backend has them, page by page',
    verifies(
      'tools:list:basic',
      'tools:list:metadata',
      'tools:list:pagination',
      'tools:input-schema:json-schema-2020-12',
      'tools:input-schema:preserve-additional-properties',
      'tools:input-schema:preserve-defs',
      'tools:input-schema:preserve-schema-dialect',
    ),
    async () => {
      const client = await pair.connect();
      pair.seen.length = 0;
      const listed = await everyPage('tools', (params) => client.listTools(params));
      expect(listed).toEqual(Object.values(tools));
      expect(pair.seen.map(({ params }) => params?.cursor)).toEqual([undefined, 'from 2']);
      const called = await client.callTool({ name: 'strict', arguments: { home: { city: 'Bern' }, tags: ['a'] } });
      expect(called.content).toEqual([text('strict {"home":{"city":"Bern"},"tags":["a"]}')]);
    },
  );

  it('passes arguments on and text back', verifies('tools:call:content:text'), async () => {
    const client = await pair.connect();
    const given = { say: 'grüß dich', deep: [{ n: 1.25, none: null }] };
    pair.seen.length = 0;
    const result = await client.callTool({ name: 'echo', arguments: given });
    expect(result.content).toEqual([text(`echo ${JSON.stringify(given)}`)]);
    expect(callsOf(pair)).toMatchObject([{ params: { name: 'echo', arguments: given } }]);
  });

  for (const { tool, proves } of [
    { tool: 'image', proves: ['tools:call:content:image'] },
    { tool: 'audio', proves: ['tools:call:content:audio'] },
    { tool: 'embedded', proves: ['tools:call:content:embedded-resource'] },
    { tool: 'link', proves: ['tools:call:content:resource-link'] },
    { tool: 'mixed', proves: ['tools:call:content:mixed'] },
    { tool: 'structured', proves: ['tools:call:structured-content', 'tools:call:structured-content:text-mirror'] },
    { tool: 'bare', proves: ['tools:call:structured-content'] },
    { tool: 'broken', proves: ['tools:call:is-error'] },
  ] as const) {
    it(`passes on the result of ${tool} as it is`, verifies(...proves), async () => {
      const client = await pair.connect();
      const { _meta, ...result } = await client.callTool({ name: tool });
      expect(result).toEqual(results[tool]);
    });
  }

  it('runs concurrent calls, and returns each its own result', verifies('tools:call:concurrent'), async () => {
    const client = await pair.connect();
    pair.seen.length = 0;
    // The first one does not end before the second one runs.
    const first = client.callTool({ name: 'first', arguments: { n: 1 } });
    await until(() => callsOf(pair).length === 1, 'the first call runs');
    const second = client.callTool({ name: 'second', arguments: { n: 2 } });
    expect((await first).content).toEqual([text('first {"n":1}')]);
    expect((await second).content).toEqual([text('second {"n":2}')]);
  });
});
