/**
 * The audit trail cannot be silenced: one record for each request, room for every principal, and calls that need a
 * record.
 */
import { mkdtempSync, rmdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { AuditRecord } from '../../../src/observe/audit.ts';
import { auditSink } from '../../../src/observe/audit-sinks.ts';
import { AuditWriter } from '../../../src/observe/audit-writer.ts';
import { verifies } from '../../requirements/verifies.ts';
import { open, send, until } from '../harness/client.ts';
import { keyRing } from '../harness/credentials.ts';
import { modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { modernBackend, type Turn } from '../harness/http-backend.ts';
import { call, named, openHouse, paths, ways } from './setup.ts';

const URIS = 1_000;
const shut = Array.from({ length: URIS }, (_, at) => `doc://shut/${at}`);
const script = {
  'tools/call': (turn: { result(value: object): void }) => turn.result({ resultType: 'complete', content: [] }),
};

it('a listen at an endpoint without backends makes one record', verifies('gateway:audit:one-record'), async () => {
  const rules = [{ id: 'all', effect: 'allow', what: ['subscribe', 'list'] }];
  const house = await openHouse({ more: { backends: {}, endpoints: [{ path: paths.merged }], policy: { rules } } });
  const listen = { method: 'subscriptions/listen', params: { notifications: { toolsListChanged: true } } };
  for (const id of ['first', 'second']) await send(`${house.gateway.origin}${paths.merged}`, modern({ id, ...listen }));
  expect(house.records).toMatchObject([
    { decision: 'allow', outcome: 'error' },
    { decision: 'allow', outcome: 'error' },
  ]);
});

describe.each(['merged', 'single'] as const)('a listen with 1,000 URIs, %s', (where) => {
  const rules = [
    { id: 'no', effect: 'deny', what: ['subscribe'], on: { uris: ['doc://shut/**', 'bascule:a/doc://shut/**'] } },
    { id: 'all', effect: 'allow', what: ['subscribe', 'read'] },
  ];
  const listening = {
    'resources/list': (turn: Turn) => turn.result({ resources: [], ttlMs: 60_000, cacheScope: 'public' }),
    'resources/templates/list': (turn: Turn) =>
      turn.result({ resourceTemplates: [], ttlMs: 60_000, cacheScope: 'public' }),
    'subscriptions/listen': (turn: Turn) => {
      const { notifications } = turn.message.params;
      const params = { notifications, _meta: { 'io.modelcontextprotocol/subscriptionId': turn.message.id } };
      turn.stream().event({ jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params });
    },
  };
  const at = (uri: string) => (where === 'merged' ? `bascule:a/${uri}` : uri);
  const listen = (resourceSubscriptions: readonly string[]) =>
    modern({ id: 'l', method: 'subscriptions/listen', params: { notifications: { resourceSubscriptions } } });

  it('that are all denied makes one record, with some of them', verifies('gateway:audit:one-record'), async () => {
    const house = await openHouse({ script: listening, more: { policy: { rules } } });
    const answer = await send(`${house.gateway.origin}${paths[where]}`, listen(shut.map(at)));
    expect(answer.json()).toMatchObject({ error: { data: { reason: 'policy_denied' } } });
    expect(house.records).toMatchObject([
      { decision: 'deny', action: 'subscribe', reason: 'policy_denied', rules: ['no'], deniedCount: URIS },
    ]);
    expect(house.records[0]?.deniedNames?.length).toBeLessThan(100);
    expect(house.records[0]?.names).toBeUndefined();
  });

  it('of which one is allowed makes one record, when it ends', verifies('gateway:audit:one-record'), async () => {
    const house = await openHouse({ script: listening, more: { policy: { rules } } });
    const stream = await open(
      `${house.gateway.origin}${paths[where]}`,
      listen([...shut.slice(0, 50), 'doc://free'].map(at)),
    );
    await stream.message(({ method }) => method === 'notifications/subscriptions/acknowledged');
    expect(house.records).toEqual([]);
    stream.close();
    await until(() => house.records.length > 0, 'its end is recorded');
    expect(house.records).toMatchObject([
      {
        decision: 'allow',
        action: 'subscribe',
        rules: expect.arrayContaining(['no', 'all']),
        names: [expect.any(String)],
        deniedCount: 50,
      },
    ]);
  });
});

describe('an audit trail whose sink is stuck', verifies('gateway:audit:fair-room'), () => {
  it('keeps allowed and denied requests of others while one principal floods it', async () => {
    const taken: (() => void)[] = [];
    const lines: string[] = [];
    const stuck = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        lines.push(...chunk.toString().trim().split('\n'));
        taken.push(done);
      },
    });
    let lost = 0;
    const audit = new AuditWriter({
      sink: auditSink({ kind: 'stderr' }, { stdout: stuck, stderr: stuck }, false),
      now: () => 0,
      after: (_, action) => {
        const timer = setImmediate(action);
        return () => clearImmediate(timer);
      },
      lost: (count) => {
        lost += count;
      },
      queueBytes: 16 * 1024,
    });
    const ring = keyRing();
    const [greedy, modest] = [ring.make('greedy'), ring.make('modest')];
    const backend = await modernBackend(script);
    const gateway = await startGateway(
      {
        backends: { b: { url: backend.url } },
        identity: { keys: { file: ring.path } },
        policy: { rules: [{ id: 'x', effect: 'allow', what: ['call'], on: { tools: ['x'] } }] },
      },
      { audit },
    );
    const ask = (key: string, tool: string) => {
      const { body, headers } = modern(call(tool));
      return send(gateway.url('b'), { body, headers: { ...headers, authorization: `Bearer ${key}` } });
    };
    await ask(modest, 'x');
    await until(() => taken.length === 1, 'the first record is on its way');
    for (let n = 0; n < 200; n += 1) await ask(greedy, 'denied');
    expect(lost).toBeGreaterThan(0);
    const lostBefore = lost;
    for (let n = 0; n < 3; n += 1) expect((await ask(modest, 'x')).json()).toMatchObject({ result: {} });
    await ask(modest, 'denied');
    expect(lost).toBe(lostBefore);
    taken[0]?.();
    await until(() => taken.length === 2, 'the rest is on its way');
    taken[1]?.();
    const records: AuditRecord[] = lines.map((line) => JSON.parse(line));
    const decisions = records.flatMap(({ principal, decision }) => (principal?.key === 'modest' ? [decision] : []));
    expect(decisions).toEqual(['allow', 'allow', 'allow', 'allow', 'deny']);
  });
});

describe('a file that cannot be written', () => {
  const folder = () => {
    const path = mkdtempSync(join(tmpdir(), 'bascule-audit-'));
    onTestFinished(() => rmSync(path, { recursive: true, force: true }));
    return path;
  };

  it('is reported in one log line, however many records are lost', verifies('gateway:audit:told-once'), async () => {
    const backend = await modernBackend(script);
    const gateway = await startGateway({ backends: { b: { url: backend.url } }, audit: { to: folder() } });
    const lost = () => gateway.counters.snapshot()['audit.lost'] ?? 0;
    for (let n = 1; n <= 4; n += 1) {
      await send(gateway.url('b'), modern(call('x')));
      await until(() => lost() === n, 'the loss is counted');
    }
    expect(gateway.log.filter(({ text }) => text.startsWith('audit records were lost'))).toHaveLength(1);
  });

  it(
    'rejects every call with `onFailure: deny`, until records can be written again',
    verifies('gateway:audit:on-failure-deny'),
    async () => {
      const backend = await modernBackend(script);
      const to = folder();
      const gateway = await startGateway({ backends: { b: { url: backend.url } }, audit: { to, onFailure: 'deny' } });
      const ask = () => send(gateway.url('b'), modern(call('x')));
      const refused = await ask();
      expect(refused.status).toBe(503);
      expect(refused.json()).toMatchObject({ id: 1, error: { code: -32603, data: { reason: 'audit_unavailable' } } });
      expect(backend.of('tools/call')).toEqual([]);
      rmdirSync(to);
      await expect.poll(async () => (await ask()).status).toBe(200);
    },
  );
});

describe.each(ways)('with `onFailure: deny`, over $name', ({ enter, where }) => {
  it('a call that cannot be recorded is rejected by name', verifies('gateway:audit:on-failure-deny'), async () => {
    const house = await openHouse({ more: { audit: { to: 'stderr', onFailure: 'deny' } } });
    const client = await enter(house);
    house.canRecord = false;
    house.forget();
    expect(await client.ask(call(named(where, 'read_file')))).toMatchObject({
      error: { code: -32603, data: { reason: 'audit_unavailable' } },
    });
    for (const backend of [house.a, house.b]) expect(backend.of('tools/call')).toEqual([]);
    expect(house.records).toMatchObject([{ decision: 'deny', reason: 'audit_unavailable', name: expect.any(String) }]);
    house.canRecord = true;
    expect(await client.ask(call(named(where, 'read_file')))).toMatchObject({ result: {} });
  });
});
