/** Questions of a backend that a client cannot answer are answered for it, each as its own specification says. */
import { describe, expect, it } from 'vitest';
import type { RequirementId } from '../../requirements/catalogue.ts';
import { verifies } from '../../requirements/verifies.ts';
import { behindLegacy, call, notification, request, result, text } from '../harness/behind.ts';
import { until } from '../harness/client.ts';
import { connectLegacy } from '../harness/eras.ts';

const form = { message: '?', requestedSchema: { type: 'object', properties: {} } };
const url = { mode: 'url', message: '?', url: 'https://example.com/', elicitationId: 'e1' };
const messages = [{ role: 'user', content: { type: 'text', text: 'hello' } }];
const sampling = { messages, maxTokens: 10 };
const tools = { ...sampling, tools: [{ name: 't', inputSchema: { type: 'object' } }] };
const everything = { elicitation: { form: {}, url: {} }, sampling: { tools: {}, context: {} }, roots: {} };

interface Row {
  readonly name: string;
  readonly id: RequirementId;
  readonly ask: { readonly method: string; readonly params?: object };
  readonly code: number;
  readonly missing: object;
  /** What a client lacks: everything, or just this. */
  readonly declared: object;
}

const elicitation = { id: 'gateway:legacy:ask-undeclared-elicitation', code: -32602 } as const;
const rows: readonly Row[] = [
  {
    ...elicitation,
    name: 'a form elicitation, to a client without capabilities',
    ask: { method: 'elicitation/create', params: form },
    missing: { elicitation: { form: {} } },
    declared: {},
  },
  {
    ...elicitation,
    name: 'a URL elicitation, to a client that declares no mode',
    ask: { method: 'elicitation/create', params: url },
    missing: { elicitation: { url: {} } },
    declared: { ...everything, elicitation: {} },
  },
  {
    ...elicitation,
    name: 'a form elicitation, to a client with URL mode only',
    ask: { method: 'elicitation/create', params: form },
    missing: { elicitation: { form: {} } },
    declared: { ...everything, elicitation: { url: {} } },
  },
  {
    id: 'gateway:legacy:ask-undeclared-roots',
    name: 'roots, to a client without them',
    ask: { method: 'roots/list' },
    code: -32601,
    missing: { roots: {} },
    declared: { elicitation: {}, sampling: {} },
  },
  {
    id: 'gateway:legacy:ask-undeclared-sampling',
    name: 'sampling, to a client without it',
    ask: { method: 'sampling/createMessage', params: sampling },
    code: -32600,
    missing: { sampling: {} },
    declared: { elicitation: {}, roots: {} },
  },
  {
    id: 'gateway:legacy:ask-undeclared-sampling',
    name: 'a completion with tools, of a client that makes them without',
    ask: { method: 'sampling/createMessage', params: tools },
    code: -32600,
    missing: { sampling: { tools: {} } },
    declared: { ...everything, sampling: {} },
  },
];

/** Asks in the middle of every call, and answers the call when the question is answered. */
async function asking(ask: Row['ask'], on: 'its own stream' | 'the standalone stream') {
  const question = request('q', ask.method, ask.params);
  const behind = await behindLegacy({
    'tools/call': (turn) => {
      const { backend } = behind;
      turn.stream();
      if (on === 'its own stream') turn.event(question);
      else void backend.standing().then((stream) => stream.event(question));
      void until(() => backend.received.some(({ message }) => message?.id === 'q'), 'it is answered').then(() =>
        turn.event(result(turn.message.id, text('done'))).end(),
      );
    },
  });
  return behind;
}

describe.each(['its own stream', 'the standalone stream'] as const)('sent in the middle of a call, on %s:', (on) => {
  for (const { name, id, ask, code, missing, declared } of rows) {
    it(`${name} is answered ${code}, and never offered`, verifies(id), async () => {
      const { url: address, backend } = await asking(ask, on);
      const client = await connectLegacy(address, { capabilities: declared });
      const listening = await client.listen();
      const answer = await client.post(call(1));
      // Nothing came before the answer, so it is plain JSON: the client heard nothing of the question.
      expect(answer.json()).toEqual(result(1, text('done')));
      expect(listening.events.filter(({ data }) => data)).toEqual([]);
      const told = backend.received.filter(({ message }) => message?.id === 'q');
      expect(told.map(({ message }) => message)).toEqual([
        {
          jsonrpc: '2.0',
          id: 'q',
          error: {
            code,
            message: 'The client cannot answer this',
            data: { reason: 'ask_not_supported', requiredCapabilities: missing },
          },
        },
      ]);
    });

    it(`${name} is put to one that can`, verifies(id), async () => {
      const { url: address, backend } = await asking(ask, on);
      const client = await connectLegacy(address, { capabilities: everything });
      const stream = await client.stream(call('c'));
      const put = await stream.message(({ method }) => method === ask.method);
      expect(put.params).toEqual(ask.params);
      await client.post(result(put.id, { answered: true }));
      expect(await stream.message((message) => message.id === 'c')).toEqual(result('c', text('done')));
      const told = backend.received.find(({ message }) => message?.id === 'q');
      expect(told?.message).toEqual(result('q', { answered: true }));
    });
  }
});

describe('outside any call', () => {
  for (const { name, id, ask, code, declared } of rows) {
    it(`${name} is answered ${code}, and never offered`, verifies(id), async () => {
      const { url: address, backend } = await behindLegacy();
      const client = await connectLegacy(address, { capabilities: declared });
      const listening = await client.listen();
      const upstream = await backend.standing();
      upstream.event(request('q', ask.method, ask.params));
      upstream.event(notification('notifications/tools/list_changed'));
      await listening.message(({ method }) => method === 'notifications/tools/list_changed');
      await until(() => backend.received.some(({ message }) => message?.id === 'q'), 'it is answered');
      const told = backend.received.find(({ message }) => message?.id === 'q');
      expect(told?.message.error.code).toBe(code);
      expect(listening.events.filter(({ data }) => data)).toHaveLength(1);
    });
  }
});
