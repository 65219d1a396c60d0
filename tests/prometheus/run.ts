/**
 * `npm run test:prometheus`: a real Prometheus scrapes a gateway under traffic, answers every query of the shipped
 * dashboard, and evaluates every shipped alert rule.
 *
 * Needs `prometheus` and `promtool` (Debian's package `prometheus`); fails where they are missing.
 */
import { strict as assert } from 'node:assert';
import { type ChildProcess, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { alertQueries, panelQueries } from '../observe/metrics/shipped-queries.ts';
import { writeProofs } from '../requirements/proofs.ts';
import { eventually, startPrometheus, startServing } from './programs.ts';
import { startService, traffic } from './traffic.ts';

/** Queries that have an answer only in trouble that this test does not make. */
const mayBeEmpty: ReadonlySet<string> = new Set(['Handled events']);
/** Grafana computes it from the scrape interval, which is 1 s here. */
const RATE_INTERVAL = '5s';

interface Answer {
  readonly status: string;
  readonly data: { readonly result: readonly { readonly value: readonly [number, string] }[] };
}

interface RulesAnswer {
  readonly data: {
    readonly groups: readonly {
      readonly rules: readonly { name: string; health: string; lastError?: string; state: string }[];
    }[];
  };
}

for (const program of ['prometheus', 'promtool']) {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' });
  } catch {
    console.error(`${program} is missing: apt-get install prometheus`);
    process.exit(1);
  }
}

const startTime = Date.now();
const folder = mkdtempSync(join(tmpdir(), 'bascule-prometheus-'));
const stop = new AbortController();
const service = await startService();
const started: ChildProcess[] = [];
try {
  const gateway = await startServing(folder, service.url);
  started.push(gateway.process);
  const sending = traffic(gateway.origin, stop.signal);
  const prometheus = await startPrometheus(folder, gateway.metrics);
  started.push(prometheus.process);
  const ask = async <T>(path: string): Promise<T> => (await (await fetch(`${prometheus.url}${path}`)).json()) as T;
  const query = (expr: string) => ask<Answer>(`/api/v1/query?query=${encodeURIComponent(expr)}`);
  const isUp = async () => (await query('count_over_time(up{job="bascule"}[1m]) > 6')).data.result.length > 0;
  await eventually('Prometheus has scraped several times', () => isUp().catch(() => false));
  for (const { name, expr } of panelQueries) {
    const asked = expr.replaceAll('$job', '.*').replaceAll('$__rate_interval', RATE_INTERVAL);
    const { status, data } = await query(asked);
    assert.equal(status, 'success', `${name}: ${asked}`);
    const isEmpty = data.result.length === 0;
    assert.ok(!isEmpty || mayBeEmpty.has(name), `no answer to "${name}": ${asked}`);
    console.log(`ok  ${name}: ${data.result.length} series`);
  }
  const rulesNow = async () =>
    (await ask<RulesAnswer>('/api/v1/rules?type=alert')).data.groups.flatMap((it) => it.rules);
  await eventually('every rule is evaluated', async () =>
    (await rulesNow()).every(({ health }) => health !== 'unknown'),
  );
  const rules = await rulesNow();
  assert.deepEqual(rules.map(({ name }) => name).sort(), alertQueries.map(({ name }) => name).sort());
  for (const { name, health, lastError, state } of rules) {
    assert.equal(health, 'ok', `${name}: ${lastError ?? ''}`);
    console.log(`ok  ${name}: ${state}`);
  }
  assert.notEqual(rules.find(({ name }) => name === 'BasculeBackendDown')?.state, 'inactive');
  stop.abort();
  await sending;
  const title = 'Prometheus answers every query of the dashboard and evaluates every alert rule';
  await writeProofs('prometheus', {
    file: 'tests/prometheus/run.ts',
    startTime,
    proofs: [{ title, passed: true, verifies: ['gateway:observe:prometheus'] }],
  });
} finally {
  stop.abort();
  await Promise.all(started.map(ended));
  service.server.close();
  service.server.closeAllConnections();
  rmSync(folder, { recursive: true, force: true });
}

/** What it writes while it stops must not be in the way of those who tidy up. */
async function ended(process: ChildProcess): Promise<void> {
  if (process.exitCode !== null || process.signalCode !== null) return;
  const exit = once(process, 'exit');
  process.kill('SIGTERM');
  await exit;
}
