/** Over stdio nobody presents anything: whoever started the gateway is the local principal of the config. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { initialize, modernMeta } from '../harness/eras.ts';
import type { ConfigValue } from '../harness/gateway.ts';
import { modernBackend } from '../harness/http-backend.ts';
import { configFile, StdioClient } from '../harness/program.ts';

async function startWith(local: ConfigValue | undefined): Promise<StdioClient> {
  const backend = await modernBackend({
    'tools/list': (turn) => turn.result({ tools: [], resultType: 'complete', ttlMs: 0, cacheScope: 'private' }),
  });
  const identity = {
    keys: { file: 'keys.json' },
    scopes: { required: ['mcp:use'], methods: { 'tools/list': ['tools:list'] } },
    ...(local && { local }),
  };
  return new StdioClient(configFile({ backends: { b: { url: backend.url } }, identity }));
}

const list = { jsonrpc: '2.0', id: 2, method: 'tools/list', params: { _meta: modernMeta() } };
const forbidden = (id: unknown, missing: readonly string[], required = missing) => ({
  jsonrpc: '2.0',
  id,
  error: { code: 403, message: 'More scopes are needed', data: { reason: 'scope_insufficient', required, missing } },
});

describe('the local principal', verifies('gateway:stdio:local-principal'), () => {
  it('may do everything, unless the config restricts it', async () => {
    const client = await startWith(undefined);
    expect((await client.ask(list)).result.tools).toEqual([]);
    const legacy = await startWith(undefined);
    expect((await legacy.ask(initialize())).result.protocolVersion).toBe('2025-11-25');
  });

  it('has the scopes that the config gives, and no others', async () => {
    const client = await startWith({ scopes: ['mcp:use'] });
    expect(await client.ask(list)).toEqual(forbidden(2, ['tools:list'], ['mcp:use', 'tools:list']));
    const discover = { jsonrpc: '2.0', id: 3, method: 'server/discover', params: { _meta: modernMeta() } };
    expect((await client.ask(discover)).result.supportedVersions).toContain('2026-07-28');
    const nothing = await startWith({ scopes: [] });
    expect(await nothing.ask(initialize())).toEqual(forbidden('init', ['mcp:use']));
    const enough = await startWith({ scopes: ['mcp:use', 'tools:list'] });
    expect((await enough.ask(list)).result.tools).toEqual([]);
  });
});
