/** A tool that has several names is guarded under all of them. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { openShop, tool } from '../catalog/shop.ts';
import { send } from '../harness/client.ts';
import { KeyRing } from '../harness/credentials.ts';
import { initialize, modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';

const names = ['danger', 'm__danger'];

async function guarded(naming: string, scopes: readonly string[]) {
  const ring = new KeyRing();
  const headers = { authorization: `Bearer ${ring.make('ada', { scopes: [...scopes] })}` };
  onTestFinished(() => ring.close());
  const shops = [
    await openShop('modern', 'm', { tools: [tool('danger')] }),
    await openShop('legacy', 'l', { tools: [tool('other')] }),
  ];
  const gateway = await startGateway({
    backends: Object.fromEntries(shops.map(({ name, backend }) => [name, { url: backend.url }])),
    identity: { keys: { file: ring.path }, scopes: { tools: { danger: ['tools:danger'] } } },
    endpoints: [{ path: '/mcp', names: naming }],
  });
  const calls = () => shops.flatMap(({ backend }) => backend.of('tools/call'));
  return { url: gateway.url(), headers, calls };
}

describe.each(['collision', 'never'])('when names are changed %s', (naming) => {
  it.each(names)('%s needs the scope of the tool', verifies('gateway:identity:insufficient-scope'), async (name) => {
    const { url, headers, calls } = await guarded(naming, []);
    const call = modern({ method: 'tools/call', params: { name, arguments: {} }, headers });
    // Where the name leads nowhere at all, there is nothing to guard.
    const reason = naming === 'never' && name === 'm__danger' ? 'invalid_params' : 'scope_insufficient';
    expect((await send(url, call)).json().error.data.reason).toBe(reason);
    const session = await send(url, { body: initialize(), headers });
    const id = session.headers['mcp-session-id'] as string;
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name } };
    const answer = await send(url, { body, headers: { ...headers, 'mcp-session-id': id } });
    expect(answer.json().error.data.reason).toBe(reason);
    expect(calls()).toEqual([]);
  });
});

it('a principal with the scope may use any of them', verifies('gateway:identity:insufficient-scope'), async () => {
  const { url, headers, calls } = await guarded('collision', ['tools:danger']);
  for (const name of names) {
    const answer = await send(url, modern({ method: 'tools/call', params: { name, arguments: {} }, headers }));
    expect(answer.json().result).toBeDefined();
  }
  expect(calls()).toHaveLength(2);
});
