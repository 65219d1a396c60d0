/** Questions of backends pass policy like calls; the answers of clients, which have no method, pass without a rule. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { type Json, send, until } from '../harness/client.ts';
import { keyRing } from '../harness/credentials.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import type { Script, Turn } from '../harness/http-backend.ts';
import { AskingBackend, form } from '../harness/server-requests.ts';
import { call, named, openHouse, paths } from './setup.ts';

const elicitation = { elicitation: {} };
const calls = { id: 'calls', effect: 'allow', what: ['call'] };
const asksAtOnce: Script = {
  GET: (turn) => void turn.stream().event({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params: form }),
};

describe.each(['merged', 'single'] as const)('%s', (where) => {
  it(
    'an answer to a server request is 202 and arrives, under a policy without rules',
    verifies('gateway:policy:response-no-method'),
    async () => {
      const house = await openHouse({ era: 'legacy', script: asksAtOnce, more: { policy: { rules: [] } } });
      const client = await connectLegacy(`${house.gateway.origin}${paths[where]}`, { capabilities: elicitation });
      const stream = await client.listen();
      const question = await stream.message(({ method }) => method === 'elicitation/create');
      const answer = { jsonrpc: '2.0', id: question.id, result: { action: 'accept', content: { name: 'Ann' } } };
      expect((await client.post(answer)).status).toBe(202);
      const arrived = () => house.a.received.find(({ message }) => message?.id === 'q' && message.result !== undefined);
      await until(() => arrived() !== undefined, 'the answer arrived');
      expect(arrived()?.message.result).toEqual(answer.result);
      // One that nobody asked for is taken as well, and goes nowhere.
      house.forget();
      expect((await client.post({ ...answer, id: 'unasked' })).status).toBe(202);
      expect(house.bytes).toBe(0);
      stream.close();
    },
  );

  const refusals = [
    { name: 'a rule', more: { policy: { rules: [calls, { id: 'no-asks', effect: 'deny', what: ['ask'] }] } } },
    {
      name: 'the profile of the backend',
      backend: { profile: { asks: ['roots'] } },
      more: { policy: { rules: [calls] } },
    },
    {
      name: 'the profile of the backend, in audit mode',
      backend: { profile: { asks: ['roots'] } },
      more: { policy: { mode: 'audit', rules: [calls] } },
    },
  ];
  it.each(refusals)(
    'a server request that $name forbids is answered by the gateway, and does not reach the client',
    verifies('gateway:policy:ask-decided'),
    async ({ backend, more }) => {
      const house = await openHouse({ era: 'legacy', script: asksAtOnce, more, ...(backend && { backend }) });
      const client = await connectLegacy(`${house.gateway.origin}${paths[where]}`, { capabilities: elicitation });
      const stream = await client.listen();
      const answered = () => house.a.received.find(({ message }) => message?.id === 'q');
      await until(() => answered() !== undefined, 'the ask was answered');
      expect(answered()?.message.error).toBeDefined();
      expect(stream.events.filter(({ data }) => data?.includes('elicitation'))).toEqual([]);
      expect(house.records).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ action: 'ask', name: 'elicitation', decision: 'deny', backend: 'a' }),
        ]),
      );
      stream.close();
    },
  );

  it(
    'the input requests of a modern backend are evaluated too, for clients of both eras',
    verifies('gateway:policy:ask-decided'),
    async () => {
      const script: Script = {
        'tools/call': (turn) =>
          turn.result({
            resultType: 'input_required',
            inputRequests: { who: { method: 'elicitation/create', params: form } },
            requestState: 's',
          }),
      };
      const rules = [calls, { id: 'no-asks', effect: 'deny', on: { asks: ['elicitation'] } }];
      const house = await openHouse({ script, more: { policy: { rules } } });
      const url = `${house.gateway.origin}${paths[where]}`;
      const message = call(named(where, 'read_file'));
      const refused = { code: 403, data: { reason: 'policy_denied', rules: ['no-asks'] } };
      expect((await send(url, modern({ ...message, capabilities: elicitation }))).json().error).toMatchObject(refused);
      const client = await connectLegacy(url, { capabilities: elicitation });
      expect((await client.post(message)).json().error).toMatchObject(refused);
    },
  );
});

it(
  'a form that is not flat is -32602 where the endpoint is strict, in audit mode too',
  verifies('gateway:policy:strict-profile'),
  async () => {
    const nested = { message: 'Who?', requestedSchema: { type: 'object', properties: { name: { type: 'object' } } } };
    const script: Script = {
      GET: (turn) =>
        void turn.stream().event({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params: nested }),
    };
    const plan = { era: 'legacy', script, more: { policy: { mode: 'audit', rules: [] } } } as const;
    const answerFor = async (endpoint: object): Promise<Json> => {
      const house = await openHouse({ ...plan, endpoint: { ...endpoint } });
      const client = await connectLegacy(`${house.gateway.origin}${paths.single}`, { capabilities: elicitation });
      const stream = await client.listen();
      const answered = () => house.a.received.find(({ message }) => message?.id === 'q')?.message;
      const asked = () => stream.events.some(({ data }) => data?.includes('elicitation/create'));
      await until(() => answered() !== undefined || asked(), 'it was answered or asked');
      stream.close();
      return answered()?.error?.code ?? 'asked';
    };
    expect(await answerFor({ profile: { elicitation: 'flat' } })).toBe(-32602);
    expect(await answerFor({})).toBe('asked');
  },
);

describe('each round of a call is decided anew', () => {
  const script = (rounds: number): Script => ({
    'tools/call': (turn: Turn) => {
      const state = Number(turn.message.params.requestState ?? 0);
      if (state >= rounds) turn.result({ resultType: 'complete', content: [] });
      else
        turn.result({
          resultType: 'input_required',
          inputRequests: { who: { method: 'elicitation/create', params: form } },
          requestState: String(state + 1),
        });
    },
  });

  it('rounds that the gateway drives for a legacy client', verifies('gateway:policy:decided-anew'), async () => {
    const house = await openHouse({ script: script(2), more: { policy: { rules: [calls] } } });
    const client = await connectLegacy(`${house.gateway.origin}${paths.single}`, { capabilities: elicitation });
    const stream = await client.stream(call('read_file'));
    for (const id of [1, 2]) {
      const question = await stream.message((one) => one.method === 'elicitation/create' && one.id === id);
      await client.post({ jsonrpc: '2.0', id: question.id, result: { action: 'accept', content: { name: 'Ann' } } });
    }
    await stream.message((one) => one.result !== undefined);
    const outcomes = house.records.filter(({ action }) => action === 'call').map(({ outcome }) => outcome);
    expect(outcomes).toEqual(['asked', 'asked', 'result']);
  });

  it(
    'a round over the rate ends the call',
    verifies('gateway:policy:decided-anew', 'gateway:policy:rate-limited'),
    async () => {
      const rates = [{ id: 'once', what: ['call'], perSecond: 0.001, burst: 1 }];
      const house = await openHouse({ script: script(2), more: { rates } });
      const client = await connectLegacy(`${house.gateway.origin}${paths.single}`, { capabilities: elicitation });
      const stream = await client.stream(call('read_file'));
      const question = await stream.message((one) => one.method === 'elicitation/create');
      await client.post({ jsonrpc: '2.0', id: question.id, result: { action: 'accept', content: { name: 'Ann' } } });
      const { error } = await stream.message((one) => one.error !== undefined);
      expect(error).toMatchObject({ code: 429, data: { reason: 'rate_limited', limit: 'once' } });
      expect(house.a.of('tools/call')).toHaveLength(1);
    },
  );

  it('a denied retry ends the call that waits at the backend', verifies('gateway:policy:decided-anew'), async () => {
    const backend = await AskingBackend.start('http');
    const ring = keyRing();
    // Two keys of one name are one principal: what it is allowed depends on the one that it presents.
    const [strong, weak] = [ring.make('ann', { scopes: ['tools'] }), ring.make('ann')];
    const rules = [{ id: 'tools', effect: 'allow', who: { scopes: ['tools'] }, what: ['call'] }];
    const gateway = await startGateway({
      backends: { b: backend.config },
      identity: { keys: { file: ring.path } },
      policy: { rules },
    });
    const ask = async (key: string, more: object = {}) => {
      const params = { name: 'greet', arguments: {}, ...more };
      const headers = { authorization: `Bearer ${key}` };
      return (
        await send(gateway.url('b'), modern({ method: 'tools/call', params, capabilities: elicitation, headers }))
      ).json();
    };
    const { result } = await ask(strong);
    expect(result.resultType).toBe('input_required');
    const inputResponses = { 'ask-1': { action: 'accept', content: { name: 'Ann' } } };
    const retry = { requestState: result.requestState, inputResponses };
    expect((await ask(weak, retry)).error).toMatchObject({ code: 403, data: { reason: 'policy_denied' } });
    await backend.expectCancelled(backend.calls);
    // It is over: nobody can take it up again.
    expect((await ask(strong, retry)).error.data.reason).toBe('invalid_request_state');
  });
});
