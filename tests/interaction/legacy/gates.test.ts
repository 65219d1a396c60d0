/** What HTTP itself refuses, before anybody asks whose message it is. None of it reaches a backend. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { behindLegacy, call, echo, expectRefused, request, result, text } from '../harness/behind.ts';
import { type Call, send } from '../harness/client.ts';
import { connectLegacy, initialize, LegacyClient, modern, modernHeaders } from '../harness/eras.ts';

const sse = { accept: 'text/event-stream' };

/** Every way in: which it is, and what a client of it would send. */
const posts: { name: string; call: Call }[] = [
  { name: 'initialize', call: { body: initialize() } },
  { name: 'a legacy request', call: { body: call(1), headers: { 'mcp-session-id': 'x' } } },
  { name: 'a modern request', call: modern({ method: 'tools/list' }) },
];

describe('Accept', verifies('hosting:http:accept-406'), () => {
  const notAcceptable = { code: -32600, reason: 'not_acceptable' };

  it.each(posts)('of $name that names neither JSON nor event streams is 406', async ({ call: sent }) => {
    const { url, backend } = await behindLegacy(echo);
    for (const accept of ['text/html', 'image/*', 'application/json;q=0, text/event-stream;q=0', 'application/xml']) {
      const answer = await send(url, { ...sent, headers: { ...sent.headers, accept } });
      const message = 'Not acceptable: the client must accept application/json and text/event-stream';
      expectRefused(answer, 406, { ...notAcceptable, message });
    }
    expect(backend.bytes).toBe(0);
  });

  it('of a GET that does not accept an event stream is 406', async () => {
    const { url } = await behindLegacy();
    const client = await connectLegacy(url);
    for (const accept of ['application/json', 'text/html']) {
      const answer = await send(url, { method: 'GET', headers: { ...client.headers, accept } });
      expectRefused(answer, 406, {
        ...notAcceptable,
        message: 'Not acceptable: the client must accept text/event-stream',
      });
    }
  });

  it('of a subscription that accepts JSON alone is 406', async () => {
    const { url } = await behindLegacy();
    const sent = modern({ id: 5, method: 'subscriptions/listen', params: { notifications: {} } });
    const answer = await send(url, { ...sent, headers: { ...sent.headers, accept: 'application/json' } });
    const message = 'Not acceptable: the response is an event stream';
    expectRefused(answer, 406, { ...notAcceptable, id: 5, message });
  });

  it('of a strict profile must name both', async () => {
    const { url, backend } = await behindLegacy({}, { endpoint: { profile: { accept: 'strict' } } });
    for (const accept of ['application/json', 'text/event-stream', '*/*']) {
      expect((await send(url, { body: initialize(), headers: { accept } })).status).toBe(406);
    }
    expect(backend.bytes).toBe(0);
    expect((await send(url, { body: initialize() })).status).toBe(200);
  });
});

describe('Content-Type', verifies('hosting:http:content-type-415'), () => {
  const types = ['text/plain', 'application/json; charset=utf-16', 'application/jsonp', 'multipart/form-data', ''];

  it.each(posts)('of $name that is not JSON is 415', async ({ call: sent }) => {
    const { url, backend } = await behindLegacy(echo);
    for (const type of types) {
      const answer = await send(url, { ...sent, headers: { ...sent.headers, 'content-type': type } });
      const message = 'Content-Type must be application/json';
      expectRefused(answer, 415, { code: -32600, message, reason: 'unsupported_media_type' });
    }
    expect(backend.bytes).toBe(0);
    const fine = { ...sent.headers, 'content-type': 'Application/JSON; charset="UTF-8"' };
    expect((await send(url, { ...sent, headers: fine })).status).not.toBe(415);
  });
});

describe('the method', verifies('hosting:http:method-405'), () => {
  const both = 'GET, POST, DELETE, OPTIONS';
  const rows = [
    { path: '/mcp', methods: ['PUT', 'PATCH', 'HEAD', 'TRACE'], allow: both },
    { path: '/sse', methods: ['POST', 'PUT', 'DELETE'], allow: 'GET, OPTIONS' },
    { path: '/messages', methods: ['GET', 'DELETE'], allow: 'POST, OPTIONS' },
    { path: '/healthz', methods: ['POST', 'DELETE'], allow: 'GET, HEAD, OPTIONS' },
    { path: '/readyz', methods: ['POST', 'PUT'], allow: 'GET, HEAD, OPTIONS' },
  ];

  it.each(rows)(
    'that $path does not serve is 405, and Allow names the served ones',
    async ({ path, methods, allow }) => {
      const { gateway, backend } = await behindLegacy();
      for (const method of methods) {
        const answer = await send(`${gateway.origin}${path}`, { method, headers: { 'mcp-session-id': 'x' } });
        expect({ status: answer.status, allow: answer.headers.allow }).toEqual({ status: 405, allow });
        if (method === 'HEAD') continue;
        expect(answer.json()).toEqual({
          jsonrpc: '2.0',
          error: { code: -32600, message: 'Method not allowed', data: { reason: 'method_not_allowed' } },
        });
      }
      expect(backend.bytes).toBe(0);
    },
  );

  it('that only the legacy era has is 405 for a modern client, and where there is no legacy revision', async () => {
    const dual = await behindLegacy();
    const single = await behindLegacy({}, { endpoint: { profile: { revisions: ['2026-07-28'] } } });
    for (const method of ['GET', 'DELETE']) {
      const spoken = await send(dual.url, { method, headers: { ...sse, ...modernHeaders('tools/list') } });
      const only = await send(single.url, { method, headers: { ...sse, 'mcp-session-id': 'x' } });
      for (const { status, headers } of [spoken, only]) {
        expect({ status, allow: headers.allow }).toEqual({ status: 405, allow: 'POST, OPTIONS' });
      }
    }
  });
});

describe('the origin of a request', verifies('hosting:http:dns-rebinding'), () => {
  const ways: { method: string; path: string }[] = [
    ...['GET', 'POST', 'DELETE', 'OPTIONS'].map((method) => ({ method, path: '/mcp' })),
    ...['GET', 'OPTIONS'].map((method) => ({ method, path: '/sse' })),
    ...['POST', 'OPTIONS'].map((method) => ({ method, path: '/messages?sessionId=x' })),
    ...['GET', 'HEAD', 'OPTIONS'].flatMap((method) => ['/healthz', '/readyz'].map((path) => ({ method, path }))),
  ];
  const foreign = [
    { name: 'Origin', headers: { origin: 'https://evil.example' } },
    { name: 'an unknown Origin', headers: { origin: 'null' } },
    { name: 'Host', headers: { host: 'evil.example' } },
    { name: 'Host that points here', headers: { host: '127.0.0.1.evil.example:80' } },
  ];

  it.each(foreign)('a foreign $name is 403 on every path and method', async ({ headers }) => {
    const { gateway, backend, url } = await behindLegacy();
    const client = await connectLegacy(url);
    await backend.standing();
    backend.forget();
    for (const { method, path } of ways) {
      // Load balancers ask by whatever name they have.
      if ('host' in headers && path.endsWith('z')) continue;
      const body = method === 'POST' ? { body: call(1) } : {};
      const sent = { method, ...body, headers: { ...client.headers, accept: '*/*', ...headers } };
      const answer = await send(`${gateway.origin}${path}`, sent);
      expect({ method, path, status: answer.status }).toEqual({ method, path, status: 403 });
      expect(answer.headers['access-control-allow-origin']).toBeUndefined();
      if (method === 'HEAD') continue;
      const [message, reason] =
        'origin' in headers ? ['Origin not allowed', 'origin_not_allowed'] : ['Host not allowed', 'host_not_allowed'];
      expectRefused(answer, 403, { code: -32600, message: message as string, reason: reason as string });
    }
    expect(backend.bytes).toBe(0);
    expect((await client.post(request(2, 'ping'))).json()).toEqual(result(2, {}));
  });
});

describe('a browser', verifies('hosting:session:cors-expose'), () => {
  it('may read the session id, and why it was refused', async () => {
    const { url } = await behindLegacy(echo);
    const origin = 'http://localhost:6274';
    const opened = await send(url, { body: initialize(), headers: { origin } });
    const session = String(opened.headers['mcp-session-id']);
    const client = new LegacyClient(url, session, '2025-11-25', undefined);
    const answers = [
      opened,
      await client.post(call(1), { origin }),
      await client.post(call(1), { origin, 'mcp-session-id': 'other' }),
      await send(url, { body: '{', headers: { origin } }),
      await send(url, { method: 'DELETE', headers: { ...client.headers, origin } }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 404, 400, 204]);
    for (const { headers } of answers) {
      expect(headers['access-control-allow-origin']).toBe(origin);
      expect(headers['access-control-expose-headers']).toBe('Mcp-Session-Id, WWW-Authenticate');
      expect(headers.vary).toBe('Origin');
    }
  });
});

describe('a body', verifies('hosting:http:parse-error-400'), () => {
  const parse = { code: -32700, reason: 'parse_error' };
  const invalid = { code: -32600, reason: 'invalid_request' };
  const rows: { name: string; body: string | Buffer; expected: { code: number; reason: string }; id?: number }[] = [
    { name: 'that is empty', body: '', expected: parse },
    { name: 'that is no JSON', body: '{"jsonrpc":"2.0",', expected: parse },
    { name: 'with something behind it', body: `${JSON.stringify(request(1, 'ping'))} x`, expected: parse },
    { name: 'that is no UTF-8', body: Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]), expected: parse },
    { name: 'that is a text', body: '"hello"', expected: invalid },
    { name: 'that is a number', body: '7', expected: invalid },
    { name: 'without a version', body: '{"id":1,"method":"ping"}', expected: invalid, id: 1 },
    { name: 'of another version', body: '{"jsonrpc":"1.0","id":1,"method":"ping"}', expected: invalid, id: 1 },
    { name: 'with a null id', body: '{"jsonrpc":"2.0","id":null,"method":"ping"}', expected: invalid },
    { name: 'with a fractional id', body: '{"jsonrpc":"2.0","id":1.5,"method":"ping"}', expected: invalid },
    {
      name: 'with parameters in a list',
      body: '{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}',
      expected: invalid,
      id: 1,
    },
    { name: 'that is empty', body: '{"jsonrpc":"2.0"}', expected: invalid },
  ];

  it.each(rows)('$name is 400 with a JSON-RPC error, in both eras', async ({ body, expected, id }) => {
    const { url, backend } = await behindLegacy(echo);
    const client = await connectLegacy(url);
    await backend.standing();
    backend.forget();
    for (const headers of [client.headers, modernHeaders('ping')]) {
      const answer = await send(url, { body, headers });
      expect(answer.status).toBe(400);
      expect(answer.headers['content-type']).toBe('application/json');
      const { error, ...envelope } = answer.json();
      expect({ code: error.code, reason: error.data.reason }).toEqual(expected);
      expect(error.message).not.toBe('');
      expect(envelope).toEqual({ jsonrpc: '2.0', ...(id === undefined ? {} : { id }) });
    }
    expect(backend.bytes).toBe(0);
    expect((await client.post(call(2, { ok: 1 }))).json()).toEqual(result(2, text('{"ok":1}')));
  });
});
