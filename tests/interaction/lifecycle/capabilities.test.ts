/** What a side did not declare is not asked of it: the gateway answers in its place. */
import { describe, expect, it } from 'vitest';
import { methods } from '../../../src/wire/methods.ts';
import { verifies } from '../../requirements/verifies.ts';
import {
  behindLegacy,
  behindModern,
  call,
  expectRefused,
  Held,
  request,
  result,
  streaming,
  text,
} from '../harness/behind.ts';
import { send, until } from '../harness/client.ts';
import { connectLegacy, modern } from '../harness/eras.ts';

describe('a backend without capabilities', () => {
  const needy = (era: 'legacy' | 'modern') =>
    methods.filter(
      ({ kind, from, capability, since, until: last }) =>
        kind === 'request' &&
        from === 'client' &&
        capability !== undefined &&
        capability !== 'tasks' &&
        (era === 'modern' ? last === undefined : since <= '2025-11-25'),
    );
  const params = { name: 'x', uri: 'a:b', level: 'info', ref: { type: 'ref/prompt', name: 'x' }, argument: {} };

  it('gets no request of a legacy client', verifies('lifecycle:capability:server-not-advertised'), async () => {
    const { url, backend } = await behindLegacy({}, { backend: { capabilities: {} } });
    const client = await connectLegacy(url);
    await backend.standing();
    backend.forget();
    expect(needy('legacy').map(({ method }) => method)).toContain('resources/subscribe');
    for (const { method } of needy('legacy')) {
      expectRefused(await client.post(request(1, method, params)), 200, {
        id: 1,
        code: -32601,
        message: 'Method not found',
        reason: 'method_not_found',
        data: { method },
      });
    }
    expect(backend.bytes).toBe(0);
  });

  it('gets no request of a modern client', verifies('lifecycle:capability:server-not-advertised'), async () => {
    const { url, backend, gateway } = await behindModern({}, { backend: { capabilities: {} } });
    await gateway.assembled.backends.get('b')?.discover();
    backend.forget();
    expect(needy('modern').map(({ method }) => method)).toContain('resources/read');
    for (const { method } of needy('modern')) {
      expectRefused(await send(url, modern({ method, params })), 404, {
        id: 1,
        code: -32601,
        message: 'Method not found',
        reason: 'method_removed',
        data: { method },
      });
    }
    expect(backend.bytes).toBe(0);
  });
});

describe('a client without capabilities', () => {
  it('gets no server request', verifies('lifecycle:capability:client-not-declared'), async () => {
    const held = new Held();
    const { url, backend } = await behindLegacy({ 'tools/call': held.take }, { limits: streaming });
    const client = await connectLegacy(url, { capabilities: {} });
    const standing = await backend.standing();
    const listening = await client.listen();
    const calling = await client.stream(call('c'));
    const turn = await held.nth(1);
    turn.stream();
    const asks = ['elicitation/create', 'sampling/createMessage', 'roots/list'];
    asks.forEach((method, index) => {
      turn.event(request(`call ${index}`, method, { message: '?', messages: [] }));
      standing.event(request(`lane ${index}`, method, { message: '?', messages: [] }));
    });
    const answers = () =>
      backend.received.map(({ message }) => message).filter((message) => message?.error !== undefined);
    await until(() => answers().length === 6, 'all questions are answered');
    const codes = Object.fromEntries(answers().map(({ id, error }) => [id, error.code]));
    expect(codes).toEqual({
      'call 0': -32602,
      'call 1': -32600,
      'call 2': -32601,
      'lane 0': -32602,
      'lane 1': -32600,
      'lane 2': -32601,
    });
    turn.event(result(turn.message.id, text('done'))).end();
    await calling.ended;
    const said = [...calling.events, ...listening.events].flatMap((event) => (event.data ? [event.json()] : []));
    expect(said).toEqual([result('c', text('done'))]);
  });
});
