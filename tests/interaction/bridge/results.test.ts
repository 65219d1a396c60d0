/**
 * Results and errors in the words of the other era; what belongs to the tool, the prompt or the resource stays as it
 * is.
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { behindLegacy, behindModern, request } from '../harness/behind.ts';
import { type Json, send } from '../harness/client.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import type { Turn } from '../harness/http-backend.ts';

const serverInfo = { 'io.modelcontextprotocol/serverInfo': { name: 'legacy', version: '1' } };
const requests = [
  { method: 'tools/list', params: {} },
  { method: 'prompts/list', params: {} },
  { method: 'resources/list', params: {} },
  { method: 'resources/templates/list', params: {} },
  { method: 'resources/read', params: { uri: 'a://b' } },
  { method: 'tools/call', params: { name: 't' } },
  { method: 'prompts/get', params: { name: 'p' } },
  { method: 'completion/complete', params: { ref: { type: 'ref/prompt', name: 'p' } } },
];

/** Every method is answered with the same raw result. */
const answering = (result: string) =>
  Object.fromEntries(
    requests.map(({ method }) => [
      method,
      (turn: Turn) => turn.json(`{"jsonrpc":"2.0","result":${result},"id":${JSON.stringify(turn.message.id)}}`),
    ]),
  );

// Words of the protocol are words of the protocol at the top alone.
const own = '"z":1.0,"deep":{"resultType":"x","ttlMs":5,"cacheScope":"y","_meta":{}},"a":[{"ttlMs":null}]';

describe('a result of a modern backend', verifies('gateway:bridge:results-stripped'), () => {
  const cases = [
    { name: 'its type', from: `{"resultType":"complete",${own}}`, to: `{${own}}` },
    {
      name: 'cache hints',
      from: `{${own},"ttlMs":5,"resultType":"complete","cacheScope":"public"}`,
      to: `{${own}}`,
    },
    {
      name: 'the server info',
      from: `{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"m","version":"1"}},${own}}`,
      to: `{${own}}`,
    },
    {
      name: 'the server info beside other members',
      from: `{"_meta":{"traceparent":"00-\\u0031","io.modelcontextprotocol/serverInfo":{},"com.example/x":1e2},${own},"resultType":"complete"}`,
      to: `{"_meta":{"traceparent":"00-\\u0031","com.example/x":1e2},${own}}`,
    },
    { name: 'nothing, if there is nothing', from: `{${own}}`, to: `{${own}}` },
  ];
  it.each(cases)('reaches a legacy client without $name', async ({ from, to }) => {
    const { url } = await behindModern(answering(from));
    const client = await connectLegacy(url);
    for (const { method, params } of requests) {
      const answer = await client.post(request(method, method, params));
      expect({ method, body: answer.body }).toEqual({
        method,
        body: `{"jsonrpc":"2.0","id":"${method}","result":${to}}`,
      });
    }
  });
});

describe('a result of a legacy backend', verifies('gateway:bridge:results-completed'), () => {
  const cacheable = (method: string) => method.endsWith('list') || method === 'resources/read';

  it('reaches a modern client with result type, cache hints and server info, and otherwise unchanged', async () => {
    const { url } = await behindLegacy(answering(`{${own}}`));
    for (const { method, params } of requests) {
      const answer = await send(url, modern({ method, params }));
      const hints = cacheable(method) ? ',"ttlMs":0,"cacheScope":"private"' : '';
      const meta = `"_meta":${JSON.stringify(serverInfo)}`;
      expect({ method, body: answer.body }).toEqual({
        method,
        body: `{"jsonrpc":"2.0","id":1,"result":{${own},"resultType":"complete"${hints},${meta}}}`,
      });
    }
  });

  it('keeps its own _meta, and adds only what the gateway knows', async () => {
    const { url } = await behindLegacy(
      answering('{"resultType":"input_required","ttlMs":9,"cacheScope":"public","_meta":{"a":1.0,"b":"\\u0041"}}'),
    );
    for (const { method, params } of requests) {
      const { result } = (await send(url, modern({ method, params }))).json();
      expect({ method, ...result }).toEqual({
        method,
        resultType: 'complete',
        ...(cacheable(method) ? { ttlMs: 0, cacheScope: 'private' } : { ttlMs: 9, cacheScope: 'public' }),
        _meta: { a: 1, b: 'A', ...serverInfo },
      });
    }
  });
});

describe('a resource that no backend has', verifies('gateway:catalog:unknown-resource'), () => {
  const uri = 'file:///no%20where';
  const missing = (code: number, data: object = { uri }) => ({ code, message: 'Resource not found', data });
  const backends = [
    { era: 'legacy', code: -32002, behind: behindLegacy },
    { era: 'modern', code: -32602, behind: behindModern },
  ];
  it.each(backends)(
    'at a $era backend is -32002 for legacy clients and -32602 for modern ones',
    async ({ code, behind }) => {
      const { url } = await behind({
        'resources/read': (turn) => turn.error(code, 'Resource not found', { uri: turn.message.params.uri }),
      });
      const client = await connectLegacy(url);
      const older = await client.post(request(1, 'resources/read', { uri }));
      const newer = await send(url, modern({ method: 'resources/read', params: { uri } }));
      const answers: Json[] = [older, newer].map((answer) => ({ status: answer.status, ...answer.json() }));
      expect(answers).toEqual([
        { status: 200, jsonrpc: '2.0', id: 1, error: missing(-32002) },
        { status: 200, jsonrpc: '2.0', id: 1, error: missing(-32602) },
      ]);
    },
  );

  it('does not follow from other errors of a modern backend', async () => {
    const data = [{ uri: 'file:///other' }, { field: 'uri' }, 'uri', null];
    const { url } = await behindModern({
      'resources/read': (turn) => turn.error(-32602, 'Resource not found', data[Number(turn.message.params.uri)]),
      'tools/call': (turn) => turn.error(-32602, 'Resource not found', { uri: turn.message.params.uri }),
    });
    const client = await connectLegacy(url);
    for (const [index, told] of data.entries()) {
      const answer = await client.post(request(1, 'resources/read', { uri: String(index) }));
      expect(answer.json().error).toEqual({ code: -32602, message: 'Resource not found', data: told });
    }
    const call = await client.post(request(1, 'tools/call', { name: 't', uri }));
    expect(call.json().error).toEqual(missing(-32602));
  });
});
