/** A thousand configs under load: each answer is that of one of them, and each request has one. */
import { expect, it } from 'vitest';
import type { AuditRecord } from '../../../src/observe/audit.ts';
import { verifies } from '../../requirements/verifies.ts';
import { text } from '../harness/behind.ts';
import { type Json, send } from '../harness/client.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import { type ConfigValue, startGateway } from '../harness/gateway.ts';
import { legacyBackend, modernBackend, type Script } from '../harness/http-backend.ts';
import { call } from '../policy/setup.ts';

const RELOADS = 1_000;
const halves = ['even', 'odd'] as const;
type Half = (typeof halves)[number];

/** Generations count from 1: odd ones allow the odd half, and nothing else. */
const halfOf = (generation: number): Half => (generation % 2 === 0 ? 'even' : 'odd');

const script: Script = {
  'tools/list': (turn) =>
    turn.result({
      resultType: 'complete',
      tools: halves.map((name) => ({ name, inputSchema: { type: 'object' } })),
      ttlMs: 0,
      cacheScope: 'public',
    }),
  'tools/call': (turn) => turn.result({ resultType: 'complete', ...text(turn.message.params.name) }),
};

interface Client {
  ask(method: string, params: Json, meta?: object): Promise<Json>;
  /** How the endpoint calls the tool. */
  named(half: Half): string;
}

it('a thousand reloads decide each request by one generation, and lose none', {
  ...verifies('gateway:reload:atomic'),
  timeout: 120_000,
}, async () => {
  const [a, b] = await Promise.all([modernBackend(script), legacyBackend(script)]);
  const records = new Map<string | undefined, AuditRecord>();
  const audit = {
    write: (record: AuditRecord) => void records.set(record.traceId, record),
    close: async () => undefined,
  };
  const configOf = (half: Half): ConfigValue => ({
    backends: { a: { url: a.url }, b: { url: b.url } },
    policy: { rules: [{ id: half, effect: 'allow', what: ['call'], on: { tools: [half, `*__${half}`] } }] },
  });
  const gateway = await startGateway(configOf('odd'), { audit });
  const clients: Client[] = [];
  for (const [url, prefix] of [
    [gateway.url(), 'a__'],
    [gateway.url(), 'b__'],
    [gateway.url('a'), ''],
    [gateway.url('b'), ''],
  ] as const) {
    const named = (half: Half) => prefix + half;
    const legacy = await connectLegacy(url);
    clients.push({
      named,
      ask: async (method, params, _meta = {}) =>
        (await legacy.post({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } })).json(),
    });
    clients.push({
      named,
      ask: async (method, params, meta = {}) => (await send(url, modern({ method, params, meta }))).json(),
    });
  }

  let reloading = true;
  let asked = 0;
  const wrong: Json[] = [];
  const outcomes = { answered: 0, denied: 0 };
  const work = async ({ ask, named }: Client) => {
    for (let n = 0; reloading; n++) {
      const half = halves[n % 2] as Half;
      // A mark that the record shows: the answer and the record are about the same request.
      const mark = `${asked++}`.padStart(32, '0');
      const meta = { traceparent: `00-${mark}-0000000000000001-01` };
      const answer = await ask('tools/call', call(named(half)).params, meta);
      const isDenied = answer.error?.data?.reason === 'policy_denied';
      const isAnswered = answer.result?.content[0].text === half;
      if (isDenied === isAnswered) wrong.push(answer);
      outcomes[isDenied ? 'denied' : 'answered'] += 1;
      const record = records.get(mark);
      const isRight = record !== undefined && (record.decision === 'allow') === isAnswered;
      if (!isRight || (halfOf(record.generation) === half) !== isAnswered) wrong.push({ answer, record });
      if (n % 5 !== 0) continue;
      const { result } = await ask('tools/list', {});
      const shown = new Set(result.tools.map(({ name }: Json) => name.replace(/^.__/, '')));
      if (shown.size !== 1) wrong.push([...shown]);
    }
  };
  const working = clients.map(work);
  for (let generation = 2; generation <= RELOADS + 1; generation++) {
    gateway.reload(configOf(halfOf(generation)));
    await new Promise((resolve) => setImmediate(resolve));
  }
  reloading = false;
  await Promise.all(working);
  expect(gateway.assembled.config.generation).toBe(RELOADS + 1);
  expect(wrong).toEqual([]);
  expect(outcomes.answered).toBeGreaterThan(0);
  expect(outcomes.denied).toBeGreaterThan(0);
  expect(outcomes.answered + outcomes.denied).toBe(asked);
});
