/** The proxy where several processes are one gateway. */
import { expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import type { Json } from '../harness/client.ts';
import { initialize } from '../harness/eras.ts';
import { legacyBackend } from '../harness/http-backend.ts';
import { configFile, serve } from '../harness/program.ts';
import { sendAbsolute } from './setup.ts';

it('a session with the client’s own credential is served at every worker, and with no other credential', {
  timeout: 60_000,
  ...verifies('gateway:proxy:client-credentials', 'gateway:proxy:served'),
}, async () => {
  const backend = await legacyBackend({
    'tools/call': (turn) => turn.result({ content: [{ type: 'text', text: turn.received.headers.authorization }] }),
  });
  const config = {
    backends: { b: { url: backend.url, credentials: 'client' } },
    proxy: { listen: { port: 0 } },
  };
  const { program } = await serve(['--workers', '2'], configFile(config));
  const [, proxy = ''] = await program.says(/the proxy is at (http:\/\/[\d.:]+)/);
  const post = (body: Json, headers: Readonly<Record<string, string>>) =>
    sendAbsolute(proxy, backend.url, { body, headers });
  const opened = await post(initialize(), { authorization: 'Bearer a' });
  const session = {
    'mcp-session-id': String(opened.headers['mcp-session-id']),
    'mcp-protocol-version': '2025-11-25',
  };
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'work' } };
  // Every request has a connection of its own, so both workers get some of them.
  for (let round = 0; round < 10; round++) {
    const answer = await post(call, { ...session, authorization: 'Bearer a' });
    expect(answer.json().result.content).toEqual([{ type: 'text', text: 'Bearer a' }]);
    const forged = { ...session, authorization: 'Bearer b', 'bascule-for-backend': 'Bearer a' };
    expect((await post(call, forged)).status).toBe(404);
  }
  expect(new Set(backend.of('tools/call').map(({ headers }) => headers.authorization))).toEqual(new Set(['Bearer a']));
});
