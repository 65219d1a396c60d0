/** `bascule serve --workers 3`: what the config allows is what all workers allow together. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { lotOf } from '../../../src/policy/lots.ts';
import { verifies } from '../../requirements/verifies.ts';
import { echo } from '../harness/behind.ts';
import { send } from '../harness/client.ts';
import { legacyBackend, modernBackend } from '../harness/http-backend.ts';
import { aCall, eventually, openSessions, spend, userFile, wrongPasswords } from '../harness/limits.ts';
import { serve } from '../harness/program.ts';
import { startedAll, WORKERS, workersOf } from './started.ts';

const calls = (perSecond: number, burst: number) => [{ id: 'calls', what: ['call'], perSecond, burst }];

describe('three workers', verifies('gateway:counts:workers', 'gateway:counts:lots'), () => {
  it('allow a low rate exactly, to clients whose requests all arrive at different workers', async () => {
    const backend = await modernBackend(echo);
    const { served } = await startedAll({ backends: { b: { url: backend.url } }, rates: calls(0.001, 20) });
    expect((await spend([served.url()], 60)).admitted).toBe(20);
  });

  it('keep a high rate within one lot for each of them', async () => {
    const backend = await modernBackend(echo);
    const [perSecond, capacity] = [50, 60];
    const { served } = await startedAll({ backends: { b: { url: backend.url } }, rates: calls(perSecond, capacity) });
    const { admitted, seconds } = await spend([served.url()], 300);
    expect(admitted).toBeGreaterThanOrEqual(capacity);
    expect(admitted).toBeLessThanOrEqual(capacity + perSecond * seconds + WORKERS * lotOf({ perSecond, capacity }));
  });

  it('open as many sessions for a principal as one process does; those of killed workers are free', async () => {
    const backend = await legacyBackend(echo);
    const { served, allServe } = await startedAll({
      backends: { b: { url: backend.url } },
      limits: { sessionsPerPrincipal: 7 },
    });
    expect(await openSessions([served.url()], 3 * WORKERS)).toBe(7);
    let opened = 0;
    // One after the other: how many sessions each of them has is not known.
    for (const worker of workersOf(served)) {
      process.kill(worker, 'SIGKILL');
      await eventually(async () => !workersOf(served).includes(worker), 'it has ended');
      await allServe();
      opened += await openSessions([served.url()], WORKERS);
    }
    expect(opened).toBeGreaterThan(0);
  });

  it('allow as many wrong passwords as one process does', async () => {
    const backend = await modernBackend(echo);
    const identity = { authServer: { users: await userFile() } };
    const { served } = await startedAll({ backends: { b: { url: backend.url } }, identity });
    const statuses = await wrongPasswords([served.origin], 8);
    expect(statuses).toEqual([400, 400, 400, 400, 400, 429, 429, 429]);
  });

  it('use a rate that a reload has changed', async () => {
    const backend = await modernBackend(echo);
    const folder = mkdtempSync(join(tmpdir(), 'bascule-rates-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const write = (perSecond: number, burst: number) =>
      writeFileSync(
        join(folder, 'bascule.yaml'),
        JSON.stringify({ backends: { b: { url: backend.url } }, rates: calls(perSecond, burst) }),
      );
    write(0.001, 1);
    const served = await serve(['--workers', String(WORKERS)], { folder });
    expect((await spend([served.url()], 10)).admitted).toBe(1);
    write(1_000, 1_000);
    served.program.kill('SIGHUP');
    await eventually(async () => (await send(served.url(), aCall())).status === 200, 'the new rate is in force');
  });
});
