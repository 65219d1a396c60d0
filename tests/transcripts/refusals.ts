/** Everything that a client can do wrong, as a table of HTTP requests. */

import { initializeOf, LegacyHttpClient, modernHeaders, modernMeta } from './clients.ts';
import type { Headers, HttpRequest } from './http.ts';
import { backendsOf, type Stage } from './stages.ts';

const path = '/servers/b202511/mcp';
const listRequest = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
const list = JSON.stringify(listRequest);
const call = { method: 'tools/call', params: { name: 'echo', arguments: {} } };
const modernCall = { jsonrpc: '2.0', id: 1, ...call, params: { ...call.params, _meta: modernMeta() } };
const json = (value: unknown) => JSON.stringify(value);

/** Bodies that are refused, each sent by a client of each era. */
const bodies: Readonly<Record<string, string | Uint8Array>> = {
  'no JSON': '{"jsonrpc":',
  'not UTF-8': Buffer.from([...Buffer.from('{"jsonrpc":"2.0","id":1,"method":"tools/list","x":"'), 0xff, 0x22, 0x7d]),
  'two values': '{}{}',
  'a comment': '{"jsonrpc":"2.0",/* */"id":1,"method":"tools/list"}',
  'a byte order mark': `\ufeff${list}`,
  'an empty body': '',
  'a text': '"tools/list"',
  'an empty object': '{}',
  'no version of JSON-RPC': json({ id: 1, method: 'tools/list' }),
  'another version of JSON-RPC': json({ ...listRequest, jsonrpc: '1.0' }),
  'id null': json({ ...listRequest, id: null }),
  'a fractional id': json({ ...listRequest, id: 1.5 }),
  'a method that is a number': json({ ...listRequest, method: 5 }),
  'params as an array': json({ ...listRequest, params: [] }),
  'params as a text': json({ ...listRequest, params: 'x' }),
  'result and error': json({ jsonrpc: '2.0', id: 1, result: {}, error: { code: 1, message: '' } }),
  'method and result': json({ ...listRequest, result: {} }),
  'a member twice': '{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call"}',
  'a member twice, escaped': '{"jsonrpc":"2.0","id":1,"method":"tools/list","m\\u0065thod":"tools/call"}',
  'a twin in another case': '{"jsonrpc":"2.0","id":1,"method":"tools/list","Method":"tools/call"}',
  'a twin of a parameter': '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","Name":"fail"}}',
  'an argument twice':
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":1,"a":2}}}',
  'half a surrogate': '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\\ud800"}}',
  'nested too deeply': `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":${'['.repeat(200)}${']'.repeat(200)}}}}`,
  'too many members': json({
    ...listRequest,
    params: Object.fromEntries(Array.from({ length: 1100 }, (_, i) => [`m${i}`, 0])),
  }),
  'an empty batch': '[]',
  'a batch': `[${list}]`,
  'a response to nothing': json({ jsonrpc: '2.0', id: 'nobody', result: {} }),
  'an error to nothing': json({ jsonrpc: '2.0', id: 'nobody', error: { code: 1, message: 'x' } }),
  'a name that is missing': json({ ...listRequest, method: 'tools/call', params: {} }),
  'a name that is a number': json({ ...listRequest, method: 'tools/call', params: { name: 5 } }),
  'an address that is missing': json({ ...listRequest, method: 'resources/read', params: {} }),
  'a reference that is none': json({ ...listRequest, method: 'completion/complete', params: { ref: {} } }),
  'a task': json({ ...listRequest, method: 'tools/call', params: { name: 'echo', task: { ttl: 1 } } }),
  'too large': `${list.slice(0, -1)},"params":{"x":"${'x'.repeat(5000)}"}}`,
};

/** Headers that are refused, or changed, on an otherwise good legacy request with a session. */
const legacyHeaders: Readonly<Record<string, Headers>> = {
  'a session that nobody has': { 'Mcp-Session-Id': 'nobody' },
  'no session': { 'Mcp-Session-Id': undefined },
  'an empty session': { 'Mcp-Session-Id': '' },
  'another revision than agreed': { 'MCP-Protocol-Version': '2025-06-18' },
  'a revision that is none': { 'MCP-Protocol-Version': '1999-01-01' },
  'a malformed revision': { 'MCP-Protocol-Version': 'latest' },
  'no revision': { 'MCP-Protocol-Version': undefined },
  'another media type': { 'Content-Type': 'text/plain' },
  'a media type with parameters': { 'Content-Type': 'application/json; charset=utf-8' },
  'no media type': { 'Content-Type': undefined },
  'JSON alone is accepted': { Accept: 'application/json' },
  'streams alone are accepted': { Accept: 'text/event-stream' },
  'HTML alone is accepted': { Accept: 'text/html' },
  'anything is accepted': { Accept: '*/*' },
  'nothing is said of what is accepted': { Accept: undefined },
  'an origin that is foreign': { Origin: 'https://evil.example' },
  'an origin on this machine': { Origin: 'http://localhost:3000' },
  'the origin null': { Origin: 'null' },
  'an origin that is allowed': { Origin: 'https://app.example' },
  'a host that is foreign': { Host: 'evil.example' },
  'a host that is allowed': { Host: 'gateway.internal' },
  'an encoding': { 'Content-Encoding': 'gzip' },
  'an expectation': { Expect: '200-ok' },
  'headers that are too large': { 'X-Large': 'x'.repeat(20_000) },
  'headers of the modern era': { 'Mcp-Method': 'prompts/list', 'Mcp-Name': 'x' },
  'a trace': { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' },
};

/** The same for a modern request. */
const modernHeaderRows: Readonly<Record<string, Headers>> = {
  'another method than in the body': { 'Mcp-Method': 'tools/list' },
  'no method': { 'Mcp-Method': undefined },
  'another name than in the body': { 'Mcp-Name': 'fail' },
  'no name': { 'Mcp-Name': undefined },
  'an encoded name': { 'Mcp-Name': `=?base64?${Buffer.from('echo').toString('base64')}?=` },
  'a name that is encoded wrongly': { 'Mcp-Name': '=?base64?ZWNobw?=' },
  'another revision than in the body': { 'MCP-Protocol-Version': '2025-11-25' },
  'no revision': { 'MCP-Protocol-Version': undefined },
  'a revision that is none': { 'MCP-Protocol-Version': '2099-01-01' },
  'a session': { 'Mcp-Session-Id': 'nobody' },
  'a parameter that the tool does not mirror': { 'Mcp-Param-A': 'x' },
  'JSON alone is accepted': { Accept: 'application/json' },
  'streams alone are accepted': { Accept: 'text/event-stream' },
  'HTML alone is accepted': { Accept: 'text/html' },
};

const metas: Readonly<Record<string, unknown>> = {
  'no _meta': undefined,
  'an empty _meta': {},
  'no revision in _meta': modernMeta({ 'io.modelcontextprotocol/protocolVersion': undefined }),
  'no capabilities in _meta': modernMeta({ 'io.modelcontextprotocol/clientCapabilities': undefined }),
  'no capability at all': modernMeta({}, {}),
  'an unknown revision in _meta': modernMeta({ 'io.modelcontextprotocol/protocolVersion': '2099-01-01' }),
  'a level that is none': modernMeta({ 'io.modelcontextprotocol/logLevel': 'shouting' }),
  '_meta that is no object': 5,
};

const paths: readonly HttpRequest[] = [
  ...['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT'].flatMap((method) => [
    { method, path: '/healthz' },
    { method, path: '/readyz' },
    { method, path: '/nothing' },
    { method, path },
  ]),
  ...['/', '/mcp/', '//mcp', '/MCP', '/mcp?x=1', '/servers/nobody/mcp', `${path}/`, '/%6dcp'].map((one) => ({
    ...{ path: one, body: list },
  })),
  { method: 'DELETE', path },
  { method: 'DELETE', path, headers: { 'Mcp-Session-Id': 'nobody' } },
  { method: 'GET', path, headers: { Accept: 'text/event-stream', 'Mcp-Session-Id': 'nobody' } },
  { method: 'GET', path, headers: { Accept: 'text/html' } },
  { method: 'POST', path: '/servers/b202511/messages?sessionId=nobody', body: list },
  { method: 'POST', path: '/servers/b202511/messages', body: list },
  { method: 'POST', path: '/servers/b202511/sse', body: list },
  { method: 'GET', path: '/.well-known/oauth-protected-resource/mcp' },
  {
    ...{ method: 'OPTIONS', path },
    headers: { Origin: 'https://app.example', 'Access-Control-Request-Method': 'POST' },
  },
  { method: 'OPTIONS', path, headers: { Origin: 'https://evil.example', 'Access-Control-Request-Method': 'POST' } },
];

/** Requests that are no proper HTTP, byte by byte. */
const rawRequests = (port: number): Readonly<Record<string, string>> => ({
  'no HTTP at all': 'hello\r\n\r\n',
  'no Host': `GET /healthz HTTP/1.1\r\n\r\n`,
  'two hosts': `GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nHost: evil.example\r\n\r\n`,
  'HTTP/1.0': `GET /healthz HTTP/1.0\r\nHost: 127.0.0.1:${port}\r\n\r\n`,
  'a header line without a colon': `GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nnonsense\r\n\r\n`,
  'two lengths': `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}`,
  'length and chunks': `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  'a chunked body': `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
  'an upgrade': `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
  CONNECT: `CONNECT evil.example:443 HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`,
  'an absolute address': `GET http://127.0.0.1:${port}/healthz HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`,
});

export const refusals: Stage = {
  name: 'refusals',
  play: async (player, backends) => {
    const names = ['b202511', 'bmodern'];
    const listen = { port: player.port, allowedOrigins: ['https://app.example'], allowedHosts: ['gateway.internal'] };
    const config = {
      listen,
      backends: backendsOf(backends, names),
      limits: { bodyBytes: 4096, refusedBodyBytes: 1024 },
    };
    await player.start(config, 'serve', names);
    const client = new LegacyHttpClient(player, 'session', '2025-11-25', path);
    await client.open();
    const send = (kind: string, name: string, request: HttpRequest | string) =>
      player.play(kind, name, async () => void (await player.http(request)));

    for (const request of paths)
      await send('path', `${request.method ?? 'POST'} ${request.path} ${json(request.headers ?? {})}`, request);
    for (const [name, text] of Object.entries(rawRequests(player.port))) await send('bad HTTP', name, text);
    for (const [name, body] of Object.entries(bodies)) {
      await send('bad body', `legacy, ${name}`, { path, headers: client.headers, body });
      const headers = modernHeaders({ method: 'tools/list' });
      await send('bad body', `modern, ${name}`, { path: '/servers/bmodern/mcp', headers, body });
    }
    for (const [name, headers] of Object.entries(legacyHeaders))
      await send('bad header', `legacy, ${name}`, { path, headers: { ...client.headers, ...headers }, body: list });
    for (const [name, headers] of Object.entries(modernHeaderRows)) {
      const all = { ...modernHeaders(call), ...headers };
      await send('bad header', `modern, ${name}`, {
        path: '/servers/bmodern/mcp',
        headers: all,
        body: json(modernCall),
      });
    }
    for (const [name, _meta] of Object.entries(metas)) {
      const body = json({ ...modernCall, params: { ...call.params, _meta } });
      await send('bad header', `modern, ${name}`, { path: '/servers/bmodern/mcp', headers: modernHeaders(call), body });
    }
    for (const revision of ['2024-11-05', '2025-03-26', '2026-07-28', '1999-01-01', '', 5]) {
      const body = json({ jsonrpc: '2.0', id: 1, ...initializeOf(revision as string) });
      await send('handshake', `initialize with ${revision}`, { path, body });
    }
    const again = json({ jsonrpc: '2.0', id: 1, ...initializeOf('2025-11-25') });
    await send('handshake', 'initialize inside a session', { path, headers: client.headers, body: again });
    await client.close();
    await send('bad header', 'a session that is ended', { path, headers: client.headers, body: list });
    await player.stop();
  },
};
