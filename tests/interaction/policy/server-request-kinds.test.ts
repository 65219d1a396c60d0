/** Which asks a backend may make is its profile's to say, kind by kind, in every mode, and for clients of both eras. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { send, until } from '../harness/client.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import type { Script } from '../harness/http-backend.ts';
import { form } from '../harness/server-requests.ts';
import { call, named, openHouse, paths } from './setup.ts';

const capabilities = { sampling: {}, elicitation: {}, roots: {} };
const kinds = [
  {
    kind: 'sampling',
    method: 'sampling/createMessage',
    params: { messages: [{ role: 'user', content: { type: 'text', text: 'Hello' } }], maxTokens: 5 },
  },
  { kind: 'elicitation', method: 'elicitation/create', params: form },
  { kind: 'roots', method: 'roots/list', params: {} },
];
const rules = [{ id: 'calls', effect: 'allow', what: ['call'] }];

describe.each(['enforce', 'audit'] as const)('in mode %s', (mode) => {
  const more = { policy: { mode, rules } };

  describe.each(kinds)('$kind', ({ kind, method, params }) => {
    const forbidden = { profile: { asks: kinds.map((one) => one.kind).filter((one) => one !== kind) } };
    const permitted = { profile: { asks: [kind] } };

    it.each(['merged', 'single'] as const)(
      'of a legacy backend is answered by the gateway if it is denied, %s',
      verifies('gateway:policy:ask-decided'),
      async (where) => {
        const script: Script = {
          GET: (turn) => void turn.stream().event({ jsonrpc: '2.0', id: 'q', method, params }),
        };
        for (const backend of [forbidden, permitted]) {
          const house = await openHouse({ era: 'legacy', script, backend, more });
          const client = await connectLegacy(`${house.gateway.origin}${paths[where]}`, { capabilities });
          const stream = await client.listen();
          const answered = () => house.a.received.find(({ message }) => message?.id === 'q')?.message;
          const asked = () => stream.events.some(({ data }) => data?.includes(method));
          await until(() => answered() !== undefined || asked(), 'it was answered or asked');
          expect({ asked: asked(), refused: answered()?.error !== undefined }).toEqual({
            asked: backend === permitted,
            refused: backend === forbidden,
          });
          const decision = backend === permitted ? 'allow' : 'deny';
          expect(house.records).toContainEqual(expect.objectContaining({ action: 'ask', name: kind, decision }));
          stream.close();
        }
      },
    );

    it.each(['merged', 'single'] as const)(
      'of a modern backend ends the call if it is denied, %s',
      verifies('gateway:policy:ask-decided'),
      async (where) => {
        const script: Script = {
          'tools/call': (turn) =>
            turn.result({ resultType: 'input_required', inputRequests: { q: { method, params } }, requestState: 's' }),
        };
        const answerFor = async (backend: typeof forbidden) => {
          const house = await openHouse({ script, backend, more });
          const message = { ...call(named(where, 'read_file')), capabilities };
          return (await send(`${house.gateway.origin}${paths[where]}`, modern(message))).json();
        };
        expect((await answerFor(forbidden)).error.message).toContain(`does not allow ${kind}`);
        expect((await answerFor(permitted)).result.resultType).toBe('input_required');
      },
    );
  });
});
