/** JSON-RPC errors: a backend's are passed on, the gateway's own say what a program needs and no more. */
import { describe, expect, it, vi } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { answered, caller, pairOf, startBeforeProcess, unavailable } from '../backend/setup.ts';
import { Held, refusal } from '../harness/behind.ts';
import { send } from '../harness/client.ts';
import { eras, initialize } from '../harness/eras.ts';
import { legacyProcess, modernProcess } from '../harness/stdio-backend.ts';

describe.each(eras)('an error, %s', (era) => {
  for (const { name, error, proves } of [
    {
      name: '-32603',
      error: { code: -32603, message: 'It broke: ü', data: { deep: [1] } },
      proves: 'protocol:error:internal-error',
    },
    {
      name: '-32602',
      error: { code: -32602, message: 'Bad "n"', data: { field: 'n' } },
      proves: 'protocol:error:invalid-params',
    },
    { name: '-32602 without data', error: { code: -32602, message: 'Bad' }, proves: 'protocol:error:invalid-params' },
  ] as const) {
    it(`of a backend reaches the client as it is: ${name}`, verifies(proves), async () => {
      const { ask } = await pairOf(era, {
        'prompts/get': (turn) => turn.error(error.code, error.message, 'data' in error ? error.data : undefined),
      });
      const answer = await ask('e', 'prompts/get', { name: 'p' });
      expect({ status: answer.status, body: answer.json() }).toEqual({
        status: 200,
        body: { jsonrpc: '2.0', id: 'e', error },
      });
    });
  }

  it('of our own reveals only where to look', verifies('protocol:error:internal-error'), async () => {
    const { ask, gateway, url } = await pairOf(era);
    const backend = gateway.assembled.backends.get('b');
    if (backend === undefined) throw new TypeError('there is no backend');
    const secret = 'the password is swordfish';
    const broken = () => Promise.reject(new Error(secret));
    vi.spyOn(backend, 'discover').mockImplementation(broken);
    vi.spyOn(backend, 'open').mockImplementation(broken);
    const answer =
      era === 'legacy'
        ? await send(url, { body: { ...initialize(), id: 'e' } })
        : await ask('e', 'prompts/get', { name: 'p' });
    const { error } = answer.json();
    expect(answer.json()).toEqual({
      jsonrpc: '2.0',
      id: 'e',
      error: { code: -32603, message: 'Internal error', data: { reason: 'internal_error', logId: expect.any(String) } },
    });
    expect(answer.body).not.toContain('swordfish');
    const entry = gateway.log.find(({ facts }) => facts.logId === error.data.logId);
    expect(entry?.level).toBe('error');
    expect(entry?.facts.cause).toContain(secret);
  });

  it('is -32601 for an unknown method', verifies('protocol:error:method-not-found'), async () => {
    const { ask, backend } = await pairOf(era);
    const answer = await ask('e', 'example/unheard-of', { a: 1 });
    expect({ status: answer.status, body: answer.json() }).toEqual({
      status: era === 'legacy' ? 200 : 404,
      body: refusal({
        id: 'e',
        code: -32601,
        message: 'Method not found',
        reason: era === 'legacy' ? 'method_not_found' : 'method_removed',
        data: { method: 'example/unheard-of' },
      }),
    });
    expect(backend.of('example/unheard-of')).toEqual([]);
  });

  it.each([
    { name: 'no id', id: {} },
    { name: 'a null id', id: { id: null } },
  ])('with $name settles the call that it answers', verifies('protocol:error:null-id'), async ({ id }) => {
    const error = { code: -32000, message: 'Busy', data: { retry: 3 } };
    const { ask } = await pairOf(era, {
      'prompts/get': (turn) => turn.json({ jsonrpc: '2.0', ...id, error }, 400),
      'prompts/list': (turn) =>
        turn
          .stream()
          .event({ jsonrpc: '2.0', ...id, error })
          .end(),
    });
    expect(answered(await ask('e', 'prompts/get', { name: 'p' }))).toEqual({ jsonrpc: '2.0', id: 'e', error });
    expect(answered(await ask('f', 'prompts/list', {}))).toEqual({ jsonrpc: '2.0', id: 'f', error });
  });

  it(
    'answers every call in flight when the backend disconnects',
    verifies('protocol:error:connection-closed'),
    async () => {
      const held = new Held();
      const { ask, backend } = await pairOf(era, { 'prompts/get': held.take });
      const calls = [1, 2, 3].map((id) => ask(id, 'prompts/get', { name: 'p' }));
      await held.nth(3);
      await backend.close();
      for (const [index, answer] of (await Promise.all(calls)).entries()) {
        expect(answered(answer)).toEqual(refusal({ ...unavailable, id: index + 1 }));
      }
    },
  );

  it('answers every call in flight when the process ends', verifies('protocol:error:connection-closed'), async () => {
    const backend = await (era === 'legacy' ? legacyProcess : modernProcess)({ 'prompts/get': () => undefined });
    const gateway = await startBeforeProcess(backend);
    const { ask } = await caller(era, gateway.url('b'));
    const calls = [1, 2, 3].map((id) => ask(id, 'prompts/get', { name: 'p' }));
    const { process } = await backend.arrival('prompts/get', 3);
    process.exit(3);
    for (const [index, answer] of (await Promise.all(calls)).entries()) {
      expect(answered(answer)).toMatchObject({
        id: index + 1,
        error: { code: -32603, data: { reason: 'backend_unavailable' } },
      });
    }
  });
});
