/** `bascule stdio` has a request log and metrics, and stdout carries the protocol alone. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { echo, notification, request } from '../harness/behind.ts';
import { until } from '../harness/client.ts';
import { initialize, modernMeta } from '../harness/eras.ts';
import { legacyBackend, modernBackend } from '../harness/http-backend.ts';
import { configFile, StdioClient } from '../harness/program.ts';
import { samplesIn, total } from './scrape.ts';

const secret = { name: 'work', arguments: { secret: 'hunter2' } };

/** The lines of the log so far. A last line without an end is not there yet. */
function logged({ program }: StdioClient): readonly Readonly<Record<string, unknown>>[] {
  return program.stderr
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

async function over(client: StdioClient): Promise<void> {
  client.program.endInput();
  await client.program.end();
}

it.each([
  { asked: 'with --log-requests', args: ['--log-requests'], log: {} },
  { asked: 'with log.requests', args: [], log: { log: { requests: true } } },
])(
  '$asked, each message is a line on stderr, and stdout has responses alone',
  {
    ...verifies('gateway:observe:stdio'),
  },
  async ({ args, log }) => {
    const backend = await modernBackend(echo);
    const client = new StdioClient(configFile({ backends: { b: { url: backend.url } }, ...log }), args);
    await client.ask(request(1, 'tools/call', { ...secret, _meta: modernMeta() }));
    await client.ask(request(2, 'made/up', { _meta: modernMeta() }));
    await over(client);
    const lines = logged(client).filter(({ msg }) => msg === 'request');
    expect(lines).toEqual([
      {
        time: expect.any(String),
        level: 'info',
        requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        principal: 'local',
        client: 'raw/1',
        endpoint: '/mcp',
        method: 'tools/call',
        name: 'work',
        backend: 'b',
        transport: 'stdio',
        outcome: 'result',
        ms: expect.any(Number),
        msg: 'request',
      },
      expect.objectContaining({ method: 'made/up', transport: 'stdio', outcome: 'error', reason: 'method_removed' }),
    ]);
    expect(client.program.stderr).not.toContain('hunter2');
    expect(client.heard.map(({ id }) => id)).toEqual([1, 2]);
  },
);

it('without either, no request is a line', verifies('gateway:observe:stdio'), async () => {
  const backend = await modernBackend(echo);
  const client = new StdioClient(configFile({ backends: { b: { url: backend.url } } }));
  await client.ask(request(1, 'tools/call', { ...secret, _meta: modernMeta() }));
  await over(client);
  expect(logged(client).filter(({ msg }) => msg === 'request')).toEqual([]);
});

it('metrics.listen serves metrics of the client over stdio', verifies('gateway:observe:stdio'), async () => {
  const backend = await legacyBackend(echo);
  const config = { backends: { b: { url: backend.url } }, metrics: { listen: '127.0.0.1:0' } };
  const client = new StdioClient(configFile(config));
  await client.ask(initialize());
  client.say(notification('notifications/initialized'));
  await client.ask(request(2, 'tools/call', secret));
  const served = /metrics are served at ([^\s"]+)/;
  await until(() => served.test(client.program.stderr), 'the log says where metrics are');
  const [, url = ''] = served.exec(client.program.stderr) ?? [];
  const samples = samplesIn(await (await fetch(url)).text());
  const of = { mcp_method_name: 'tools/call', network_transport: 'pipe', bascule_endpoint: '/mcp' };
  expect(total(samples, 'mcp_server_operation_duration_seconds_count', of)).toBe(1);
  const at = { mcp_method_name: 'tools/call', bascule_backend: 'b' };
  expect(total(samples, 'mcp_client_operation_duration_seconds_count', at)).toBe(1);
  await over(client);
  await expect(fetch(url)).rejects.toThrow();
});

it('a client is served without metrics where their address is taken', verifies('gateway:observe:stdio'), async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void other.close());
  const { port } = other.address() as AddressInfo;
  const backend = await modernBackend(echo);
  const metrics = { listen: `127.0.0.1:${port}` };
  const client = new StdioClient(configFile({ backends: { b: { url: backend.url } }, metrics }));
  const answer = await client.ask(request(1, 'tools/call', { ...secret, _meta: modernMeta() }));
  expect(answer.result).toBeDefined();
  await over(client);
  const warnings = logged(client).filter(({ level }) => level === 'warn');
  expect(warnings.map(({ msg }) => msg)).toEqual([
    `there are no metrics: cannot listen on 127.0.0.1:${port}: another process is listening there; ` +
      'choose another port with metrics.listen',
  ]);
});
