/** What a client declares is what its backend is offered, and what it did not declare is refused on its behalf. */
import { describe, expect, it } from 'vitest';
import type { RequirementId } from '../../requirements/catalogue.ts';
import { verifies } from '../../requirements/verifies.ts';
import { behindLegacy, behindModern, call, Held, request, result, streaming, text } from '../harness/behind.ts';
import { type Json, send, until } from '../harness/client.ts';
import { connectLegacy, modern } from '../harness/eras.ts';

interface Offer {
  readonly declared: object;
  readonly proves: readonly RequirementId[];
}

const offers: readonly Offer[] = [
  { declared: {}, proves: ['sampling:capability:declare', 'elicitation:capability:server-respects-mode'] },
  {
    declared: { sampling: {} },
    proves: ['sampling:capability:declare', 'sampling:context:server-gated-by-capability'],
  },
  { declared: { sampling: { context: {} } }, proves: ['sampling:context:server-gated-by-capability'] },
  { declared: { sampling: { tools: {} } }, proves: ['sampling:context:server-gated-by-capability'] },
  { declared: { elicitation: { form: {} } }, proves: ['elicitation:capability:server-respects-mode'] },
  { declared: { elicitation: { url: {} } }, proves: ['elicitation:capability:server-respects-mode'] },
  { declared: { elicitation: { form: {}, url: {} } }, proves: ['elicitation:capability:server-respects-mode'] },
];

describe.each(offers)('a client that declares $declared', ({ declared, proves }) => {
  it('has a legacy backend offered exactly that', verifies(...proves), async () => {
    const { url, backend } = await behindLegacy();
    await connectLegacy(url, { capabilities: declared });
    expect(backend.of('initialize').at(-1)?.message.params.capabilities).toEqual(declared);
  });

  it('has a modern backend offered exactly that', verifies(...proves), async () => {
    const { url, backend } = await behindModern({
      'prompts/list': (turn) => turn.result({ resultType: 'complete', prompts: [] }),
    });
    await send(url, modern({ method: 'prompts/list', capabilities: declared }));
    const [{ message }] = backend.of('prompts/list') as [Json];
    expect(message.params._meta['io.modelcontextprotocol/clientCapabilities']).toEqual(declared);
  });
});

const form = { message: '?', requestedSchema: { type: 'object', properties: {} } };
const page = { mode: 'url', message: '?', url: 'https://example.com/', elicitationId: 'e' };
const messages = { messages: [], maxTokens: 1 };
const tools = { ...messages, tools: [{ name: 't', inputSchema: { type: 'object' } }] };
const choice = { ...messages, toolChoice: { mode: 'auto' } };

interface Gate {
  readonly name: string;
  readonly declared: object;
  readonly method: string;
  readonly params?: object;
  /** Where it is refused. */
  readonly code?: number;
  readonly missing?: object;
  readonly proves: readonly RequirementId[];
}

const formMissing = { elicitation: { form: {} } };
const urlMissing = { elicitation: { url: {} } };
const toolsMissing = { sampling: { tools: {} } };

const gates: readonly Gate[] = [
  {
    name: 'a completion of a client without sampling',
    declared: { elicitation: {}, roots: {} },
    method: 'sampling/createMessage',
    params: messages,
    code: -32600,
    missing: { sampling: {} },
    proves: ['sampling:create-message:not-supported'],
  },
  {
    name: 'tools in a completion of a client without them',
    declared: { sampling: { context: {} } },
    method: 'sampling/createMessage',
    params: tools,
    code: -32600,
    missing: toolsMissing,
    proves: ['sampling:tools:server-gated-by-capability'],
  },
  {
    name: 'a choice among tools of a client without them',
    declared: { sampling: {} },
    method: 'sampling/createMessage',
    params: choice,
    code: -32600,
    missing: toolsMissing,
    proves: ['sampling:tools:server-gated-by-capability'],
  },
  {
    name: 'tools in a completion of a client that has them',
    declared: { sampling: { tools: {} } },
    method: 'sampling/createMessage',
    params: tools,
    proves: ['sampling:tools:server-gated-by-capability'],
  },
  {
    name: 'a form of a client without elicitation',
    declared: { sampling: {}, roots: {} },
    method: 'elicitation/create',
    params: form,
    code: -32602,
    missing: formMissing,
    proves: ['elicitation:form:not-supported'],
  },
  {
    name: 'a form of a client that opens addresses alone',
    declared: { elicitation: { url: {} } },
    method: 'elicitation/create',
    params: { ...form, mode: 'form' },
    code: -32602,
    missing: formMissing,
    proves: ['elicitation:capability:mode-mismatch'],
  },
  {
    name: 'an address of a client that shows forms alone',
    declared: { elicitation: { form: {} } },
    method: 'elicitation/create',
    params: page,
    code: -32602,
    missing: urlMissing,
    proves: ['elicitation:capability:mode-mismatch', 'elicitation:url:not-supported'],
  },
  {
    name: 'an address of a client that names no mode',
    declared: { elicitation: {} },
    method: 'elicitation/create',
    params: page,
    code: -32602,
    missing: urlMissing,
    proves: ['elicitation:capability:empty-is-form', 'elicitation:url:not-supported'],
  },
  {
    name: 'a form of a client that names no mode',
    declared: { elicitation: {} },
    method: 'elicitation/create',
    params: form,
    proves: ['elicitation:capability:empty-is-form', 'elicitation:form:mode-omitted-default'],
  },
  {
    name: 'roots of a client without them',
    declared: { elicitation: {}, sampling: {} },
    method: 'roots/list',
    code: -32601,
    missing: { roots: {} },
    proves: ['roots:list:not-supported'],
  },
];

describe('a legacy backend that requests', () => {
  for (const { name, declared, method, params, code, missing, proves } of gates) {
    it(`${name} is ${code === undefined ? 'heard' : 'refused at once'}`, verifies(...proves), async () => {
      const held = new Held();
      const { url, backend } = await behindLegacy({ 'tools/call': held.take }, { limits: streaming });
      const client = await connectLegacy(url, { capabilities: declared });
      const calling = await client.stream(call('c'));
      const turn = (await held.nth(1)).stream();
      turn.event(request('q', method, params));
      const answer = (): Json => backend.received.find(({ message }) => message?.id === 'q')?.message;
      if (code === undefined) {
        const ask = await calling.message((message) => message.method === method);
        expect(ask.params).toEqual(params);
      } else {
        // Nobody else could have answered: the client has said nothing.
        await until(() => answer() !== undefined, 'the question is answered');
        expect(answer()).toEqual({
          jsonrpc: '2.0',
          id: 'q',
          error: {
            code,
            message: 'The client cannot answer this',
            data: { reason: 'ask_not_supported', requiredCapabilities: missing },
          },
        });
        expect(calling.events.filter(({ data }) => data)).toEqual([]);
      }
      turn.event(result(turn.message.id, text('done'))).end();
      expect(await calling.message(({ id }) => id === 'c')).toEqual(result('c', text('done')));
    });
  }
});
