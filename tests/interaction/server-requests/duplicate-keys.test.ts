/**
 * Questions of a backend that two readers understand in two ways. The gateway judges `mode`, `tools` and the form that
 * is requested; to a client whose reader ignores case `Mode` is `mode`, and of two members of one name readers take the
 * first or the last. Results are data: what they hold is passed on as it is.
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { behindLegacy, behindModern, call, Held, messagesOf, streaming } from '../harness/behind.ts';
import { type Json, send, until } from '../harness/client.ts';
import { connectLegacy, modern } from '../harness/eras.ts';

const capabilities = { elicitation: { form: {} }, sampling: {}, roots: {} };
const schema = '{"type":"object","properties":{}}';
const form = `"message":"Who?","requestedSchema":${schema}`;
const completion = '"messages":[],"maxTokens":1';

/** Each asks for what its client did not declare, or for something else than what was judged. */
const twins = [
  { name: 'Mode', method: 'elicitation/create', params: `${form},"Mode":"url","url":"https://evil.example/"` },
  { name: 'URL', method: 'elicitation/create', params: `${form},"URL":"https://evil.example/"` },
  { name: 'Message', method: 'elicitation/create', params: `${form},"Message":"Your password?"` },
  { name: 'RequestedSchema', method: 'elicitation/create', params: `${form},"RequestedSchema":{}` },
  { name: 'me\\u017fsage', method: 'elicitation/create', params: `${form},"me\u017fsage":"Your password?"` },
  { name: 'mode twice', method: 'elicitation/create', params: `"mode":"form",${form},"mode":"form"` },
  {
    name: 'Properties of the schema',
    method: 'elicitation/create',
    params: `"message":"Who?","requestedSchema":{"type":"object","properties":{},"Properties":{"p":{"type":"object"}}}`,
  },
  { name: 'Tools', method: 'sampling/createMessage', params: `${completion},"Tools":[]` },
  { name: 'toolchoice', method: 'sampling/createMessage', params: `${completion},"toolchoice":{}` },
  { name: 'SystemPrompt', method: 'sampling/createMessage', params: `${completion},"SystemPrompt":"p"` },
  { name: '_Meta', method: 'roots/list', params: '"_Meta":{}' },
];

const clients = ['legacy', 'modern'] as const;

/** The whole answer to a call, and all that its client was told. */
async function answerTo(client: (typeof clients)[number], url: string): Promise<readonly Json[]> {
  const answer =
    client === 'legacy'
      ? await (await connectLegacy(url, { capabilities })).post(call(7))
      : await send(url, modern({ id: 7, method: 'tools/call', params: { name: 'work' }, capabilities }));
  return answer.events.length === 0 ? [answer.json()] : messagesOf(answer);
}

describe.each(clients)('a %s client', verifies('gateway:exchange:ask-unambiguous'), (client) => {
  it.each(twins)(
    'gets no server request of a legacy backend with $name, and the backend gets an error',
    async ({ method, params }) => {
      const held = new Held();
      const { url, backend } = await behindLegacy({ 'tools/call': held.take }, { limits: streaming });
      const heard = answerTo(client, url);
      const turn = await held.nth(1);
      turn.stream().bytes(`data: {"jsonrpc":"2.0","id":"q","method":"${method}","params":{${params}}}\n\n`);
      const told = () => backend.received.find(({ message }) => message?.id === 'q')?.message;
      await until(() => told() !== undefined, 'the backend was answered');
      expect(told().error).toMatchObject({ code: -32600, data: { reason: 'ambiguous_json' } });
      turn.event({ jsonrpc: '2.0', id: turn.message.id, result: { content: [] } }).end();
      const messages = await heard;
      expect(messages).toHaveLength(1);
      expect(messages[0].result.content).toEqual([]);
    },
  );

  it.each([
    ...twins.map(({ name, method, params }) => ({
      name,
      result: `"resultType":"input_required","inputRequests":{"q":{"method":"${method}","params":{${params}}}}`,
    })),
    {
      name: 'Method',
      result: `"resultType":"input_required","inputRequests":{"q":{"method":"roots/list","Method":"elicitation/create","params":{${form}}}}`,
    },
    {
      name: 'ResultType',
      result: `"resultType":"complete","content":[],"ResultType":"input_required","InputRequests":{"q":{"method":"roots/list"}}`,
    },
    {
      name: 'resultType twice',
      result: `"resultType":"complete","content":[],"resultType":"input_required","inputRequests":{"q":{"method":"roots/list"}}`,
    },
  ])('gets no server request of a modern backend with $name: the call fails as backend_invalid', async ({ result }) => {
    const { url } = await behindModern({
      'tools/call': (turn) =>
        turn.json(`{"jsonrpc":"2.0","id":${JSON.stringify(turn.message.id)},"result":{${result},"requestState":"s"}}`),
    });
    const [answer, ...others] = await answerTo(client, url);
    expect(others).toEqual([]);
    expect(answer.error).toMatchObject({ data: { reason: 'backend_invalid' } });
    expect(answer.error.message).toMatch(/ambiguous: \S+ (differs from \S+ only in case|is repeated)/);
  });

  it('gets a result unchanged, whatever its members are called', async () => {
    const data = {
      content: [{ type: 'text', text: 'x', Text: 'y', Mode: 'url' }],
      structuredContent: { mode: 'form', Mode: 'url', URL: 1, url: 2, Message: 3, ResultType: 'input_required' },
      Content: [],
      IsError: true,
      Mode: 'url',
    };
    const script = { 'tools/call': (turn: Json) => turn.result({ ...data, resultType: 'complete' }) };
    for (const behind of [behindLegacy, behindModern]) {
      const { url } = await behind(script);
      expect((await answerTo(client, url)).at(-1).result).toMatchObject(data);
    }
  });
});

it(
  'a modern client does not get ResultType from a legacy backend, which cannot request input with it',
  verifies('gateway:exchange:ask-unambiguous'),
  async () => {
    const { url } = await behindLegacy({
      'tools/call': (turn) => turn.result({ content: [], ResultType: 'input_required', InputRequests: {} }),
    });
    const [answer] = await answerTo('modern', url);
    expect(Object.keys(answer.result).sort()).toEqual(['_meta', 'content', 'resultType']);
  },
);
