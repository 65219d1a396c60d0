/** What metrics say about traffic, and that clients cannot make them grow. */
import { describe, expect, it } from 'vitest';
import { MOST_NAMES } from '../../../src/observe/metrics/label-names.ts';
import { RawClient } from '../../downstream/harness.ts';
import { verifies } from '../../requirements/verifies.ts';
import { behindLegacy, behindModern, call, request, text } from '../harness/behind.ts';
import { type Json, send } from '../harness/client.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { modernBackend, type Script } from '../harness/http-backend.ts';
import { configFile, serve } from '../harness/program.ts';
import { samplesIn, scrape, total } from './scrape.ts';

const tools = [{ name: 'work', inputSchema: { type: 'object' } }];

const script: Script = {
  'tools/list': (turn) => turn.result({ resultType: 'complete', tools, ttlMs: 0, cacheScope: 'public' }),
  'tools/call': (turn) => {
    const { how } = turn.message.params.arguments;
    if (how === 'error') turn.error(-32603, 'broken');
    else turn.result({ resultType: 'complete', ...text('done'), ...(how === 'isError' && { isError: true }) });
  },
};

const server = 'mcp_server_operation_duration_seconds_count';
const client = 'mcp_client_operation_duration_seconds_count';

describe.each(['legacy', 'modern'] as const)('behind the gateway, a %s backend', (era) => {
  it(
    'has its calls counted on both sides, by tool, revisions and the kind of error',
    verifies('gateway:observe:operations'),
    async () => {
      const { gateway, url } = await (era === 'modern' ? behindModern : behindLegacy)(script);
      await send(url, modern({ method: 'tools/list' }));
      for (const how of ['well', 'well', 'isError', 'error'])
        await send(url, modern({ method: 'tools/call', params: { name: 'work', arguments: { how } } }));
      const samples = scrape(gateway);
      const of = {
        mcp_method_name: 'tools/call',
        gen_ai_tool_name: 'work',
        mcp_protocol_version: '2026-07-28',
        network_transport: 'tcp',
        bascule_endpoint: '/mcp',
      };
      expect(total(samples, server, of)).toBe(4);
      expect(total(samples, server, { ...of, error_type: 'tool_error' })).toBe(1);
      expect(total(samples, server, { ...of, error_type: '-32603' })).toBe(1);
      const revision = era === 'modern' ? '2026-07-28' : '2025-11-25';
      const at = { mcp_method_name: 'tools/call', bascule_backend: 'b', mcp_protocol_version: revision };
      expect(total(samples, client, at)).toBe(4);
      expect(total(samples, client, { ...at, error_type: 'tool_error' })).toBe(1);
      expect(total(samples, 'bascule_overhead_seconds_count')).toBe(5);
      expect(total(samples, 'bascule_open_requests')).toBe(0);
      expect(total(samples, 'bascule_open_calls')).toBe(0);
      const pair = { client_revision: '2026-07-28', backend_revision: '2025-11-25' };
      expect(total(samples, 'bascule_bridged_calls_total', pair)).toBe(era === 'modern' ? 0 : 5);
      expect(total(samples, 'bascule_backend_up', { bascule_backend: 'b' })).toBe(1);
      expect(total(samples, 'bascule_backend_circuit', { phase: 'closed' })).toBe(1);
      expect(total(samples, 'bascule_backend_revision_info', { era })).toBe(1);
    },
  );
});

it(
  'counts sessions by revision while they live, and their duration afterwards',
  verifies('gateway:observe:sessions'),
  async () => {
    const { gateway, url } = await behindLegacy(script);
    const session = await connectLegacy(url);
    expect(total(scrape(gateway), 'bascule_sessions', { mcp_protocol_version: '2025-11-25' })).toBe(1);
    await send(url, { method: 'DELETE', headers: session.headers });
    const samples = scrape(gateway);
    expect(total(samples, 'bascule_sessions')).toBe(0);
    expect(total(samples, 'mcp_server_session_duration_seconds_count', { network_transport: 'tcp' })).toBe(1);
  },
);

it(
  'counts denials by rule, and HTTP responses with a failure by reason',
  verifies('gateway:observe:denials'),
  async () => {
    const backend = await modernBackend(script);
    const gateway = await startGateway({
      backends: { b: { url: backend.url } },
      policy: {
        rules: [
          { id: 'all', effect: 'allow' },
          { id: 'no-work', effect: 'deny', what: ['call'], on: { tools: ['work'] } },
        ],
      },
      rates: [{ id: 'few', per: ['principal'], what: ['call'], perSecond: 0.01, burst: 1 }],
    });
    for (const name of ['work', 'other', 'other'])
      await send(gateway.url(), modern({ method: 'tools/call', params: { name, arguments: {} } }));
    await send(`${gateway.origin}/nowhere`, { body: {} });
    const samples = scrape(gateway);
    const denials = 'bascule_denials_total';
    expect(total(samples, denials, { rule: 'no-work', reason: 'policy_denied', bascule_endpoint: '/mcp' })).toBe(1);
    expect(total(samples, denials, { reason: 'rate_limited' })).toBe(1);
    expect(total(samples, 'bascule_rate_exceeded_total')).toBe(1);
    expect(total(samples, 'bascule_http_failures_total', { reason: 'path_not_found' })).toBe(1);
  },
);

describe('a flood of made-up names', () => {
  const FLOOD = 10_000;

  it('of methods, tools, prompts, sessions, revisions, clients and paths adds no series beyond the tables of the gateway', {
    ...verifies('gateway:observe:cardinality'),
    timeout: 60_000,
  }, async () => {
    const { gateway, url } = await behindModern(script, { limits: { requestsPerConnection: 100 } });
    await send(url, modern({ method: 'tools/list' }));
    const kinds: ((n: number) => Promise<unknown>)[] = [
      (n) => send(url, modern({ method: `made/up-${n}` })),
      (n) => send(url, modern({ method: 'tools/call', params: { name: `made-up-${n}`, arguments: {} } })),
      (n) => send(url, modern({ method: 'prompts/get', params: { name: `made-up-${n}` } })),
      (n) => send(url, { body: request(n, 'tools/list'), headers: { 'mcp-session-id': `made-up-${n}` } }),
      (n) => send(url, modern({ method: 'tools/list', headers: { 'mcp-protocol-version': `made-up-${n}` } })),
      (n) => send(`${url}/made-up-${n}`, { body: call(n) }),
    ];
    const once = async (n: number) => void (await (kinds[n % kinds.length] as (n: number) => Promise<unknown>)(n));
    for (let n = 0; n < kinds.length; n++) await once(n);
    const before = scrape(gateway).length;
    for (let n = kinds.length; n < FLOOD; n += 50)
      await Promise.all([...Array(50).keys()].map((more) => once(n + more)));
    const text = gateway.metrics.text('openmetrics');
    expect(samplesIn(text).length).toBe(before);
    expect(text).not.toContain('made-up');
    expect(text).toContain('mcp_method_name="_OTHER"');
    expect(text).toContain('gen_ai_tool_name="_OTHER"');
  });

  it(
    'in the list of a backend becomes labels up to the bound, and the rest is counted',
    verifies('gateway:observe:cardinality'),
    async () => {
      const named = (n: number) => ({ name: `tool-${n}`, inputSchema: { type: 'object' } });
      const many = [...Array(FLOOD).keys()].map(named);
      const { gateway, url } = await behindModern({
        ...script,
        'tools/list': (turn) => turn.result({ resultType: 'complete', tools: many, ttlMs: 0, cacheScope: 'public' }),
      });
      await send(url, modern({ method: 'tools/list' }));
      for (const n of [0, MOST_NAMES - 1, MOST_NAMES, FLOOD - 1])
        await send(url, modern({ method: 'tools/call', params: { name: `tool-${n}`, arguments: {} } }));
      const samples = scrape(gateway);
      const names = new Set(samples.flatMap(({ labels }) => labels.gen_ai_tool_name ?? []));
      expect([...names].sort()).toEqual(['_OTHER', 'tool-0', `tool-${MOST_NAMES - 1}`]);
      expect(total(samples, 'bascule_metrics_overflow_total', { family: 'names' })).toBe(FLOOD - MOST_NAMES);
    },
  );
});

describe('the listener for metrics', () => {
  it(
    'serves GET /metrics in both formats on its own address, and nothing else',
    verifies('gateway:observe:listener'),
    async () => {
      const backend = await modernBackend(script);
      const config = { backends: { b: { url: backend.url } }, metrics: { listen: '127.0.0.1:0' } };
      const served = await serve([], configFile(config));
      const [, url = ''] = await served.program.says(/metrics are served at (\S+)/);
      expect(new URL(url).origin).not.toBe(served.origin);
      await send(served.url(), modern({ method: 'tools/list' }));
      const open = await fetch(url, { headers: { accept: 'application/openmetrics-text;version=1.0.0' } });
      expect(open.headers.get('content-type')).toMatch(/^application\/openmetrics-text; version=1\.0\.0/);
      const text = await open.text();
      expect(text.endsWith('# EOF\n')).toBe(true);
      expect(total(samplesIn(text), server, { mcp_method_name: 'tools/list' })).toBe(1);
      expect(total(samplesIn(text), 'process_resident_memory_bytes')).toBeGreaterThan(0);
      const plain = await fetch(url);
      expect(plain.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
      expect(await plain.text()).not.toContain('# EOF');
      const others: Json[] = [
        await fetch(new URL('/', url)),
        await fetch(new URL('/mcp', url), { method: 'POST', body: '{}' }),
        await fetch(url, { method: 'POST', body: '{}' }),
        await fetch(`${served.origin}/metrics`),
      ];
      expect(others.map(({ status }) => status)).toEqual([404, 404, 405, 404]);
    },
  );

  it(
    'refuses other hosts, as under DNS rebinding, and a repeated Host',
    verifies('gateway:observe:listener'),
    async () => {
      const config = { backends: {}, listen: { allowedHosts: ['gate.example'] }, metrics: { listen: '127.0.0.1:0' } };
      const served = await serve([], configFile(config));
      const [, url = ''] = await served.program.says(/metrics are served at (\S+)/);
      const statusFor = async (...hosts: string[]) => {
        const client = new RawClient(Number(new URL(url).port));
        client.send(`GET /metrics HTTP/1.1\r\n${hosts.map((name) => `Host: ${name}\r\n`).join('')}\r\n`);
        return Number(/^HTTP\/1\.1 (\d+)/.exec(await client.until('\r\n'))?.[1]);
      };
      expect(await statusFor(new URL(url).host)).toBe(200);
      expect(await statusFor('localhost')).toBe(200);
      expect(await statusFor('gate.example')).toBe(200);
      expect(await statusFor('evil.example')).toBe(403);
      expect(await statusFor('localhost', 'localhost')).toBe(400);
      expect(await statusFor()).toBe(400);
    },
  );

  it('is not open to the network unless the config says so', verifies('gateway:observe:listener'), async () => {
    const backends = { b: { url: 'http://127.0.0.1:1/mcp' } };
    const open = (metrics: unknown) => startGateway({ backends, metrics });
    await expect(open({ listen: '0.0.0.0:9464' })).rejects.toThrow(/can be reached from the network/);
    expect((await open({ listen: '0.0.0.0:9464', openToNetwork: true })).config.metrics?.host).toBe('0.0.0.0');
    expect((await open(true)).config.metrics).toEqual({ host: '127.0.0.1', port: 9464 });
    expect((await open(false)).config.metrics).toBeUndefined();
    await expect(open({ listen: 'nonsense' })).rejects.toThrow(/an address with a port/);
  });
});
