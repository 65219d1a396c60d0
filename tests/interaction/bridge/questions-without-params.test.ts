/**
 * A legacy backend may leave out the `params` of `roots/list`. Libraries of modern clients read `params` of every input
 * request, so the gateway writes an empty object.
 */
import { expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { behindLegacy, text } from '../harness/behind.ts';
import { send } from '../harness/client.ts';
import { modern } from '../harness/eras.ts';
import type { Script, Turn } from '../harness/http-backend.ts';

it(
  'a modern client gets empty params where its legacy backend asks for roots without params',
  verifies('gateway:bridge:questions-have-params'),
  async () => {
    const calls: Turn[] = [];
    const script: Script = {
      'tools/call': (turn) => {
        calls.push(turn);
        turn.stream().event({ jsonrpc: '2.0', id: 'roots', method: 'roots/list' });
      },
      POST: (turn) => {
        turn.raw(202, {});
        const [call] = calls;
        const { uri } = turn.message.result?.roots?.[0] ?? {};
        call?.event({ jsonrpc: '2.0', id: call.message.id, result: text(`Roots: ${uri}`) }).end();
      },
    };
    const { url } = await behindLegacy(script);
    const capabilities = { roots: {} };
    const params = { name: 'roots', arguments: {} };
    const asked = await send(url, modern({ id: 1, method: 'tools/call', params, capabilities }));
    const { inputRequests, requestState } = asked.json().result;
    expect(inputRequests).toEqual({ 'ask-1': { method: 'roots/list', params: {} } });

    const inputResponses = { 'ask-1': { roots: [{ uri: 'file:///srv' }] } };
    const again = { ...params, inputResponses, requestState };
    const answer = await send(url, modern({ id: 2, method: 'tools/call', params: again, capabilities }));
    expect(answer.json().result).toMatchObject(text('Roots: file:///srv'));
  },
);
