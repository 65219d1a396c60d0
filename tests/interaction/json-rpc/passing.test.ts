/** What a JSON-RPC endpoint passes on, and how: as the bytes that came, both ways, with none of MCP's own rules. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { send } from '../harness/client.ts';
import { ask, echo, json, openShop, tell } from './setup.ts';

describe('bytes', () => {
  const bodies = [
    {
      name: 'parameters by name',
      body: '{"jsonrpc":"2.0","id":7,"method":"add","params":{"a":1.0,"a2":12345678901234567890}}',
    },
    { name: 'parameters by position', body: '{ "jsonrpc" : "2.0", "method":"subtract", "params":[42, 23], "id":"x" }' },
    { name: 'an id that is null', body: '{"jsonrpc":"2.0","id":null,"method":"m"}' },
    { name: 'an id that is a fraction', body: '{"jsonrpc":"2.0","id":1.50,"method":"m"}' },
    { name: 'unknown members', body: '{"id":1,"x-extra":{"b":[]},"method":"rpc.discover","jsonrpc":"2.0"}' },
    { name: 'a method that MCP has', body: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[1]}' },
    {
      name: 'a batch',
      body: '[ {"jsonrpc":"2.0","id":1,"method":"a"} ,{"jsonrpc":"2.0","method":"b"},\n{"jsonrpc":"2.0","id":"2","method":"c","params":[]}]',
    },
    { name: 'a batch with an `initialize`', body: '[{"jsonrpc":"2.0","id":1,"method":"initialize"}]' },
  ];
  it.each(bodies)(
    '$name reach the service as they were sent',
    verifies('gateway:json-rpc:lossless'),
    async ({ body }) => {
      const shop = await openShop();
      const { status, headers } = await shop.post(body);
      expect(status).toBe(200);
      expect(headers['content-type']).toBe('application/json');
      expect(shop.service.visits.map(({ text }) => text)).toEqual([body]);
    },
  );

  it('a response reaches the client unchanged, with its status', verifies('gateway:json-rpc:lossless'), async () => {
    const said = ' {"jsonrpc": "2.0", "id": 1, "result": 1.0, "more": [12345678901234567890]}\n';
    const shop = await openShop({ serve: ({ response }) => json(response, said) });
    expect((await shop.post(ask('m'))).body).toBe(said);
    const refused = '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}';
    shop.service.serve = ({ response }) => json(response, refused, 404);
    const answer = await shop.post(ask('m'));
    expect({ status: answer.status, body: answer.body }).toEqual({ status: 404, body: refused });
  });

  it(
    'the service gets the configured headers, and none of the client',
    verifies('gateway:json-rpc:lossless', 'gateway:identity:token-not-forwarded'),
    async () => {
      const shop = await openShop({ service: { headers: { 'X-Key': 'ours' } } });
      await shop.post(ask('m'), { authorization: 'Bearer theirs', 'x-key': 'theirs', cookie: 'c=1' });
      const { headers } = shop.service.visits[0]!;
      expect(headers).toMatchObject({
        accept: 'application/json',
        'content-type': 'application/json',
        'x-key': 'ours',
      });
      expect([headers.authorization, headers.cookie, headers['mcp-protocol-version']]).toEqual([
        undefined,
        undefined,
        undefined,
      ]);
    },
  );
});

describe('messages without a response', () => {
  const silent = [
    { name: 'a notification', body: tell('log', { a: 1 }) },
    { name: 'a batch of notifications', body: [tell('a'), tell('b')] },
    { name: 'an answer of the client', body: { jsonrpc: '2.0', id: 5, result: 'yes' } },
    { name: 'an error of the client', body: { jsonrpc: '2.0', id: null, error: { code: 1, message: 'no' } } },
    { name: 'a batch of answers', body: [{ jsonrpc: '2.0', id: 5, result: null }] },
  ];
  it.each(silent)('$name is handed over: the status alone', verifies('gateway:json-rpc:one-way'), async ({ body }) => {
    const shop = await openShop();
    const { status, body: said } = await shop.post(body);
    expect({ status, said }).toEqual({ status: 204, said: '' });
    expect(JSON.parse(shop.service.visits[0]!.text)).toEqual(body);
  });

  it('202 of the service is 202, and its body is dropped', verifies('gateway:json-rpc:one-way'), async () => {
    const shop = await openShop({ serve: ({ response }) => json(response, { noise: true }, 202) });
    const { status, body } = await shop.post(tell('m'));
    expect({ status, body }).toEqual({ status: 202, body: '' });
  });
});

describe('a batch', () => {
  it('is answered with the array that the service gave', verifies('gateway:json-rpc:batch-served'), async () => {
    const shop = await openShop();
    const answer = await shop.post([ask('a', [1]), tell('b'), ask('c', { d: 1 }, 'x')]);
    expect(answer.json()).toEqual([
      { jsonrpc: '2.0', id: 1, result: { method: 'a', params: [1] } },
      { jsonrpc: '2.0', id: 'x', result: { method: 'c', params: { d: 1 } } },
    ]);
    expect(shop.service.visits).toHaveLength(1);
  });

  it('may be answered as a whole', verifies('gateway:json-rpc:batch-served'), async () => {
    const whole = { jsonrpc: '2.0', id: null, error: { code: -32600, message: 'no batches' } };
    const shop = await openShop({ serve: ({ response }) => json(response, whole, 400) });
    const answer = await shop.post([ask('a')]);
    expect({ status: answer.status, body: answer.json() }).toEqual({ status: 400, body: whole });
  });
});

describe('HTTP', () => {
  it.each(['GET', 'DELETE', 'PUT'])('%s is 405', verifies('gateway:json-rpc:post-alone'), async (method) => {
    const shop = await openShop();
    const { status, headers } = await send(shop.url, { method });
    expect({ status, allow: headers.allow }).toEqual({ status: 405, allow: 'POST, OPTIONS' });
    expect(shop.service.bytes).toBe(0);
  });

  const gates = [
    { name: 'a foreign origin', headers: { origin: 'https://evil.example' }, status: 403 },
    { name: 'another host', headers: { host: 'evil.example' }, status: 403 },
    { name: 'another media type', headers: { 'content-type': 'text/plain' }, status: 415 },
    { name: 'a client that takes no JSON', headers: { accept: 'text/event-stream' }, status: 406 },
  ];
  it.each(gates)(
    '$name is $status, and nothing reaches the service',
    verifies('gateway:json-rpc:guarded'),
    async ({ headers, status }) => {
      const shop = await openShop();
      expect((await shop.post(ask('m'), headers)).status).toBe(status);
      expect(shop.service.bytes).toBe(0);
    },
  );

  it(
    'an MCP endpoint beside it is not affected',
    verifies('gateway:json-rpc:batch-served', 'gateway:legacy:batch-refused'),
    async () => {
      const shop = await openShop({
        serve: echo,
        more: { endpoints: [{ path: '/rpc', protocol: 'json-rpc' }, { path: '/mcp' }] },
      });
      const answer = await send(`${shop.gateway.origin}/mcp`, { body: [ask('a')] });
      expect(answer.json().error.data.reason).toBe('unsupported_mcp_batch');
      expect((await shop.post([ask('a')])).status).toBe(200);
    },
  );
});
