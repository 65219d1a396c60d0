/**
 * What a modern backend says to a modern client and the gateway has no part in: rounds pass through, and so do errors,
 * but for codes that must not be used.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { text } from '../harness/behind.ts';
import { send } from '../harness/client.ts';
import { modern, modernHeaders, modernMeta } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { launchLegacyBackend, launchModernBackend, modernBackend, type Script } from '../harness/http-backend.ts';
import { launchBehind, type Shared } from './setup.ts';

// Spelled as no serialiser would, so that it shows whether anybody read and wrote it again.
const asking =
  '{"zz":1.0,"inputRequests":{"k\\u0031":{"params":{"requestedSchema":{"type":"object"},"message":"\\u00e9"},"method":"elicitation/create"}},' +
  ' "requestState":"a\\/b\\u0041","resultType":"input_required","n":12345678901234567890}';
const answers = '{"k1":{"content":{"n":1e2,"t":"\\u00e9\\/"},"action":"accept"},"unasked":{}}';
const state = '"a\\/b\\u0041"';

describe('an input request of a modern backend', verifies('gateway:modern:input-required-untouched'), () => {
  const requests = [
    { method: 'tools/call', name: 't', params: '"name":"t","arguments":{"a":1.0}' },
    { method: 'prompts/get', name: 'p', params: '"name":"p"' },
    { method: 'resources/read', name: 'a://b', params: '"uri":"a://b"' },
  ];
  for (const { method, name, params } of requests) {
    it(`passes unchanged, and so does the retry, through another gateway even: ${method}`, async () => {
      const backend = await modernBackend({
        [method]: (turn) => {
          const result =
            turn.message.params.inputResponses === undefined ? asking : '{"resultType":"complete","x":1.0}';
          turn.json(`{"jsonrpc":"2.0","result":${result},"id":${JSON.stringify(turn.message.id)}}`);
        },
      });
      const config = { backends: { b: { url: backend.url } } };
      const [first, second] = [await startGateway(config), await startGateway(config)];
      const ask = (url: string, id: string, more: string) =>
        send(url, {
          headers: modernHeaders(method, name),
          body: `{"jsonrpc":"2.0","id":"${id}","method":"${method}","params":{${params}${more},"_meta":${JSON.stringify(modernMeta({ elicitation: {} }))}}}`,
        });

      const question = await ask(first.url('b'), 'one', '');
      expect(question.status).toBe(200);
      expect(question.body).toBe(`{"jsonrpc":"2.0","id":"one","result":${asking}}`);

      // Nothing was held: whoever gets the retry can serve it.
      const retry = `,"inputResponses":${answers},"requestState":${state}`;
      const answer = await ask(second.url('b'), 'two', retry);
      const hints = method === 'resources/read' ? ',"ttlMs":0,"cacheScope":"private"' : '';
      expect(answer.body).toBe(`{"jsonrpc":"2.0","id":"two","result":{"resultType":"complete","x":1.0${hints}}}`);
      const calls = backend.of(method);
      expect(calls).toHaveLength(2);
      expect(calls[0]?.text).toContain(`"params":{${params},"_meta":`);
      expect(calls[1]?.text).toContain(`"params":{${params}${retry},"_meta":`);
    });
  }

  it('may be a state alone, or input requests alone', async () => {
    for (const question of [
      '{"resultType":"input_required","requestState":""}',
      '{"resultType":"input_required","inputRequests":{"r":{"method":"roots/list"}}}',
    ]) {
      const backend = await modernBackend({
        'tools/call': (turn) =>
          turn.json(`{"jsonrpc":"2.0","id":${JSON.stringify(turn.message.id)},"result":${question}}`),
      });
      const gateway = await startGateway({ backends: { b: { url: backend.url } } });
      const answer = await send(
        gateway.url('b'),
        modern({ method: 'tools/call', params: { name: 't' }, capabilities: { roots: {} } }),
      );
      expect(answer.body).toBe(`{"jsonrpc":"2.0","id":1,"result":${question}}`);
    }
  });

  it('is not mistaken for a pending call of the gateway', async () => {
    const backend = await modernBackend({
      'tools/call': (turn) => turn.result({ resultType: 'complete', ...text(turn.message.params.requestState) }),
    });
    const gateway = await startGateway({ backends: { b: { url: backend.url } } });
    const params = { name: 't', requestState: 'unknown to the gateway' };
    const answer = await send(gateway.url('b'), modern({ method: 'tools/call', params }));
    expect(answer.json().result).toMatchObject(text('unknown to the gateway'));
  });
});

describe('a code that must not reach a modern client', verifies('gateway:modern:codes-mapped'), () => {
  const INVALID_PARAMS = -32602;
  const INTERNAL = -32603;
  const mapped = [
    { code: -32002, as: INVALID_PARAMS },
    { code: -32042, as: INTERNAL },
    { code: -32023, as: INTERNAL },
    { code: -32041, as: INTERNAL },
    { code: -32099, as: INTERNAL },
  ];
  const kept = [-32000, -32001, -32019, -32100, -32600, -32602, -32603, -32700, -1, 0, 1, 403].map((code) => ({
    code,
    as: code,
  }));
  /** Defined for this revision; what a server of an earlier one means by them is another thing. */
  const defined = [-32020, -32021, -32022].map((code) => ({ code, as: INTERNAL }));

  /** Fails with the code that is asked for, and a member that nobody knows. */
  const failing: Script = {
    'resources/read': (turn) => {
      const { uri } = turn.message.params;
      turn.json(
        `{"jsonrpc":"2.0","id":${JSON.stringify(turn.message.id)},"error":{"extra":1.0,"code":${uri.slice(5)},"message":"m"}}`,
      );
    },
  };
  const eras = [
    { era: 'modern', launch: launchModernBackend, codes: [...mapped, ...kept] },
    { era: 'legacy', launch: launchLegacyBackend, codes: [...mapped, ...kept, ...defined] },
  ];
  describe.each(eras)('of a $era backend', ({ launch, codes }) => {
    let shared: Shared;
    beforeAll(async () => {
      shared = await launchBehind(failing, {}, launch);
    });
    afterAll(() => shared.close());

    it.each(codes)('$code becomes $as', async ({ code, as }) => {
      const answer = await send(shared.url, modern({ method: 'resources/read', params: { uri: `code:${code}` } }));
      expect(answer.status).toBe(200);
      expect(answer.body).toBe(`{"jsonrpc":"2.0","id":1,"error":{"extra":1.0,"code":${as},"message":"m"}}`);
    });
  });

  it('becomes another on a stream, too', async () => {
    const backend = await modernBackend({
      'tools/call': (turn) =>
        turn
          .stream()
          .event({ jsonrpc: '2.0', id: turn.message.id, error: { code: -32042, message: 'm' } })
          .end(),
    });
    const gateway = await startGateway({ backends: { b: { url: backend.url } }, limits: { sseAfterMs: 0 } });
    const answer = await send(gateway.url('b'), modern({ method: 'tools/call', params: { name: 't' } }));
    expect(answer.events.map((event) => event.json())).toEqual([
      { jsonrpc: '2.0', id: 1, error: { code: INTERNAL, message: 'm' } },
    ]);
  });
});
