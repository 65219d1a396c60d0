/** Completion of arguments: an official client and server of one era, with the gateway between them. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { type Json, send } from '../harness/client.ts';
import { connectLegacy, eras, modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { legacyBackend, modernBackend } from '../harness/http-backend.ts';
import { launchPair, type PlainPair, refusal } from '../harness/pairs.ts';
import { rpcError } from '../harness/sdk-servers.ts';

const prompt = { type: 'ref/prompt', name: 'review' };
const template = { type: 'ref/resource', uri: 'db://{table}/rows' };
const hundred = Array.from({ length: 100 }, (_, index) => `value ${index}`);

describe.each(eras)('completion, %s', (era) => {
  let pair: PlainPair;
  beforeAll(async () => {
    pair = await launchPair(
      era,
      { capabilities: { completions: {}, prompts: {} } },
      {
        'completion/complete': ({ ref, argument, context }) => {
          if (ref.name === 'nobody') throw rpcError(-32602, 'Unknown prompt', { name: 'nobody' });
          if (argument.value === 'many') return { completion: { values: hundred, total: 1234, hasMore: true } };
          const known = context?.arguments?.framework ?? 'none';
          return { completion: { values: [`${ref.name ?? ref.uri} ${argument.name}=${argument.value} ${known}`] } };
        },
      },
    );
  });
  afterAll(() => pair.close());

  it('is advertised where the backend has it', verifies('completion:capability:declared'), async () => {
    const client = await pair.connect();
    expect(client.getServerCapabilities()).toEqual({ completions: {}, prompts: {} });
  });

  for (const { name, ref, proves, value } of [
    {
      name: 'completes an argument of a prompt',
      ref: prompt,
      proves: 'completion:prompt-arg',
      value: 'review tone=ki none',
    },
    {
      name: 'completes a variable of a template',
      ref: template,
      proves: 'completion:resource-template-arg',
      value: 'db://{table}/rows tone=ki none',
    },
  ] as const) {
    it(name, verifies(proves), async () => {
      const client = await pair.connect();
      pair.seen.length = 0;
      const { completion } = await client.complete({ ref, argument: { name: 'tone', value: 'ki' } });
      expect(completion).toEqual({ values: [value] });
      expect(pair.seen).toMatchObject([
        { method: 'completion/complete', params: { ref, argument: { name: 'tone', value: 'ki' } } },
      ]);
    });
  }

  it('passes on the arguments chosen before', verifies('completion:context-arguments'), async () => {
    const client = await pair.connect();
    const context = { arguments: { framework: 'f', language: 'ü' } };
    pair.seen.length = 0;
    const { completion } = await client.complete({ ref: prompt, argument: { name: 'tone', value: '' }, context });
    expect(completion.values).toEqual(['review tone= f']);
    expect(pair.seen[0]?.params.context).toEqual(context);
  });

  it('passes on a hundred values, and how many more there are', verifies('completion:result-shape'), async () => {
    const client = await pair.connect();
    const { completion } = await client.complete({ ref: prompt, argument: { name: 'tone', value: 'many' } });
    expect(completion).toEqual({ values: hundred, total: 1234, hasMore: true });
  });

  it("passes on the backend's refusal of a reference", verifies('completion:error:invalid-ref'), async () => {
    const client = await pair.connect();
    const ref = { type: 'ref/prompt', name: 'nobody' };
    expect(await refusal(client.complete({ ref, argument: { name: 'a', value: '' } }))).toEqual({
      code: -32602,
      message: 'Unknown prompt',
      data: { name: 'nobody' },
    });
  });
});

/** https://modelcontextprotocol.io/specification/2024-11-05/server/utilities/completion: it is declared nowhere. */
describe(
  'a backend of 2024-11-05, which has no capability for it',
  verifies('completion:undeclared-2024-11-05'),
  () => {
    /** Under the name by which the endpoint lists the prompt. */
    const complete = ({ result }: Json) => ({
      ref: { type: 'ref/prompt', name: result.prompts[0].name },
      argument: { name: 'tone', value: '' },
    });
    const completion = { values: ['kind'] };
    const start = async () => {
      const backend = await legacyBackend(
        {
          'completion/complete': (turn) => turn.result({ completion }),
          'prompts/list': (turn) => turn.result({ prompts: [{ name: 'review' }] }),
        },
        { capabilities: { prompts: {} }, revision: '2024-11-05' },
      );
      const other = await legacyBackend({}, { capabilities: {} });
      return startGateway({ backends: { b: { url: backend.url }, other: { url: other.url } } });
    };

    it.each(['b', undefined])('gets requests of a legacy client (endpoint of %s)', async (at) => {
      const gateway = await start();
      const client = await connectLegacy(gateway.url(at));
      const params = complete((await client.post({ jsonrpc: '2.0', id: 4, method: 'prompts/list' })).json());
      const answer = await client.post({ jsonrpc: '2.0', id: 5, method: 'completion/complete', params });
      expect(answer.json()).toEqual({ jsonrpc: '2.0', id: 5, result: { completion } });
    });

    it.each(['b', undefined])('gets requests of a modern client (endpoint of %s)', async (at) => {
      const gateway = await start();
      const params = complete((await send(gateway.url(at), modern({ method: 'prompts/list' }))).json());
      const answer = await send(gateway.url(at), modern({ id: 5, method: 'completion/complete', params }));
      expect(answer.json()).toMatchObject({ id: 5, result: { completion } });
    });
  },
);

describe('a backend that cannot complete', verifies('completion:complete:not-supported'), () => {
  const params = { ref: prompt, argument: { name: 'tone', value: '' } };
  const error = {
    code: -32601,
    message: 'Method not found',
    data: { reason: 'method_not_found', method: 'completion/complete' },
  };
  const options = { capabilities: { prompts: {} } };

  it('gets no request of a legacy client', async () => {
    const backend = await legacyBackend({}, options);
    const gateway = await startGateway({ backends: { b: { url: backend.url } } });
    const client = await connectLegacy(gateway.url('b'));
    expect(client.initialized.capabilities).toEqual({ prompts: {} });
    await backend.standing();
    backend.forget();
    const answer = await client.post({ jsonrpc: '2.0', id: 5, method: 'completion/complete', params });
    expect({ status: answer.status, body: answer.json() }).toEqual({
      status: 200,
      body: { jsonrpc: '2.0', id: 5, error },
    });
    expect(backend.bytes).toBe(0);
  });

  it('gets no request of a modern client', async () => {
    const backend = await modernBackend({}, options);
    const gateway = await startGateway({ backends: { b: { url: backend.url } } });
    const discovered = await send(gateway.url('b'), modern({ method: 'server/discover' }));
    expect(discovered.json().result.capabilities).toEqual({ prompts: {} });
    backend.forget();
    const answer = await send(gateway.url('b'), modern({ id: 5, method: 'completion/complete', params }));
    expect({ status: answer.status, body: answer.json() }).toEqual({
      status: 404,
      body: { jsonrpc: '2.0', id: 5, error: { ...error, data: { ...error.data, reason: 'method_removed' } } },
    });
    expect(backend.bytes).toBe(0);
  });
});
