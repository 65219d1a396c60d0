/** What no backend behind the endpoint has: it does not exist, and nobody is asked. */
import { describe, expect, it } from 'vitest';
import type { Era } from '../../../src/wire/revisions.ts';
import { verifies } from '../../requirements/verifies.ts';
import { type Behind, behindLegacy, behindModern, expectRefused, request, result } from '../harness/behind.ts';
import { send } from '../harness/client.ts';
import { connectLegacy, eras, modern } from '../harness/eras.ts';
import type { Script } from '../harness/http-backend.ts';

function behindOf(era: Era, script: Script, capabilities: object): Promise<Behind> {
  return (era === 'legacy' ? behindLegacy : behindModern)(script, { backend: { capabilities } });
}

const notFound = (reason: string, method: string) => ({
  code: -32601,
  message: 'Method not found',
  reason,
  data: { method },
  id: 7,
});

describe('a method whose capability the backend lacks', verifies('gateway:failure:capability-absent'), () => {
  const reference = { ref: { type: 'ref/prompt', name: 'x' }, argument: { name: 'a', value: '' } };
  const methods = [
    { method: 'prompts/list', params: {} },
    { method: 'prompts/get', params: { name: 'x' } },
    { method: 'resources/list', params: {} },
    { method: 'resources/templates/list', params: {} },
    { method: 'resources/read', params: { uri: 'file:///x' } },
    { method: 'completion/complete', params: reference },
  ];
  const legacyAlone = [
    { method: 'resources/subscribe', params: { uri: 'file:///x' } },
    { method: 'resources/unsubscribe', params: { uri: 'file:///x' } },
    { method: 'logging/setLevel', params: { level: 'info' } },
  ];

  it.each(eras)('is unknown for a legacy client of a %s backend', async (era) => {
    const { backend, url } = await behindOf(era, {}, { tools: {} });
    const client = await connectLegacy(url);
    if (era === 'legacy') await backend.standing();
    backend.forget();
    for (const { method, params } of [...methods, ...legacyAlone]) {
      expectRefused(await client.post(request(7, method, params)), 200, notFound('method_not_found', method));
    }
    expect(backend.bytes).toBe(0);
  });

  it.each(eras)('is unknown for a modern client of a %s backend', async (era) => {
    const listed = { resultType: 'complete', tools: [], ttlMs: 0, cacheScope: 'private' };
    const { backend, url } = await behindOf(era, { 'tools/list': (turn) => turn.result(listed) }, { tools: {} });
    // From now on the backend is known.
    expect((await send(url, modern({ method: 'tools/list' }))).status).toBe(200);
    if (era === 'legacy') await backend.standing();
    backend.forget();
    for (const { method, params } of methods) {
      expectRefused(await send(url, modern({ id: 7, method, params })), 404, notFound('method_removed', method));
    }
    expect(backend.bytes).toBe(0);
  });
});

describe('`resources/unsubscribe`', verifies('gateway:failure:unsubscribe-needs-resources'), () => {
  const uri = { uri: 'file:///x' };
  const script: Script = { 'resources/unsubscribe': (turn) => turn.result({}) };

  it('needs `resources`, and not `subscribe`', async () => {
    const { backend, url } = await behindOf('legacy', script, { resources: {} });
    const client = await connectLegacy(url);
    expect((await client.post(request(7, 'resources/unsubscribe', uri))).json()).toEqual(result(7, {}));
    expect(backend.of('resources/unsubscribe')[0]?.message.params).toEqual(uri);
    const refused = await client.post(request(7, 'resources/subscribe', uri));
    expectRefused(refused, 200, notFound('method_not_found', 'resources/subscribe'));
    expect(backend.of('resources/subscribe')).toEqual([]);
  });

  it('is unknown without `resources`', async () => {
    const { backend, url } = await behindOf('legacy', script, { tools: {} });
    const client = await connectLegacy(url);
    const refused = await client.post(request(7, 'resources/unsubscribe', uri));
    expectRefused(refused, 200, notFound('method_not_found', 'resources/unsubscribe'));
    expect(backend.of('resources/unsubscribe')).toEqual([]);
  });
});
