/** Path and method, Origin and Host, preflight. */
import { describe, expect, it } from 'vitest';
import { Failure } from '../../src/errors/failure.ts';
import { ask, both, endpoint, errorIn, head, note, ping, RawClient, start } from './harness.ts';

const modernOnly = {
  ...endpoint,
  path: '/modern/mcp',
  profile: { ...endpoint.profile, revisions: ['2026-07-28'] },
} as const;

describe('paths', () => {
  it.each([
    { name: 'an unknown path', path: '/other' },
    { name: 'two trailing slashes', path: '/mcp//' },
    { name: 'another case', path: '/MCP' },
    { name: 'the root', path: '/' },
  ])('answers $name with 404 and a JSON-RPC body without id', async ({ path }) => {
    const running = await start();
    const answer = await ask(running, { path, body: ping });
    expect(answer.status).toBe(404);
    expect(answer.headers['content-type']).toBe('application/json');
    expect(answer.headers['content-length']).toBe(String(answer.body.length));
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(answer.body).toBe(
      '{"jsonrpc":"2.0","error":{"code":-32600,"message":"No endpoint at this path","data":{"reason":"path_not_found"}}}',
    );
    expect(running.gateway.arrivals).toEqual([]);
  });

  it('does not count the query as part of the path', async () => {
    const running = await start();
    expect((await ask(running, { path: '/mcp?x=1', body: ping })).status).toBe(200);
  });

  it('reads the path of an absolute request target, and takes its host for the host', async () => {
    const running = await start();
    const good = new RawClient(running.port);
    good.send(head('DELETE', 'http://localhost:1234/mcp', { Host: 'evil.example' }));
    await good.until('HTTP/1.1 204');
    const bad = new RawClient(running.port);
    bad.send(head('DELETE', 'http://evil.example/mcp'));
    await bad.until('HTTP/1.1 403');
  });

  it('hands the endpoint of the path to the gateway', async () => {
    const other = { ...endpoint, path: '/servers/x/mcp' };
    const running = await start({ endpoints: [endpoint, other] });
    await ask(running, { path: '/servers/x/mcp', body: ping });
    expect(running.gateway.arrivals[0]?.endpoint).toBe(other);
  });
});

describe('methods', () => {
  const modern = { 'MCP-Protocol-Version': '2026-07-28', Accept: both };
  it.each([
    { name: 'PUT', path: '/mcp', method: 'PUT', headers: {}, allow: 'GET, POST, DELETE, OPTIONS' },
    { name: 'HEAD', path: '/mcp', method: 'HEAD', headers: {}, allow: 'GET, POST, DELETE, OPTIONS' },
    { name: 'GET with the modern version', path: '/mcp', method: 'GET', headers: modern, allow: 'POST, OPTIONS' },
    { name: 'DELETE with the modern version', path: '/mcp', method: 'DELETE', headers: modern, allow: 'POST, OPTIONS' },
    { name: 'GET without legacy revisions', path: '/modern/mcp', method: 'GET', headers: {}, allow: 'POST, OPTIONS' },
    { name: 'DELETE without legacy ones', path: '/modern/mcp', method: 'DELETE', headers: {}, allow: 'POST, OPTIONS' },
    { name: 'POST to /sse', path: '/sse', method: 'POST', headers: {}, allow: 'GET, OPTIONS' },
    { name: 'GET of /messages', path: '/messages', method: 'GET', headers: {}, allow: 'POST, OPTIONS' },
    { name: 'POST to /healthz', path: '/healthz', method: 'POST', headers: {}, allow: 'GET, HEAD, OPTIONS' },
  ])('answers $name with 405 and Allow', async ({ path, method, headers, allow }) => {
    const running = await start({ endpoints: [endpoint, modernOnly] });
    const answer = await ask(running, { path, method, headers });
    expect(answer.status).toBe(405);
    expect(answer.headers.allow).toBe(allow);
    if (method !== 'HEAD')
      expect(errorIn(answer)).toEqual({ code: -32600, reason: 'method_not_allowed', id: undefined });
  });

  it('serves no HTTP+SSE where the profile lacks its revision', async () => {
    const running = await start({ endpoints: [modernOnly] });
    expect((await ask(running, { path: '/modern/sse', method: 'GET' })).status).toBe(404);
  });

  it('answers CONNECT with 405 and closes', async () => {
    const running = await start();
    const client = new RawClient(running.port);
    client.send('CONNECT example.com:443 HTTP/1.1\r\nHost: localhost\r\n\r\n');
    expect(await client.until('method_not_allowed')).toContain('HTTP/1.1 405 Method Not Allowed\r\n');
    await client.closed;
  });

  it('refuses an upgrade by serving plain HTTP', async () => {
    const running = await start();
    const client = new RawClient(running.port);
    client.send(head('GET', '/healthz', { Connection: 'Upgrade', Upgrade: 'websocket' }));
    await client.until('HTTP/1.1 200 OK');
  });
});

describe('Origin and Host', () => {
  const allowed = { allowedOrigins: ['https://app.example'], allowedHosts: ['gateway.example', 'other.example:8443'] };
  it.each([
    { name: 'no Origin', headers: {}, status: 200 },
    { name: 'a loopback origin', headers: { Origin: 'http://localhost:6274' }, status: 200 },
    { name: 'a loopback origin by address', headers: { Origin: 'https://127.0.0.1' }, status: 200 },
    { name: 'a loopback origin by IPv6', headers: { Origin: 'http://[::1]:80' }, status: 200 },
    { name: 'a configured origin', headers: { Origin: 'https://app.example' }, status: 200 },
    { name: 'a configured origin in capitals', headers: { Origin: 'HTTPS://App.Example' }, status: 200 },
    { name: 'a foreign origin', headers: { Origin: 'https://evil.example' }, status: 403 },
    { name: 'the configured host with a port', headers: { Origin: 'https://app.example:8443' }, status: 403 },
    { name: 'a lookalike of localhost', headers: { Origin: 'http://localhost.evil.example' }, status: 403 },
    { name: 'a user before the host', headers: { Origin: 'http://localhost:80@evil.example' }, status: 403 },
    { name: 'the null origin', headers: { Origin: 'null' }, status: 403 },
    { name: 'an empty origin', headers: { Origin: '' }, status: 403 },
    { name: 'Host localhost', headers: { Host: 'localhost:1' }, status: 200 },
    { name: 'Host LOCALHOST', headers: { Host: 'LOCALHOST' }, status: 200 },
    { name: 'Host [::1]', headers: { Host: '[::1]:3000' }, status: 200 },
    { name: 'a configured host', headers: { Host: 'gateway.example' }, status: 200 },
    { name: 'a configured host on any port', headers: { Host: 'gateway.example:99' }, status: 200 },
    { name: 'a host configured with its port', headers: { Host: 'other.example:8443' }, status: 200 },
    { name: 'that host on another port', headers: { Host: 'other.example' }, status: 403 },
    { name: 'a foreign host', headers: { Host: 'evil.example' }, status: 403 },
    { name: 'a lookalike host', headers: { Host: '127.0.0.1.evil.example' }, status: 403 },
  ])('on a loopback bind, answers $name with $status', async ({ headers, status }) => {
    const running = await start({ listen: allowed });
    const answer = await ask(running, { headers, body: ping });
    expect(answer.status).toBe(status);
    if (status === 403) {
      const reason = 'Origin' in headers ? 'origin_not_allowed' : 'host_not_allowed';
      expect(errorIn(answer)).toEqual({ code: -32600, reason, id: undefined });
      expect(answer.headers['access-control-allow-origin']).toBeUndefined();
      expect(running.gateway.arrivals).toEqual([]);
    }
  });

  it('checks neither loopback origins nor unknown hosts in the same way on other binds', async () => {
    const running = await start({ listen: { host: '0.0.0.0' } });
    const local = { ...running, url: `http://127.0.0.1:${running.port}` };
    expect((await ask(local, { headers: { Host: 'anything.example' }, body: ping })).status).toBe(200);
    expect((await ask(local, { headers: { Origin: 'http://localhost:1' }, body: ping })).status).toBe(403);
  });

  it('holds other binds to their names where they are configured', async () => {
    const running = await start({ listen: { host: '0.0.0.0', allowedHosts: ['gateway.example'] } });
    const local = { ...running, url: `http://127.0.0.1:${running.port}` };
    expect((await ask(local, { headers: { Host: 'anything.example' }, body: ping })).status).toBe(403);
    expect((await ask(local, { headers: { Host: 'gateway.example' }, body: ping })).status).toBe(200);
  });

  it('refuses an empty Host', async () => {
    const running = await start();
    const client = new RawClient(running.port);
    client.send(head('DELETE', '/mcp', { Host: '' }));
    await client.until('HTTP/1.1 403');
  });

  it('knows the address that it listens on', async () => {
    const running = await start({ listen: { host: '127.0.0.2' } });
    expect((await ask(running, { path: '/healthz', method: 'GET' })).status).toBe(200);
  });

  it('refuses two Origins', async () => {
    const running = await start();
    const client = new RawClient(running.port);
    client.send('GET /healthz HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nOrigin: http://evil\r\n\r\n');
    await client.until('HTTP/1.1 403');
  });

  it('answers HTTP/1.1 without Host with 400, and HTTP/1.0 with 403', async () => {
    const running = await start();
    const newer = new RawClient(running.port);
    newer.send('GET /healthz HTTP/1.1\r\n\r\n');
    expect(await newer.until('Host header is required')).toContain('HTTP/1.1 400 ');
    const older = new RawClient(running.port);
    older.send('DELETE /mcp HTTP/1.0\r\n\r\n');
    expect(await older.until('host_not_allowed')).toContain('HTTP/1.1 403 ');
  });

  it('looks at the path before the origin', async () => {
    const running = await start();
    const answer = await ask(running, { path: '/none', method: 'GET', headers: { Origin: 'https://evil.example' } });
    expect(answer.status).toBe(404);
    expect(answer.headers['access-control-allow-origin']).toBeUndefined();
  });
});

describe('CORS', () => {
  const origin = 'http://localhost:6274';
  const preflight = { Origin: origin, 'Access-Control-Request-Method': 'POST' };

  it('answers a preflight with the requested headers, and without credentials', async () => {
    const running = await start();
    const asked = 'authorization,content-type,mcp-protocol-version, Mcp-Param-Region ,last-event-id';
    const headers = { ...preflight, 'Access-Control-Request-Headers': asked };
    const answer = await ask(running, { method: 'OPTIONS', headers });
    expect(answer.status).toBe(204);
    expect(answer.body).toBe('');
    expect(answer.headers['content-length']).toBeUndefined();
    expect(answer.headers['access-control-allow-origin']).toBe(origin);
    expect(answer.headers['access-control-allow-methods']).toBe('GET, POST, DELETE, OPTIONS');
    expect(answer.headers['access-control-allow-headers']).toBe(
      'authorization, content-type, mcp-protocol-version, Mcp-Param-Region, last-event-id',
    );
    expect(answer.headers['access-control-allow-credentials']).toBeUndefined();
    expect(answer.headers['access-control-max-age']).toBe('600');
    expect(answer.headers.vary).toBe('Origin');
  });

  it('echoes only valid header names of parameters', async () => {
    const running = await start();
    const asked = 'Mcp-Param-Good, Mcp-Param-b@d, Mcp-Param-"worse", Mcp-Param-two words, Mcp-Param-, , *';
    const headers = { ...preflight, 'Access-Control-Request-Headers': asked };
    const answer = await ask(running, { method: 'OPTIONS', headers });
    expect(answer.headers['access-control-allow-headers']).toBe('Mcp-Param-Good');
  });

  it('refuses the preflight of a foreign origin', async () => {
    const running = await start();
    const answer = await ask(running, { method: 'OPTIONS', headers: { ...preflight, Origin: 'https://evil.example' } });
    expect(answer.status).toBe(403);
    expect(answer.headers['access-control-allow-origin']).toBeUndefined();
  });

  it('answers OPTIONS without an origin with Allow', async () => {
    const running = await start();
    const answer = await ask(running, { method: 'OPTIONS' });
    expect(answer.status).toBe(204);
    expect(answer.headers.allow).toBe('GET, POST, DELETE, OPTIONS');
    expect(answer.headers['access-control-allow-methods']).toBeUndefined();
  });

  it.each([
    { name: 'a result', request: { body: ping }, status: 200 },
    { name: '202', request: { body: note }, status: 202 },
    { name: '204', request: { method: 'DELETE' }, status: 204 },
    { name: '400', request: { body: '{' }, status: 400 },
    { name: '404', request: { path: '/none', body: ping }, status: 404 },
    { name: '405', request: { method: 'PUT' }, status: 405 },
    { name: '406', request: { body: ping, headers: { Accept: 'image/png' } }, status: 406 },
    { name: '413', request: { body: 'x'.repeat(5000) }, status: 413 },
    { name: '415', request: { body: ping, headers: { 'Content-Type': 'text/plain' } }, status: 415 },
    { name: 'an event stream', request: { body: ping, headers: { Accept: 'text/event-stream' } }, status: 200 },
    { name: 'the state', request: { path: '/readyz', method: 'GET' }, status: 200 },
  ])('lets the allowed origin read $name', async ({ request, status }) => {
    const running = await start();
    const answer = await ask(running, { ...request, headers: { ...request.headers, Origin: origin } });
    expect(answer.status).toBe(status);
    expect(answer.headers['access-control-allow-origin']).toBe(origin);
    expect(answer.headers['access-control-expose-headers']).toBe('Mcp-Session-Id, WWW-Authenticate');
    expect(answer.headers.vary).toBe('Origin');
  });

  it('lets it read the stream of a GET and the refusal of one', async () => {
    const running = await start();
    running.gateway.onListen = async () => new Failure('session_not_found');
    const headers = { Origin: origin, Accept: 'text/event-stream' };
    const answer = await ask(running, { method: 'GET', headers });
    expect(answer.status).toBe(404);
    expect(answer.headers['access-control-allow-origin']).toBe(origin);
  });

  it('sends no CORS header to clients without Origin', async () => {
    const running = await start();
    const answer = await ask(running, { body: ping });
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  });
});
