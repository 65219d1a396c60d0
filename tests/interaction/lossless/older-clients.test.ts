/** Where an older revision must not get everything, the rest arrives as it was sent all the same. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { behindLegacy, behindModern, request } from '../harness/behind.ts';
import { connectLegacy } from '../harness/eras.ts';

// Spelled as no serialiser would.
const odd = '"z":12345678901234567890,"10":1.0,"9":"\\u00e9\\/","__proto__":{"x":-0}';
const schema = `"inputSchema":{"properties":{"n":{"maximum":12345678901234567890,${odd}}},"type":"object"}`;

const cases = [
  {
    name: 'tools with icons',
    revision: '2025-06-18',
    method: 'tools/list',
    from: `{${odd},"tools":[{${odd},"name":"a","icons":[],${schema}}, {"name":"b" , ${schema}}],"nextCursor":"\\u0041"}`,
    to: `{${odd},"tools":[{${odd},"name":"a",${schema}},{"name":"b" , ${schema}}],"nextCursor":"\\u0041"}`,
  },
  {
    name: 'tools with titles and annotations',
    revision: '2024-11-05',
    method: 'tools/list',
    from: `{"tools":[{"title":"T","name":"a","annotations":{${odd}},${schema},"outputSchema":{"type":"object"},${odd}}]}`,
    to: `{"tools":[{"name":"a",${schema},${odd}}]}`,
  },
  {
    name: 'prompts whose arguments have titles',
    revision: '2025-03-26',
    method: 'prompts/list',
    from: `{"prompts":[{"name":"a","title":"A","arguments":[{${odd},"name":"x","title":"X"},{"name":"y",${odd}}],${odd}}]}`,
    to: `{"prompts":[{"name":"a","arguments":[{${odd},"name":"x"},{"name":"y",${odd}}],${odd}}]}`,
  },
  {
    name: 'a link among other content',
    revision: '2025-03-26',
    method: 'tools/call',
    from: `{"content":[{"type":"text","text":"t",${odd}},{"type":"resource_link","uri":"a:b","name":"n"}],${odd}}`,
    to: `{"content":[{"type":"text","text":"t",${odd}},{"type":"text","text":"n: a:b"}],${odd}}`,
  },
  {
    name: 'structured output without text',
    revision: '2025-03-26',
    method: 'tools/call',
    from: `{"content":[],"structuredContent":{"n":12345678901234567890,"one":1.0},${odd}}`,
    to: `{"content":[{"type":"text","text":"{\\"n\\":12345678901234567890,\\"one\\":1.0}"}],${odd}}`,
  },
  {
    name: 'a prompt with sound',
    revision: '2024-11-05',
    method: 'prompts/get',
    from: `{"messages":[{"role":"user","content":{"type":"audio","data":"AA==","mimeType":"audio/wav"},${odd}},{${odd}}]}`,
    to: `{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"bascule:audio","mimeType":"audio/wav","blob":"AA=="}},${odd}},{${odd}}]}`,
  },
];

const sides = [
  { era: 'legacy', behind: behindLegacy },
  { era: 'modern', behind: behindModern },
];

describe.each(sides)(
  'what a $era backend sends to an older client',
  verifies(
    'gateway:lossless:number-spelling',
    'gateway:lossless:key-order',
    'gateway:lossless:string-escapes',
    'gateway:lossless:unknown-members',
  ),
  ({ behind }) => {
    it.each(cases)('keeps its spelling around removed members: $name', async ({ revision, method, from, to }) => {
      const { url } = await behind(
        { [method]: (turn) => turn.json(`{"jsonrpc":"2.0","result":${from},"id":${JSON.stringify(turn.message.id)}}`) },
        { endpoint: { profile: { revisions: ['2024-11-05', '2025-03-26', '2025-06-18'] } } },
      );
      const client = await connectLegacy(url, { revision });
      const answer = await client.post(request(1, method, { name: 'x' }));
      expect(answer.body).toBe(`{"jsonrpc":"2.0","id":1,"result":${to}}`);
    });
  },
);

describe('a schema that a legacy client must get in an object', verifies('gateway:lossless:number-spelling'), () => {
  it('keeps its spelling inside, and so does the list around it', async () => {
    const tools = [
      `{"name":"a","outputSchema":{"type":"array","items":{"maximum":12345678901234567890}},${odd}}`,
      `{"name":"b","outputSchema":{"type":"object",${odd}}}`,
      `{"name":"c","outputSchema":{"anyOf":[{${odd}}]},${odd}}`,
    ];
    const wrapped = [
      `{"name":"a","outputSchema":{"type":"object","properties":{"result":{"type":"array","items":{"maximum":12345678901234567890}}},"required":["result"]},${odd}}`,
      tools[1],
      `{"name":"c",${odd}}`,
    ];
    const { url } = await behindModern({
      'tools/list': (turn) =>
        turn.json(`{"jsonrpc":"2.0","result":{"tools":[${tools.join(',')}]},"id":${JSON.stringify(turn.message.id)}}`),
    });
    const client = await connectLegacy(url);
    const answer = await client.post(request(1, 'tools/list'));
    expect(answer.body).toBe(`{"jsonrpc":"2.0","id":1,"result":{"tools":[${wrapped.join(',')}]}}`);
  });
});
