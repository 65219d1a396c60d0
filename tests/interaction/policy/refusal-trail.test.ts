/**
 * Refusals leave a trace: a log line, coalesced by address or principal, and an audit record. Secrets are in neither.
 */
import { describe, expect, it } from 'vitest';
import type { Audit, AuditRecord } from '../../../src/observe/audit.ts';
import { verifies } from '../../requirements/verifies.ts';
import { type Headers, send } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { keyRing } from '../harness/credentials.ts';
import { modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { modernBackend } from '../harness/http-backend.ts';
import { call, openHouse, paths } from './setup.ts';

const SECRET = 'bk_this-is-no-key-of-ours';

async function guarded() {
  const records: AuditRecord[] = [];
  const audit: Audit = { write: (record) => void records.push(record), close: async () => undefined };
  const clock = new LeapClock();
  const ring = keyRing();
  ring.make('carol');
  const backend = await modernBackend();
  const gateway = await startGateway(
    {
      backends: { b: { url: backend.url }, ledger: { protocol: 'json-rpc', url: backend.url } },
      endpoints: [
        { path: '/mcp', backends: ['b'] },
        { path: '/rpc', protocol: 'json-rpc', backends: ['ledger'] },
      ],
      identity: { keys: { file: ring.path } },
      log: { level: 'debug' },
    },
    { audit, clock },
  );
  const told = (reason: string) => gateway.log.filter(({ facts }) => facts.reason === reason);
  return { gateway, records, clock, told };
}

describe('a wrong key', verifies('gateway:log:refusals', 'gateway:audit:refusals'), () => {
  const authorization = `Bearer ${SECRET}`;
  const call_ = modern(call('x'));
  const tries: readonly { name: string; path: string; method?: string; body?: object; headers: Headers }[] = [
    { name: 'modern', path: '/mcp', body: call_.body as object, headers: { ...call_.headers, authorization } },
    {
      name: 'legacy',
      path: '/mcp',
      body: { jsonrpc: '2.0', id: 1, method: 'ping' },
      headers: { authorization, accept: 'application/json, text/event-stream' },
    },
    { name: 'HTTP+SSE', path: '/sse', method: 'GET', headers: { authorization, accept: 'text/event-stream' } },
    { name: 'JSON-RPC', path: '/rpc', body: { jsonrpc: '2.0', id: 1, method: 'm' }, headers: { authorization } },
  ];

  it.each(tries)('over $name is one log line and one record, with the address', async ({ path, ...request }) => {
    const { gateway, records, told } = await guarded();
    expect((await send(`${gateway.origin}${path}`, request)).status).toBe(401);
    expect(told('key_unknown')).toMatchObject([{ level: 'warn', facts: { address: '127.0.0.1' } }]);
    expect(records).toMatchObject([
      { decision: 'deny', reason: 'key_unknown', principal: { kind: 'unknown' }, address: '127.0.0.1' },
    ]);
    expect(JSON.stringify([gateway.log, records])).not.toContain(SECRET);
  });

  it('that is repeated is one line, and one more with the count a minute later', async () => {
    const { gateway, records, clock, told } = await guarded();
    for (let n = 0; n < 20; n += 1) {
      await send(`${gateway.origin}/mcp`, { body: call_.body as object, headers: { ...call_.headers, authorization } });
    }
    expect(told('key_unknown')).toHaveLength(1);
    expect(records).toHaveLength(20);
    clock.leap(60_000);
    expect(told('key_unknown')).toHaveLength(2);
    expect(told('key_unknown')[1]?.facts).toMatchObject({ more: 19 });
  });
});

it('a request of another origin is rejected with a log line', verifies('gateway:log:refusals'), async () => {
  const { gateway, told } = await guarded();
  const headers = { origin: 'https://evil.example' };
  expect((await send(`${gateway.origin}/mcp`, { body: call('x'), headers })).status).toBe(403);
  expect(told('origin_not_allowed')).toMatchObject([{ level: 'warn', facts: { origin: 'https://evil.example' } }]);
});

describe.each(['merged', 'single'] as const)('a denied call, %s', (where) => {
  it('is a log line with the principal and the name', verifies('gateway:log:refusals'), async () => {
    const house = await openHouse({ more: { policy: { rules: [] } } });
    await send(`${house.gateway.origin}${paths[where]}`, modern(call(where === 'merged' ? 'a__x' : 'x')));
    const told = house.gateway.log.filter(({ facts }) => facts.reason === 'policy_denied');
    expect(told).toMatchObject([{ level: 'info', facts: { principal: 'local', action: 'call' } }]);
    expect(String(told[0]?.facts.name)).toMatch(/x$/);
  });
});

it(
  'a tool that no backend has is a log line and a record',
  verifies('gateway:log:refusals', 'gateway:audit:refusals'),
  async () => {
    const house = await openHouse({ endpoint: { names: 'collision' } });
    const answer = await send(`${house.gateway.origin}${paths.merged}`, modern(call('no_such_tool')));
    expect(answer.json().error).toMatchObject({ code: -32602 });
    const told = house.gateway.log.filter(({ text }) => text.includes('Unknown tool'));
    expect(told).toMatchObject([{ level: 'info', facts: { principal: 'local', name: 'no_such_tool' } }]);
    expect(house.records).toMatchObject([{ decision: 'deny', reason: 'invalid_params', name: 'no_such_tool' }]);
  },
);
