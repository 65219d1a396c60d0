/**
 * What a client presents stays here; what a backend asks for comes from the config.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#access-token-privilege-restriction
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { text } from '../harness/behind.ts';
import { type Headers, send } from '../harness/client.ts';
import { bearer, keyRing, tokenIssuer } from '../harness/credentials.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import { type ConfigValue, startGateway } from '../harness/gateway.ts';
import { legacyBackend, modernBackend, type Turn } from '../harness/http-backend.ts';
import { sseBackend } from '../harness/sse-backend.ts';
import { SseClient } from '../harness/sse-client.ts';
import { legacyProcess, modernProcess, type StdioBackend } from '../harness/stdio-backend.ts';

interface Behind {
  readonly config: ConfigValue;
  /** Everything that reached it. */
  got(): string;
}

const done = { ...text('done'), resultType: 'complete' };
const overHttp = { 'tools/call': (turn: Turn) => turn.result(done) };
const tool = { name: 'work', arguments: {} };

function ofProcess(backend: StdioBackend): Behind {
  const { command, args } = backend;
  const environment = (pid: number) => (existsSync(`/proc/${pid}`) ? readFileSync(`/proc/${pid}/environ`, 'utf8') : '');
  const seen = new Map<number, string>();
  return {
    config: { command, args },
    got: () => {
      for (const { pid } of backend.processes) if (!seen.has(pid)) seen.set(pid, environment(pid));
      return JSON.stringify([backend.processes.map(({ input }) => input), [...seen.values()]]);
    },
  };
}

const kinds: Readonly<Record<string, () => Promise<Behind>>> = {
  'modern, HTTP': async () => {
    const backend = await modernBackend(overHttp);
    return { config: { url: backend.url }, got: () => JSON.stringify(backend.received) };
  },
  'legacy, HTTP': async () => {
    const backend = await legacyBackend(overHttp);
    return { config: { url: backend.url }, got: () => JSON.stringify(backend.received) };
  },
  'legacy, HTTP+SSE': async () => {
    const backend = await sseBackend({
      'tools/call': ({ message, session }) => session.say({ jsonrpc: '2.0', id: message.id, result: text('done') }),
    });
    return { config: { url: backend.url, transport: 'sse' }, got: () => backend.heard() };
  },
  'modern, stdio': async () => ofProcess(await modernProcess({ 'tools/call': (turn) => turn.result(done) })),
  'legacy, stdio': async () => ofProcess(await legacyProcess({ 'tools/call': (turn) => turn.result(done) })),
};

describe.each(Object.keys(kinds))('to a backend of the kind %s', (kind) => {
  it(
    'no credential of a client is forwarded, in whatever way it is presented',
    verifies('gateway:identity:token-not-forwarded', 'gateway:identity:query-key'),
    async () => {
      const behind = await kinds[kind]!();
      const ring = keyRing();
      const key = ring.make('alice');
      const issuer = await tokenIssuer();
      const gateway = await startGateway({
        backends: { b: behind.config },
        identity: {
          keys: { file: ring.path, header: 'x-access-key', query: 'key' },
          issuers: [{ issuer: issuer.url }],
        },
      });
      const url = gateway.url('b');
      const token = await issuer.token([url, `${gateway.origin}/servers/b/sse`]);
      const presented: readonly { query: string; headers: Headers }[] = [
        { query: '', headers: bearer(token) },
        { query: '', headers: bearer(key) },
        { query: '', headers: { 'x-access-key': key } },
        { query: `?key=${key}`, headers: {} },
      ];
      const cookies = { cookie: 'planted=1', 'proxy-authorization': 'Basic planted' };
      for (const { query, headers } of presented) {
        const all = { ...headers, ...cookies };
        const stateless = await send(`${url}${query}`, modern({ method: 'tools/call', params: tool, headers: all }));
        expect(stateless.status).toBe(200);
        const client = await connectLegacy(`${url}${query}`, {}, all);
        const called = await client.post({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: tool });
        expect(called.status).toBe(200);
        await client.end();
      }
      const line = await SseClient.connect(`${gateway.origin}/servers/b/sse`, {}, bearer(token));
      await line.ask({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: tool });
      const got = behind.got();
      line.close();
      expect(got).toContain('tools/call');
      for (const secret of [token, key, 'planted', token.split('.')[2] ?? '', 'x-access-key']) {
        expect(got).not.toContain(secret);
      }
    },
  );
});

describe('what a backend demands', verifies('gateway:identity:backend-secrets'), () => {
  it('comes from the config, the environment or a file', async () => {
    const ring = keyRing();
    const secret = join(dirname(ring.path), 'secret');
    writeFileSync(secret, '\n  of-the-file \r\n');
    process.env.BASCULE_TEST_SECRET = 'of-the-environment';
    const backend = await modernBackend(overHttp);
    const stdio = await modernProcess({ 'tools/call': (turn) => turn.result(done) });
    const gateway = await startGateway({
      backends: {
        b: {
          url: backend.url,
          headers: {
            Authorization: `Bearer \${BASCULE_TEST_SECRET}`,
            'X-Fixed': 'as-it-stands',
            'X-File': `key \${file:${secret}}`,
          },
        },
        p: { command: stdio.command, args: stdio.args, env: { API_KEY: `\${file:${secret}}` } },
      },
      identity: { keys: { file: ring.path } },
    });
    delete process.env.BASCULE_TEST_SECRET;
    const key = ring.make('alice');
    await expect
      .poll(
        async () =>
          (await send(gateway.url('b'), modern({ method: 'tools/call', params: tool, headers: bearer(key) }))).status,
        {
          timeout: 10_000,
        },
      )
      .toBe(200);
    const { headers } = backend.of('tools/call')[0]!;
    expect({ authorization: headers.authorization, fixed: headers['x-fixed'], file: headers['x-file'] }).toEqual({
      authorization: 'Bearer of-the-environment',
      fixed: 'as-it-stands',
      file: 'key of-the-file',
    });
    await send(gateway.url('p'), modern({ method: 'tools/call', params: tool, headers: bearer(key) }));
    expect(ofProcess(stdio).got()).toContain('API_KEY=of-the-file');
  });
});
