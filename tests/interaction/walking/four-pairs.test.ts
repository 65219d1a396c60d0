/**
 * The walking path: one tool call through every room in each of the four era pairs, and one elicitation across the eras
 * each way.
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { send } from '../harness/client.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { legacyBackend, modernBackend, type Script } from '../harness/http-backend.ts';

const called: Script = {
  'tools/call': (turn) => turn.result({ resultType: 'complete', content: [{ type: 'text', text: 'done' }] }),
};
const legacyCalled: Script = { 'tools/call': (turn) => turn.result({ content: [{ type: 'text', text: 'done' }] }) };

const form = {
  message: 'Your name?',
  requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
};
const call = { name: 'greet', arguments: { n: 1 } };

describe('one tool call in each pair of eras', verifies('gateway:bridge:four-pairs'), () => {
  it('legacy client, legacy backend', async () => {
    const backend = await legacyBackend(legacyCalled);
    const gateway = await startGateway({ backends: { b: { url: backend.url } } });
    const client = await connectLegacy(gateway.url('b'));
    const answer = await client.post({ jsonrpc: '2.0', id: 7, method: 'tools/call', params: call });
    expect(answer.json()).toEqual({ jsonrpc: '2.0', id: 7, result: { content: [{ type: 'text', text: 'done' }] } });
  });

  it('modern client, modern backend', async () => {
    const backend = await modernBackend(called);
    const gateway = await startGateway({ backends: { b: { url: backend.url } } });
    const answer = await send(gateway.url('b'), modern({ id: 'x', method: 'tools/call', params: call }));
    expect(answer.json()).toEqual({
      jsonrpc: '2.0',
      id: 'x',
      result: { resultType: 'complete', content: [{ type: 'text', text: 'done' }] },
    });
  });

  it(
    'legacy client, modern backend',
    verifies('gateway:bridge:four-pairs', 'gateway:bridge:results-stripped'),
    async () => {
      const backend = await modernBackend(called);
      const gateway = await startGateway({ backends: { b: { url: backend.url } } });
      const client = await connectLegacy(gateway.url('b'));
      const answer = await client.post({ jsonrpc: '2.0', id: 7, method: 'tools/call', params: call });
      expect(answer.json()).toEqual({ jsonrpc: '2.0', id: 7, result: { content: [{ type: 'text', text: 'done' }] } });
    },
  );

  it(
    'modern client, legacy backend',
    verifies('gateway:bridge:four-pairs', 'gateway:bridge:results-completed'),
    async () => {
      const backend = await legacyBackend(legacyCalled);
      const gateway = await startGateway({ backends: { b: { url: backend.url } } });
      const answer = await send(gateway.url('b'), modern({ id: 0, method: 'tools/call', params: call }));
      expect(answer.json()).toEqual({
        jsonrpc: '2.0',
        id: 0,
        result: {
          content: [{ type: 'text', text: 'done' }],
          resultType: 'complete',
          _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'legacy', version: '1' } },
        },
      });
    },
  );
});

describe('one elicitation across the eras', () => {
  it(
    'relays the rounds of a modern backend to a legacy client',
    verifies('gateway:bridge:legacy-elicitation-on-modern', 'gateway:bridge:rounds-state'),
    async () => {
      const backend = await modernBackend({
        'tools/call': (turn) => {
          const { inputResponses, requestState } = turn.message.params;
          if (inputResponses === undefined) {
            turn.result({
              resultType: 'input_required',
              inputRequests: { who: { method: 'elicitation/create', params: form } },
              requestState: 'opaque "state"',
            });
          } else {
            turn.result({
              resultType: 'complete',
              content: [{ type: 'text', text: `${inputResponses.who.content.name} ${requestState}` }],
            });
          }
        },
      });
      const gateway = await startGateway({ backends: { b: { url: backend.url } } });
      const client = await connectLegacy(gateway.url('b'), { capabilities: { elicitation: {} } });
      const stream = await client.stream({ jsonrpc: '2.0', id: 7, method: 'tools/call', params: call });
      const ask = await stream.message((message) => message.method === 'elicitation/create');
      expect(ask.params).toEqual(form);
      const accepted = await client.post({
        jsonrpc: '2.0',
        id: ask.id,
        result: { action: 'accept', content: { name: 'Ada' } },
      });
      expect(accepted.status).toBe(202);
      expect((await stream.message((message) => message.id === 7)).result).toEqual({
        content: [{ type: 'text', text: 'Ada opaque "state"' }],
      });
      await stream.ended;
      const [first, second] = backend.of('tools/call');
      expect(first?.message.id).not.toBe(second?.message.id);
      expect(second?.message.params.arguments).toEqual({ n: 1 });
    },
  );

  it('parks the call of a legacy backend for a modern client', verifies('gateway:bridge:parked-call'), async () => {
    let asked: (answer: unknown) => void = () => undefined;
    const answered = new Promise((resolve) => {
      asked = resolve;
    });
    const backend = await legacyBackend({
      'tools/call': (turn) => {
        turn.stream().event({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params: form });
        void answered.then((name) =>
          turn
            .event({ jsonrpc: '2.0', id: turn.message.id, result: { content: [{ type: 'text', text: name }] } })
            .end(),
        );
      },
      POST: (turn) => {
        turn.raw(202, {});
        asked(turn.message.result.content.name);
      },
    });
    const gateway = await startGateway({ backends: { b: { url: backend.url } } });
    const capabilities = { elicitation: { form: {} } };
    const first = await send(gateway.url('b'), modern({ id: 1, method: 'tools/call', params: call, capabilities }));
    const { resultType, inputRequests, requestState } = first.json().result;
    expect(resultType).toBe('input_required');
    const [key] = Object.keys(inputRequests);
    expect(inputRequests[key as string]).toEqual({ method: 'elicitation/create', params: form });
    const inputResponses = { [key as string]: { action: 'accept', content: { name: 'Ada' } } };
    const params = { ...call, inputResponses, requestState };
    const second = await send(gateway.url('b'), modern({ id: 2, method: 'tools/call', params, capabilities }));
    expect(second.json().result.content).toEqual([{ type: 'text', text: 'Ada' }]);
    expect(backend.of('tools/call')).toHaveLength(1);
  });
});
