/** `bascule serve`: what it says when it starts, where it listens, and what is served where. */
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { request, text } from '../harness/behind.ts';
import { send, until } from '../harness/client.ts';
import { connectLegacy, eras, modern } from '../harness/eras.ts';
import { legacyBackend, modernBackend, type Script } from '../harness/http-backend.ts';
import { configFile, run, serve, start } from '../harness/program.ts';

describe('the start', verifies('gateway:serve:banner'), () => {
  it('shows the address, every backend with its era and state, and how to connect', async () => {
    const [older, newer] = [
      await legacyBackend({}, { serverInfo: { name: 'Old Server', version: '1.2' }, revision: '2025-06-18' }),
      await modernBackend({}, { serverInfo: { name: 'New Server', version: '3' } }),
    ];
    const backends = {
      older: { url: older.url },
      newer: { url: newer.url },
      broken: { url: 'http://127.0.0.1:1/mcp' },
      missing: { command: '/nonexistent/server' },
    };
    const { program, url } = await serve([], configFile({ backends }));
    await program.says(/^ {2}older {2}ready: legacy, 2025-06-18, Old Server 1\.2$/m);
    await program.says(/^ {2}newer {2}ready: modern, 2026-07-28, New Server 3$/m);
    await program.says(/^ {2}broken {2}down: .*\(backend_unavailable\)$/m);
    await program.says(/^ {2}missing {2}down: .*\(backend_unavailable\)$/m);
    const said = program.stdout;
    expect(said).toMatch(/^Bascule \d+\.\d+\.\d+ {2}http:\/\/127\.0\.0\.1:\d+\/\S+\n/);
    for (const name of Object.keys(backends)) expect(said).toContain(`\n  ${name}  ${url(name)}\n`);
    expect(said).toMatch(/claude mcp add --transport http bascule http:\/\/127\.0\.0\.1:\d+\/mcp\n/);
    expect(said).toMatch(/code --add-mcp '\{.*\}'\n/);
    expect(said).toContain('~/.cursor/mcp.json');
  });

  it('shows a command that works as it stands', async () => {
    const backend = await modernBackend();
    const { program } = await serve([], configFile({ backends: { b: { url: backend.url } } }));
    const [, url = '', type = '', body = ''] = await program.says(
      /curl -s (\S+) -H 'Content-Type: (\S+)' -d '([^']*)'/,
    );
    // As curl would send it.
    const answer = await send(url, { body, headers: { accept: '*/*', 'content-type': type } });
    expect(answer.status).toBe(200);
    expect(answer.json()).toMatchObject({ id: 1, result: { serverInfo: { name: 'modern' } } });
    const [, settings = ''] = await program.says(/code --add-mcp '(\{.*\})'/);
    expect(JSON.parse(settings)).toEqual({ name: 'bascule', type: 'http', url });
    const [, cursor = ''] = await program.says(/mcp\.json: (\{.*\})/);
    expect(JSON.parse(cursor)).toEqual({ mcpServers: { bascule: { url } } });
  });

  it('reports the same at `/readyz`, and which config is in force', async () => {
    const backend = await modernBackend({ 'tools/list': (turn) => turn.result({ resultType: 'complete', tools: [] }) });
    const { program, url } = await serve([], configFile({ backends: { b: { url: backend.url } } }));
    await program.says(/^ {2}b {2}ready: modern/m);
    expect((await send(`${new URL(url()).origin}/readyz`, { method: 'GET' })).json()).toEqual({
      status: 'ready',
      generation: 1,
      backends: { b: { state: 'ready' } },
    });
  });
});

describe('the listen address', verifies('gateway:serve:loopback-only'), () => {
  const exposed = 'this address can be reached from the network, and the gateway requires no authentication\n';
  const config = (listen: object) => configFile({ listen, backends: {} });

  it.each(['0.0.0.0', '::', '10.1.2.3', 'gateway.example', '127.0.0.1.evil.example'])(
    'is not %s, without an explicit flag',
    async (host) => {
      const [named, told] = await Promise.all([
        run(['serve', '--port', '0', '--host', host]),
        run(['serve', '--port', '0'], config({ host })),
      ]);
      expect(named.stderr).toContain(`command line: ${exposed}`);
      expect(told.stderr).toMatch(/^bascule\.yaml:1:\d+: this address can be reached from the network/);
      for (const { exit, stdout } of [named, told]) {
        expect({ exit, stdout }).toEqual({ exit: { code: 1, signal: null }, stdout: '' });
      }
    },
  );

  it('may be any address with the flag', async () => {
    const byFlag = start(['serve', '--port', '0', '--host', '0.0.0.0', '--open-to-network'], config({}));
    const byFile = start(['serve', '--port', '0'], config({ host: '0.0.0.0', openToNetwork: true }));
    for (const program of [byFlag, byFile]) {
      const [, port = ''] = await program.says(/http:\/\/0\.0\.0\.0:(\d+)\//);
      expect((await send(`http://127.0.0.1:${port}/healthz`, { method: 'GET' })).status).toBe(200);
    }
  });

  it('is this machine alone by default', async () => {
    const { origin } = await serve([], config({}));
    expect(new URL(origin).hostname).toBe('127.0.0.1');
    // Another address of the loopback network would be reached by a socket that is bound to all of them.
    const socket = connect(Number(new URL(origin).port), '127.0.0.2');
    let refused = false;
    socket.on('error', () => {
      refused = true;
    });
    await until(() => refused || socket.readyState === 'open', 'it is known whether somebody listens there');
    socket.destroy();
    expect(refused).toBe(true);
  });

  it('is distinguished from a port that is in use', async () => {
    const { origin } = await serve([], config({}));
    const second = await run(['serve', '--port', new URL(origin).port], config({}));
    expect(second.exit).toEqual({ code: 1, signal: null });
    expect(second.stderr).toContain('another process is listening there; choose another port with --port');
  });
});

describe('several backends', verifies('gateway:serve:single-backend-path'), () => {
  const of = (name: string): Script => ({
    'tools/list': (turn) =>
      turn.result({
        resultType: 'complete',
        tools: [{ name: 'search', description: name, inputSchema: { type: 'object' } }],
        ttlMs: 0,
        cacheScope: 'private',
      }),
    'tools/call': (turn) => turn.result({ resultType: 'complete', ...text(`${name} ${turn.message.params.name}`) }),
    'resources/read': (turn) =>
      turn.result({
        resultType: 'complete',
        contents: [{ uri: turn.message.params.uri, text: name }],
        ttlMs: 0,
        cacheScope: 'private',
      }),
  });

  it.each(eras)('are served alone, each under the names that it has, to a %s client', async (era) => {
    const [first, second] = [await legacyBackend(of('first')), await modernBackend(of('second'))];
    const { origin } = await serve(['mcp.json'], {
      files: {
        'mcp.json': JSON.stringify({ mcpServers: { 'My first': { url: first.url }, second: { url: second.url } } }),
      },
    });
    const places = [
      { path: '/servers/My%20first/mcp', name: 'first' },
      { path: '/servers/second/mcp', name: 'second' },
    ];
    for (const { path, name } of places) {
      const url = `${origin}${path}`;
      const client = era === 'legacy' ? await connectLegacy(url) : undefined;
      const ask = async (method: string, params: Readonly<Record<string, unknown>> = {}) =>
        (await (client?.post(request(1, method, params)) ?? send(url, modern({ method, params })))).json().result;
      const { tools } = await ask('tools/list');
      expect(tools).toEqual([{ name: 'search', description: name, inputSchema: { type: 'object' } }]);
      expect((await ask('tools/call', { name: 'search' })).content).toEqual(text(`${name} search`).content);
      const uri = 'file:///same';
      expect((await ask('resources/read', { uri })).contents).toEqual([{ uri, text: name }]);
    }
    for (const { received } of [first, second]) {
      const calls = received.filter(({ message }) => message?.method === 'tools/call');
      expect(calls.map(({ message }) => message.params.name)).toEqual(['search']);
    }
  });

  it('share no path', async () => {
    const [first, second] = [await legacyBackend(of('first')), await modernBackend(of('second'))];
    const { url } = await serve([], configFile({ backends: { a: { url: first.url }, b: { url: second.url } } }));
    const session = (await connectLegacy(url('a'))).headers;
    const elsewhere = await send(url('b'), { body: request(1, 'tools/list'), headers: session });
    expect(elsewhere.status).toBe(404);
    expect(second.of('tools/list')).toEqual([]);
  });
});
