/**
 * Questions of a backend and their answers, word by word: as JSON-RPC requests in the legacy era, as the rounds of
 * `input_required` in the modern one.
 */
import { describe, expect, it } from 'vitest';
import type { RequirementId } from '../../requirements/catalogue.ts';
import { verifies } from '../../requirements/verifies.ts';
import { audio, image, text as textBlock } from '../features/samples.ts';
import { behindLegacy, behindModern, call, Held, request, result, streaming, text } from '../harness/behind.ts';
import { type Json, send, until } from '../harness/client.ts';
import { connectLegacy, modern } from '../harness/eras.ts';

interface Row {
  readonly name: string;
  readonly proves: readonly RequirementId[];
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>>;
  /** Further parameters that the legacy era alone has. */
  readonly older?: object;
  readonly answer: object;
}

const everything = { elicitation: { form: {}, url: {} }, sampling: { tools: {}, context: {} }, roots: {} };

const said = (content: unknown, role = 'user') => ({ role, content });
const hello = { messages: [said(textBlock('hello'))], maxTokens: 100 };
const answered = { role: 'assistant', content: textBlock('hi "there"'), model: 'm-1', stopReason: 'endTurn' };
const toolUse = { type: 'tool_use', id: 'u1', name: 'weather', input: { city: 'Zürich', days: 1.5 } };
const weather = {
  name: 'weather',
  description: 'Tells it',
  inputSchema: { type: 'object', $defs: {}, properties: {} },
};

const sampling = (name: string, proves: readonly RequirementId[], params: object, answer: object = answered): Row => ({
  name: `a completion ${name}`,
  proves,
  method: 'sampling/createMessage',
  params: { ...hello, ...params },
  answer,
});

const schema = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });
const titled = [
  { const: '#f00', title: 'Red' },
  { const: '#0f0', title: 'Green' },
];

const form = (
  name: string,
  proves: readonly RequirementId[],
  requestedSchema: object,
  answer: object = { action: 'accept', content: {} },
): Row => ({
  name: `a form ${name}`,
  proves,
  method: 'elicitation/create',
  params: { mode: 'form', message: 'Who "are" you?', requestedSchema },
  answer,
});

const page = (name: string, proves: readonly RequirementId[], action: string): Row => ({
  name: `an address ${name}`,
  proves,
  method: 'elicitation/create',
  params: { mode: 'url', message: 'Please visit', url: 'https://example.com/%C3%BC?a=b&c#d' },
  older: { elicitationId: 'e-1 ü' },
  answer: { action },
});

const rows: readonly Row[] = [
  sampling('as such', ['sampling:create:basic'], {}),
  sampling('with context', ['sampling:create:include-context'], { includeContext: 'thisServer' }),
  sampling('with preferences', ['sampling:create:model-preferences'], {
    modelPreferences: {
      hints: [{ name: 'claude' }, {}],
      costPriority: 0,
      speedPriority: 0.25,
      intelligencePriority: 1,
    },
  }),
  sampling('with a system prompt', ['sampling:create:system-prompt'], {
    systemPrompt: 'Be\n"brief"',
    temperature: 0.1,
    stopSequences: ['\n\n'],
    metadata: { 'example.com/x': [1] },
  }),
  sampling(
    'with tools',
    ['sampling:create:tools', 'sampling:result:with-tools-array-content'],
    { tools: [weather], toolChoice: { mode: 'required' } },
    { role: 'assistant', content: [textBlock('Let me see'), toolUse], model: 'm-1', stopReason: 'toolUse' },
  ),
  sampling('of a picture', ['sampling:create-message:image-content'], { messages: [said(image)] }),
  sampling('of a sound', ['sampling:create-message:audio-content'], { messages: [said(audio)] }),
  sampling(
    'of one block here and several there',
    ['sampling:message:content-cardinality'],
    {
      messages: [
        said(textBlock('one')),
        said([textBlock('an array of one')]),
        said([textBlock('two'), image], 'assistant'),
      ],
    },
    { ...answered, content: [textBlock('an array of one')] },
  ),
  form('as such', ['elicitation:form:basic'], schema({ name: { type: 'string' } }, { required: ['name'] })),
  form('that is accepted', ['elicitation:form:action:accept'], schema({ n: { type: 'number' } }), {
    action: 'accept',
    content: { n: 1.25, text: 'ü', list: ['a'], yes: false },
  }),
  form('that is declined', ['elicitation:form:action:decline'], schema({}), { action: 'decline' }),
  form('that is dismissed', ['elicitation:form:action:cancel'], schema({}), { action: 'cancel' }),
  form(
    'with defaults',
    ['elicitation:form:defaults'],
    schema({
      name: { type: 'string', default: 'Ada' },
      age: { type: 'integer', default: 0 },
      share: { type: 'number', default: 0.5 },
      sure: { type: 'boolean', default: false },
      colours: { type: 'array', items: { type: 'string', enum: ['r', 'g'] }, default: ['g'] },
    }),
  ),
  form(
    'with fields of every type',
    ['elicitation:form:schema:primitives'],
    schema({
      text: { type: 'string', title: 'Text', minLength: 1, maxLength: 9, pattern: '^\\w+$' },
      mail: { type: 'string', format: 'email', description: 'Where?' },
      share: { type: 'number', minimum: -0.5, maximum: 1.5 },
      count: { type: 'integer', minimum: 0 },
      sure: { type: 'boolean' },
    }),
  ),
  form(
    'with every kind of choice',
    ['elicitation:form:schema:enum-variants'],
    schema({
      plain: { type: 'string', enum: ['r', 'g'] },
      titled: { type: 'string', oneOf: titled },
      older: { type: 'string', enum: ['r'], enumNames: ['Red'] },
      several: { type: 'array', items: { type: 'string', enum: ['r', 'g'] }, minItems: 1, maxItems: 2 },
      severalTitled: { type: 'array', items: { anyOf: titled } },
    }),
  ),
  {
    name: 'a form that names no mode',
    proves: ['elicitation:form:mode-omitted-default'],
    method: 'elicitation/create',
    params: { message: 'Who?', requestedSchema: schema({}) },
    answer: { action: 'accept', content: {} },
  },
  page('that is agreed to', ['elicitation:url:basic', 'elicitation:url:action:accept-no-content'], 'accept'),
  page('that is declined', ['elicitation:url:decline'], 'decline'),
  page('that is dismissed', ['elicitation:url:cancel'], 'cancel'),
  {
    name: 'the roots',
    proves: ['roots:list:basic'],
    method: 'roots/list',
    answer: { roots: [{ uri: 'file:///home/%C3%BC', name: 'home', _meta: { a: 1 } }, { uri: 'file:///x' }] },
  },
  { name: 'no roots', proves: ['roots:list:empty'], method: 'roots/list', answer: { roots: [] } },
];

/** A legacy call in whose middle the question is put; resolves with what the client got and what came back. */
async function relayed({ method, params }: Pick<Row, 'method' | 'params'>, reply: (id: string | number) => object) {
  const held = new Held();
  const { url, backend } = await behindLegacy({ 'tools/call': held.take }, { limits: streaming });
  const client = await connectLegacy(url, { capabilities: everything });
  const calling = await client.stream(call('c'));
  const turn = (await held.nth(1)).stream();
  turn.event(request('q', method, params));
  const ask = await calling.message((message) => message.method === method);
  expect(ask.id).not.toBe('q');
  expect((await client.post(reply(ask.id))).status).toBe(202);
  await until(() => backend.received.some(({ message }) => message?.id === 'q'), 'the answer reaches the backend');
  const answers = backend.received.filter(({ message }) => message?.id === 'q');
  expect(answers.map(({ headers }) => headers['mcp-session-id'])).toEqual([turn.received.headers['mcp-session-id']]);
  turn.event(result(turn.message.id, text('done'))).end();
  expect(await calling.message(({ id }) => id === 'c')).toEqual(result('c', text('done')));
  return { ask, answer: answers[0]?.message as Json };
}

describe('a legacy backend requests of a legacy client', () => {
  for (const { name, proves, answer, method, params, older } of rows) {
    it(name, verifies(...proves), async () => {
      const row = { method, ...(params && { params: { ...params, ...older } }) };
      const relay = await relayed(row, (id) => result(id, answer));
      expect(relay.ask).toEqual(request(relay.ask.id, method, row.params));
      expect(relay.answer).toEqual(result('q', answer));
    });
  }

  for (const { name, method, params, proves } of [
    {
      name: 'input that the user declines',
      method: 'sampling/createMessage',
      params: hello,
      proves: 'sampling:error:user-rejected',
    },
    {
      name: 'roots that the client cannot list',
      method: 'roots/list',
      params: undefined,
      proves: 'roots:list:client-error',
    },
  ] as const) {
    it(name, verifies(proves), async () => {
      const error = { code: -1, message: 'User rejected "it"', data: { why: ['no'] } };
      const row = { method, ...(params && { params }) };
      const relay = await relayed(row, (id) => ({ jsonrpc: '2.0', id, error }));
      expect(relay.answer).toEqual({ jsonrpc: '2.0', id: 'q', error });
    });
  }
});

describe('a modern backend requests of a modern client', () => {
  for (const { name, proves, method, params, answer } of rows) {
    it(name, verifies(...proves), async () => {
      const question = { method, ...(params && { params }) };
      const first = { resultType: 'input_required', inputRequests: { q: question }, requestState: 'opaque "state"' };
      const last = { resultType: 'complete', content: [] };
      const { url, backend } = await behindModern({
        'tools/call': (turn) => turn.result(turn.message.params.inputResponses === undefined ? first : last),
      });
      const tool = { name: 'work', arguments: {} };
      const ask = modern({ id: 1, method: 'tools/call', params: tool, capabilities: everything });
      expect((await send(url, ask)).json()).toEqual(result(1, first));
      const rounds = { inputResponses: { q: answer }, requestState: 'opaque "state"' };
      const retry = modern({ id: 2, method: 'tools/call', params: { ...tool, ...rounds }, capabilities: everything });
      expect((await send(url, retry)).json()).toEqual(result(2, last));
      expect(backend.of('tools/call')[1]?.message.params).toMatchObject(rounds);
      expect(backend.of('tools/call')[1]?.message.params.inputResponses).toEqual(rounds.inputResponses);
    });
  }
});
