/** Traffic of every kind that a panel of the dashboard shows: both eras, failures, denials, sessions, JSON-RPC. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { modern } from '../interaction/harness/eras.ts';

type Message = Readonly<Record<string, unknown>>;

const accept = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };

async function post(url: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
  const response = await fetch(url, { method: 'POST', headers: { ...accept, ...headers }, body: JSON.stringify(body) });
  await response.text();
  return response;
}

async function ask(url: string, method: string, params: Message = {}): Promise<void> {
  const { headers, body } = modern({ method, params });
  await post(url, body, headers);
}

/** A legacy session that was opened and used. Returns the headers that name it. */
async function session(url: string): Promise<Readonly<Record<string, string>>> {
  const revision = '2025-06-18';
  const client = { protocolVersion: revision, capabilities: {}, clientInfo: { name: 'traffic', version: '1' } };
  const opened = await post(url, { jsonrpc: '2.0', id: 1, method: 'initialize', params: client });
  const id = opened.headers.get('mcp-session-id') ?? '';
  const headers = { 'mcp-session-id': id, 'mcp-protocol-version': revision };
  await post(url, { jsonrpc: '2.0', method: 'notifications/initialized' }, headers);
  await post(url, { jsonrpc: '2.0', id: 2, method: 'tools/list' }, headers);
  return headers;
}

/** A JSON-RPC service that is not MCP. */
export async function startService(): Promise<{ readonly url: string; readonly server: Server }> {
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: 'paid' }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, server };
}

/** A subscription that the client ends. */
async function listen(url: string): Promise<void> {
  const { headers, body } = modern({
    method: 'subscriptions/listen',
    params: { notifications: { toolsListChanged: true } },
  });
  const ended = new AbortController();
  const response = await fetch(url, {
    ...{ method: 'POST', headers: { ...accept, ...headers }, body: JSON.stringify(body), signal: ended.signal },
  });
  ended.abort();
  await response.body?.cancel().catch(() => undefined);
}

/** Sends requests until `signal` ends it. */
export async function traffic(origin: string, signal: AbortSignal): Promise<void> {
  const url = `${origin}/servers/demo/mcp`;
  // One session stays open.
  await session(url);
  while (!signal.aborted) {
    await ask(url, 'tools/list');
    await ask(url, 'tools/call', { name: 'echo', arguments: { message: 'hello' } });
    await ask(url, 'tools/call', { name: 'made-up', arguments: {} });
    await ask(url, 'tools/call', { name: 'add', arguments: { a: 1, b: 2 } });
    await ask(url, 'prompts/get', { name: 'greeting' });
    await ask(url, 'prompts/get', { name: 'greeting' });
    await post(`${url}/nowhere`, {});
    await ask(`${origin}/servers/older/mcp`, 'tools/call', { name: 'echo', arguments: { message: 'hello' } });
    await fetch(url, { method: 'DELETE', headers: await session(url) });
    await listen(url);
    await post(`${origin}/rpc`, { jsonrpc: '2.0', id: 1, method: 'pay', params: [1] });
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
