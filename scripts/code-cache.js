// Writes the code that V8 has compiled once the gateway has answered a call, for src/cli/launch.ts. Functions that the
// start does not need are not in it.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A start takes less than a second. */
const LONGEST_MS = 20_000;
const writer = fileURLToPath(new URL('./write-code-cache.js', import.meta.url));
const revision = '2026-07-28';

/** The program runs without it, and starts slower: where sockets are not allowed, the build says so and succeeds. */
export async function writeCodeCache(outdir) {
  try {
    await rehearse(resolve(outdir));
  } catch (error) {
    console.warn(`Without a code cache, because the rehearsal of a start failed: ${error.message}`);
  }
}

async function rehearse(outdir) {
  const folder = mkdtempSync(join(tmpdir(), 'bascule-build-'));
  const backend = createServer(answer).listen(0, '127.0.0.1');
  let gateway;
  try {
    await once(backend, 'listening');
    const config = join(folder, 'mcp.json');
    const url = `http://127.0.0.1:${backend.address().port}/mcp`;
    writeFileSync(config, JSON.stringify({ mcpServers: { rehearsal: { url } } }));
    gateway = fork(writer, [outdir, 'serve', config, '--port', '0'], {
      cwd: folder,
      // No flags of the build's own Node: V8 rejects code that was compiled under others.
      execArgv: [],
      env: { PATH: process.env.PATH },
      stdio: ['ignore', 'pipe', 'ignore', 'ipc'],
      timeout: LONGEST_MS,
    });
    const exit = once(gateway, 'exit');
    const address = await Promise.race([addressIn(gateway.stdout), exit.then(() => undefined)]);
    if (address === undefined) throw new Error('the gateway has ended');
    await call(address);
    gateway.send('write');
    const [code] = await exit;
    if (code !== 0) throw new Error('the gateway has ended');
  } finally {
    gateway?.kill('SIGKILL');
    backend.close();
    backend.closeAllConnections();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function addressIn(stdout) {
  let said = '';
  for await (const chunk of stdout.setEncoding('utf8')) {
    said += chunk;
    const address = /http:\/\/127\.0\.0\.1:\d+\/mcp/.exec(said)?.[0];
    if (address !== undefined) return address;
  }
}

async function call(address) {
  const prefix = 'io.modelcontextprotocol/';
  const _meta = {
    [`${prefix}protocolVersion`]: revision,
    [`${prefix}clientInfo`]: { name: 'build', version: '1' },
    [`${prefix}clientCapabilities`]: {},
  };
  const response = await fetch(address, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': revision,
      'mcp-method': 'tools/call',
      'mcp-name': 'tool',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'tool', _meta } }),
    signal: AbortSignal.timeout(LONGEST_MS),
  });
  if (!response.ok) throw new Error(`the gateway has answered HTTP ${response.status}`);
  await response.arrayBuffer();
}

/** A modern backend with one tool. */
const results = {
  'server/discover': { supportedVersions: [revision], capabilities: { tools: {} }, ttlMs: 3_600_000 },
  'tools/list': { tools: [{ name: 'tool', inputSchema: { type: 'object' } }] },
  'tools/call': { content: [{ type: 'text', text: 'done' }] },
};

async function answer(req, res) {
  let body = '';
  for await (const chunk of req) body += chunk;
  const { id, method } = req.method === 'POST' ? JSON.parse(body) : {};
  const result = results[method];
  if (result === undefined) res.writeHead(405).end();
  else {
    res.writeHead(200, { 'content-type': 'application/json' });
    res.end(JSON.stringify({ jsonrpc: '2.0', id, result: { resultType: 'complete', ...result } }));
  }
}

/** Usage: node scripts/code-cache.js <folder>, by the Node that the program will run under. */
if (process.argv[1] === fileURLToPath(import.meta.url)) await writeCodeCache(process.argv[2] ?? 'dist');
