/** A resource that does not exist has one code in each era, whoever says it. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { send } from '../harness/client.ts';
import { connectLegacy, eras, modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { legacyBackend, modernBackend, type Script } from '../harness/http-backend.ts';

const uri = 'note://nowhere';
const missing = (code: number): Script => ({
  'resources/read': (turn) => turn.error(code, 'Resource not found', { uri }),
});
const codes = { legacy: -32002, modern: -32602 };

describe.each(eras)('a missing resource of a %s backend', (of) => {
  const backendOf = () => (of === 'legacy' ? legacyBackend : modernBackend)(missing(codes[of]));

  it('is -32002 for a legacy client', verifies('resources:read:unknown-uri'), async () => {
    const backend = await backendOf();
    const gateway = await startGateway({ backends: { b: { url: backend.url } } });
    const client = await connectLegacy(gateway.url('b'));
    const answer = await client.post({ jsonrpc: '2.0', id: 'r', method: 'resources/read', params: { uri } });
    expect({ status: answer.status, body: answer.json() }).toEqual({
      status: 200,
      body: { jsonrpc: '2.0', id: 'r', error: { code: -32002, message: 'Resource not found', data: { uri } } },
    });
  });

  it('is -32602 for a modern client', verifies('resources:read:unknown-uri'), async () => {
    const backend = await backendOf();
    const gateway = await startGateway({ backends: { b: { url: backend.url } } });
    const answer = await send(gateway.url('b'), modern({ id: 'r', method: 'resources/read', params: { uri } }));
    expect({ status: answer.status, body: answer.json() }).toEqual({
      status: 200,
      body: { jsonrpc: '2.0', id: 'r', error: { code: -32602, message: 'Resource not found', data: { uri } } },
    });
  });
});
