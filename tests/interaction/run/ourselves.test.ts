/** The gateway's own address among its backends. */
import { networkInterfaces } from 'node:os';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../../src/config/load.ts';
import { verifies } from '../../requirements/verifies.ts';
import { breakable } from '../backend/breakable-backend.ts';
import { send } from '../harness/client.ts';
import { initialize, modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { modernBackend } from '../harness/http-backend.ts';
import { configFile, start } from '../harness/program.ts';

const PORT = 18_808;

function load(url: string, more: object = {}, file = 'bascule.yaml') {
  const servers = { self: { url }, other: { url: 'http://127.0.0.1:9/mcp' } };
  const value =
    file === 'bascule.yaml' ? { backends: servers, listen: { port: PORT }, ...more } : { mcpServers: servers };
  const { config, notices } = loadConfig({
    path: file,
    cwd: '/',
    env: {},
    readFile: () => JSON.stringify(value),
    overrides: file === 'bascule.yaml' ? {} : { port: PORT },
  });
  return { names: config.backends.map(({ name }) => name), notices, endpoints: config.endpoints };
}

const [machine = '127.0.0.1'] = Object.values(networkInterfaces()).flatMap((all) =>
  (all ?? []).filter(({ family }) => family === 'IPv4').map(({ address }) => address),
);
const everywhere = { listen: { port: PORT, host: '0.0.0.0', openToNetwork: true } };
const behindProxy = {
  identity: { publicUrl: 'https://mcp.example.com', keys: { file: 'keys.json' } },
};
const note = 'backend `self` is this gateway itself and is ignored';

describe("the gateway's own address in its config", verifies('gateway:run:not-its-own-backend'), () => {
  const ours: readonly { url: string; more?: object }[] = [
    { url: `http://localhost:${PORT}/mcp` },
    { url: `http://LOCALHOST.:${PORT}/mcp` },
    { url: `http://127.0.0.1:${PORT}/mcp` },
    { url: `http://[::1]:${PORT}/mcp` },
    { url: `http://[0:0:0:0:0:0:0:1]:${PORT}/mcp` },
    { url: `http://2130706433:${PORT}/mcp` },
    { url: `http://127.0.0.1:${PORT}/servers/other/mcp` },
    { url: `http://127.0.0.1:${PORT}/sse` },
    { url: `http://0.0.0.0:${PORT}/mcp`, more: everywhere },
    { url: `http://127.0.0.2:${PORT}/mcp`, more: everywhere },
    { url: `http://${machine}:${PORT}/mcp`, more: everywhere },
    { url: 'https://mcp.example.com/mcp', more: behindProxy },
    { url: 'https://MCP.example.com:443/servers/other/mcp', more: behindProxy },
  ];
  it.each(ours)('is left out with a note: $url', ({ url, more }) => {
    const { names, notices, endpoints } = load(url, more);
    expect(names).toEqual(['other']);
    expect(notices).toContain(note);
    expect(endpoints.flatMap(({ backends }) => backends)).not.toContain('self');
  });

  it('is left out of a client file, too', () => {
    const { names, notices } = load(`http://localhost:${PORT}/mcp`, {}, 'mcp.json');
    expect(names).toEqual(['other']);
    expect(notices).toContain(note);
  });

  const others: readonly { url: string; more?: object }[] = [
    { url: `http://127.0.0.1:${PORT + 1}/mcp` },
    { url: `http://127.0.0.2:${PORT}/mcp` },
    { url: `http://mcp.example.com:${PORT}/mcp` },
    { url: 'https://other.example.com/mcp', more: behindProxy },
  ];
  it.each(others)('is not confused with $url', ({ url, more }) => {
    expect(load(url, more).names).toEqual(['self', 'other']);
  });

  it('is left out with a note at start-up', async () => {
    const free = await modernBackend();
    await free.close();
    const { port } = new URL(free.url);
    const backends = { self: { url: `http://localhost:${port}/mcp` } };
    const program = start(['serve', '--port', port], configFile({ backends }));
    await program.says(/note: backend `self` is this gateway itself and is ignored/);
  });
});

describe(
  'a backend that leads back to the gateway by another address',
  verifies('gateway:run:not-its-own-backend'),
  () => {
    it('is down with a named cause, and the other backends are served', async () => {
      const good = await modernBackend({
        'tools/list': (turn) =>
          turn.result({ resultType: 'complete', tools: [{ name: 'work', inputSchema: { type: 'object' } }], ttlMs: 0 }),
      });
      const gateway = await startGateway({ backends: { good: { url: good.url } } });
      const around = await breakable({ ...good, url: gateway.origin });
      gateway.reload({ backends: { good: { url: good.url }, around: { url: around.url } } });
      const refused = (await send(gateway.url('around'), { body: initialize() })).json();
      expect(refused.error).toMatchObject({
        message: expect.stringMatching(/it leads back to this gateway \(HTTP 508\)/),
        data: { reason: 'backend_unavailable' },
      });
      const listed = (await send(gateway.url(), modern({ method: 'tools/list' }))).json();
      expect(listed.result.tools).toHaveLength(1);
    });
  },
);
