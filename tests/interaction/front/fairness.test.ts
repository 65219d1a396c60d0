/** A principal with many connections, and another with one: whose request is begun first. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { result, text } from '../harness/behind.ts';
import { type Headers, type Json, send, until } from '../harness/client.ts';
import { bearer, keyRing } from '../harness/credentials.ts';
import { modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { modernBackend } from '../harness/http-backend.ts';
import { launchService } from '../json-rpc/setup.ts';

const MANY = 200;

async function connection(origin: string): Promise<Socket> {
  const { hostname, port } = new URL(origin);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  return socket;
}

/** Written without waiting for anything, so that many of them come together. */
function post(socket: Socket, url: string, { headers = {}, body }: { headers?: Headers; body?: unknown }): void {
  const { host, pathname } = new URL(url);
  const bytes = JSON.stringify(body);
  const framing = { host, 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(bytes)) };
  const lines = Object.entries({ ...framing, accept: 'application/json, text/event-stream', ...headers });
  socket.write(
    `POST ${pathname} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${bytes}`,
  );
}

const called = (mark: string, headers: Headers) =>
  modern({ id: mark, method: 'tools/call', params: { name: 'work', arguments: { mark } }, headers });
const asked = (mark: string, headers: Headers) => ({
  headers,
  body: { jsonrpc: '2.0', id: mark, method: 'work', params: { mark } },
});

describe('concurrent requests', verifies('gateway:ingress:turns'), () => {
  it.each(['MCP', 'JSON-RPC'])(
    'are begun round-robin by principal, whoever has more connections: %s',
    async (protocol) => {
      const order: string[] = [];
      const note = (message: Json) => void order.push(message.params.arguments?.mark ?? message.params.mark);
      const backend = await modernBackend({
        'tools/call': (turn) => {
          note(turn.message);
          turn.result({ resultType: 'complete', ...text('done') });
        },
      });
      const service = await launchService(({ text: body, response }) => {
        const message = JSON.parse(body);
        note(message);
        response.setHeader('content-type', 'application/json').end(JSON.stringify(result(message.id, { done: true })));
      });
      onTestFinished(() => service.close());
      const ring = keyRing();
      const [alice, bob] = [bearer(ring.make('alice')), bearer(ring.make('bob'))];
      const gateway = await startGateway({
        backends: { b: { url: backend.url }, s: { protocol: 'json-rpc', url: service.url } },
        endpoints: [
          { path: '/mcp', backends: ['b'] },
          { path: '/rpc', protocol: 'json-rpc', backends: ['s'] },
        ],
        identity: { keys: { file: ring.path } },
      });
      const isMcp = protocol === 'MCP';
      const url = `${gateway.origin}${isMcp ? '/mcp' : '/rpc'}`;
      const message = isMcp ? called : asked;
      for (const headers of [alice, bob]) await send(url, message('before', headers));
      const theirs = await Promise.all(Array.from({ length: MANY }, () => connection(gateway.origin)));
      const his = await connection(gateway.origin);
      // Both have sent lately: they share the gateway.
      await send(url, message('lately', bob));
      order.length = 0;
      for (const [at, socket] of theirs.entries()) post(socket, url, message(`alice ${at}`, alice));
      post(his, url, message('bob', bob));
      await until(() => order.length === MANY + 1, 'all are at the backend');
      expect(order.indexOf('bob')).toBeLessThan(MANY / 2);
    },
  );
});
