/** `/readyz` and `bascule status` at any worker speak for all of them. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { echo, Held } from '../harness/behind.ts';
import { send, until } from '../harness/client.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import { legacyBackend, modernBackend } from '../harness/http-backend.ts';
import { run } from '../harness/program.ts';
import { call } from '../policy/setup.ts';
import { allReady, linesWith, readiness, started, untilAll, WORKERS, workersOf } from './started.ts';

describe('/readyz of a gateway with workers', verifies('gateway:workers:readiness'), () => {
  it('names each worker, and the one that is being replaced at all others', async () => {
    const backend = await legacyBackend(echo);
    const served = await started({ backends: { b: { url: backend.url } } });
    await untilAll(
      served,
      ({ workers, status }) =>
        status === 'ready' && JSON.stringify(workers) === JSON.stringify({ 0: 'ready', 1: 'ready', 2: 'ready' }),
    );
    const [, victim = 0] = workersOf(served);
    // It is there, and does not answer.
    process.kill(victim, 'SIGSTOP');
    let silent: unknown;
    while (silent === undefined) {
      const { status, workers = {} } = (await readiness(served)).body;
      if (status === 'degraded') silent = Object.values(workers).filter((state) => state !== 'ready');
    }
    expect(silent).toEqual(['silent']);
    process.kill(victim, 'SIGKILL');
    await allReady(served);
    expect(workersOf(served)).toHaveLength(WORKERS);
    expect(linesWith(served.program, 'a worker ended and is replaced')).toMatchObject([{ why: 'SIGKILL' }]);
  });

  it('is not ready while no worker can use a backend, and is again once they can', async () => {
    const backend = await legacyBackend(echo);
    const served = await started({
      backends: { b: { url: backend.url } },
      limits: { restartMaxMs: 200, restartMinMs: 50 },
    });
    await backend.close();
    for (let n = 0; n < WORKERS; n++) await send(served.url(), modern(call('x')));
    await untilAll(served, ({ status, backends }, code) => {
      return code === 503 && status === 'not ready' && backends.b.state === 'down';
    });
  });
});

it('bascule status sums up the workers, and shows each', verifies('gateway:workers:status'), async () => {
  const held = new Held();
  const backend = await modernBackend({ 'tools/call': held.take });
  const served = await started({ backends: { b: { url: backend.url } }, store: { dir: 'state' } });
  const clients = [];
  for (let n = 0; n < 2 * WORKERS; n++) clients.push(await connectLegacy(served.url()));
  const waiting = send(served.url(), modern(call('x')));
  const turn = await held.nth(1);
  const asked = (...args: string[]) =>
    run(['status', ...args], { folder: served.folder, env: { HOME: served.folder } });
  const { gateway, workers } = JSON.parse((await asked('--json')).stdout);
  expect(gateway).toMatchObject({ sessions: clients.length, inFlight: 1 });
  expect(workers.map(({ sessions }: { sessions: number }) => sessions)).toEqual([2, 2, 2]);
  expect(new Set(workers.map(({ pid }: { pid: number }) => pid))).toEqual(new Set(workersOf(served)));
  const shown = (await asked()).stdout;
  expect(shown).toMatch(/^workers {2}6 sessions, 1 requests in flight$/m);
  expect(shown.match(/^ {2}\d {2}ready, 2 sessions, [01] requests in flight, running for /gm)).toHaveLength(WORKERS);
  turn.result({ resultType: 'complete', content: [] });
  expect((await waiting).status).toBe(200);
});

it('log lines and the request log name the worker', verifies('gateway:workers:log'), async () => {
  const backend = await legacyBackend(echo);
  const served = await started({ backends: { b: { url: backend.url } } }, ['--log-requests']);
  for (let n = 0; n < WORKERS; n++) await send(served.url(), modern(call('x')));
  const named = () => new Set(linesWith(served.program, '"msg":"request"').map(({ worker }) => worker));
  await until(() => named().size === WORKERS, `each worker has logged: ${served.program.stderr}`);
  served.program.kill('SIGTERM');
  await served.program.end();
  expect(new Set(linesWith(served.program, '"msg":"stopped"').map(({ worker }) => worker))).toEqual(new Set([0, 1, 2]));
});
