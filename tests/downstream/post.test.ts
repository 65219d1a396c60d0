/** POST: what reaches the gateway, and how the answer looks. */
import { describe, expect, it } from 'vitest';
import { Failure } from '../../src/errors/failure.ts';
import { ask, both, endpoint, errorIn, note, ping, pong, start } from './harness.ts';

describe('an accepted POST', () => {
  it('hands over the message, its headers, its credentials and its parameters', async () => {
    const running = await start();
    const headers = {
      Authorization: 'Bearer t',
      'Mcp-Session-Id': 's',
      'Mcp-Param-Region': 'eu',
      'MCP-PARAM-tier': '=?base64?eA==?=',
    };
    await ask(running, { body: ping, headers });
    const [arrival] = running.gateway.arrivals;
    expect(arrival?.endpoint).toBe(endpoint);
    expect(arrival?.sender.credentials).toMatchObject({ rawHeaders: expect.arrayContaining(['Bearer t']) });
    expect(arrival?.header('mcp-session-id')).toBe('s');
    expect(arrival?.header('absent')).toBeUndefined();
    expect(arrival?.header('constructor')).toBeUndefined();
    expect(arrival?.paramHeaders).toEqual({ 'mcp-param-region': 'eu', 'mcp-param-tier': '=?base64?eA==?=' });
    expect(Buffer.from(arrival?.message.bytes ?? []).toString()).toBe(ping);
    expect(arrival?.message.kind).toBe('request');
  });

  it('has no parameters and no credentials if none were sent', async () => {
    const running = await start();
    await ask(running, { body: ping });
    expect(running.gateway.arrivals[0]?.paramHeaders).toBeUndefined();
    const [arrival] = running.gateway.arrivals;
    expect(
      JSON.stringify(arrival?.sender.credentials !== 'local' && arrival?.sender.credentials.rawHeaders),
    ).not.toMatch(/authorization/i);
  });

  it('hands on an array unread', async () => {
    const running = await start();
    running.gateway.onReceive = ({ reply }) => reply.refuse(new Failure('unsupported_mcp_batch'), 'legacy');
    const answer = await ask(running, { body: ' [not even JSON' });
    expect(running.gateway.arrivals[0]?.message.kind).toBe('batch');
    expect(answer.status).toBe(400);
    expect(errorIn(answer)).toEqual({ code: -32600, reason: 'unsupported_mcp_batch', id: undefined });
  });

  const deep = `{"jsonrpc":"2.0","id":"x","method":"m","params":{"a":${'['.repeat(200)}${']'.repeat(200)}}}`;
  it.each([
    { name: 'no body', body: '', code: -32700, reason: 'parse_error', id: undefined },
    { name: 'no JSON', body: '{"jsonrpc":', code: -32700, reason: 'parse_error', id: undefined },
    {
      name: 'invalid UTF-8',
      body: Buffer.from([0x22, 0xff, 0x22]),
      code: -32700,
      reason: 'parse_error',
      id: undefined,
    },
    { name: 'no message', body: '{"jsonrpc":"2.0"}', code: -32600, reason: 'invalid_request', id: undefined },
    {
      name: 'a null id',
      body: '{"jsonrpc":"2.0","id":null,"method":"m"}',
      code: -32600,
      reason: 'invalid_request',
      id: undefined,
    },
    {
      name: 'twins',
      body: '{"jsonrpc":"2.0","id":4,"method":"m","params":{"a":1,"\\u0061":2}}',
      code: -32600,
      reason: 'ambiguous_json',
      id: 4,
    },
    { name: 'a deep one', body: deep, code: -32600, reason: 'too_deep', id: 'x' },
  ])('answers $name with 400', async ({ body, code, reason, id }) => {
    const running = await start();
    const answer = await ask(running, { body });
    expect(answer.status).toBe(400);
    expect(answer.headers['content-type']).toBe('application/json');
    expect(errorIn(answer)).toEqual({ code, reason, id });
    expect(running.gateway.arrivals).toEqual([]);
  });

  it('rejects what a client cannot accept with 406, by the profile', async () => {
    const strict = { ...endpoint, path: '/strict', profile: { ...endpoint.profile, accept: 'strict' } } as const;
    const running = await start({ endpoints: [endpoint, strict] });
    const none = await ask(running, { body: ping, headers: { Accept: 'text/html' } });
    expect(none.status).toBe(406);
    expect(errorIn(none)).toEqual({ code: -32600, reason: 'not_acceptable', id: undefined });
    expect((await ask(running, { path: '/strict', body: ping, headers: { Accept: '*/*' } })).status).toBe(406);
    expect((await ask(running, { path: '/strict', body: ping, headers: { Accept: both } })).status).toBe(200);
  });
});

describe('immediate responses', () => {
  it('is JSON with its length', async () => {
    const running = await start();
    const answer = await ask(running, { body: ping, headers: { Accept: both } });
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toBe('application/json');
    expect(answer.headers['content-length']).toBe(String(pong.length));
    expect(answer.body).toBe(pong.toString());
  });

  it('carries the headers of an initialize', async () => {
    const running = await start();
    running.gateway.onReceive = ({ reply }) => reply.respond(pong, { 'Mcp-Session-Id': 'abc' });
    const json = await ask(running, { body: ping });
    expect(json.headers['mcp-session-id']).toBe('abc');
    const sse = await ask(running, { body: ping, headers: { Accept: 'text/event-stream' } });
    expect(sse.headers['mcp-session-id']).toBe('abc');
    expect(sse.headers['content-type']).toBe('text/event-stream');
    expect(sse.body).toBe(`data: ${pong}\n\n`);
  });

  it('are 202 without a body for accepted messages', async () => {
    const running = await start();
    const answer = await ask(running, { body: note });
    expect(answer.status).toBe(202);
    expect(answer.headers['content-length']).toBe('0');
    expect(answer.headers['content-type']).toBeUndefined();
    expect(answer.body).toBe('');
  });

  it.each([
    { name: 'in the form of the era', reason: 'session_not_found', era: 'legacy', status: 404, code: -32001 },
    { name: 'in the form of the other era', reason: 'session_not_found', era: 'modern', status: 404, code: -32600 },
    { name: 'inside the exchange', reason: 'policy_denied', era: 'legacy', status: 200, code: 403 },
    { name: 'with its own status', reason: 'header_mismatch', era: 'modern', status: 400, code: -32020 },
  ] as const)('refuses a request $name, with its id', async ({ reason, era, status, code }) => {
    const running = await start();
    running.gateway.onReceive = ({ reply }) => reply.refuse(new Failure(reason), era);
    const answer = await ask(running, { body: ping });
    expect(answer.status).toBe(status);
    expect(errorIn(answer)).toEqual({ code, reason, id: 7 });
  });

  it.each([
    { reason: 'policy_denied', status: 403 },
    { reason: 'backend_unavailable', status: 502 },
    { reason: 'internal_error', status: 500 },
    { reason: 'invalid_params', status: 400 },
    { reason: 'session_required', status: 400 },
  ] as const)('refuses a notification with an HTTP status: $reason is $status', async ({ reason, status }) => {
    const running = await start();
    running.gateway.onReceive = ({ reply }) => reply.refuse(new Failure(reason), 'legacy');
    const answer = await ask(running, { body: note });
    expect(answer.status).toBe(status);
    expect(errorIn(answer).id).toBeUndefined();
  });

  it('happens once: later answers are ignored', async () => {
    const running = await start();
    running.gateway.onReceive = ({ reply }) => {
      reply.respond(pong);
      reply.accepted();
      reply.refuse(new Failure('internal_error'), 'legacy');
      const [outlet] = reply.open({ era: 'modern', requests: 1, batch: false, longLived: false });
      outlet?.settle({ kind: 'response', bytes: pong });
    };
    expect((await ask(running, { body: ping })).body).toBe(pong.toString());
  });

  it('is an internal error with a log id and no detail where our own code fails', async () => {
    const running = await start();
    running.gateway.onReceive = () => {
      throw new Error('secret');
    };
    const answer = await ask(running, { body: ping });
    expect(answer.status).toBe(200);
    expect(answer.body).toBe(
      '{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"Internal error","data":{"reason":"internal_error","logId":"log-1"}}}',
    );
    expect(running.notes.faults).toEqual([new Error('secret')]);
  });

  it('fail an opened exchange if our own code throws afterwards', async () => {
    const running = await start();
    running.gateway.onReceive = ({ reply }) => {
      reply.open({ era: 'legacy', requests: 1, batch: false, longLived: false });
      throw new Error('secret');
    };
    expect(errorIn(await ask(running, { body: ping }))).toEqual({ code: -32603, reason: 'internal_error', id: 7 });
  });
});
