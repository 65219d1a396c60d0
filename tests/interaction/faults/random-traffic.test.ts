/**
 * A gateway in bad company: clients that leave and send garbage, backends that do what they like, processes that are
 * killed. It goes on, and when all have gone it holds what it held before. `npm run test:soak` does the same for two
 * minutes.
 */
import { dirname, join } from 'node:path';
import { expect, inject, it, onTestFinished } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { call, text } from '../harness/behind.ts';
import { send } from '../harness/client.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import { configFile, serve } from '../harness/program.ts';
import { heldNoMore, holding, watched } from '../harness/watch.ts';
import { Chance } from './chance.ts';
import { launchFaulty } from './faulty-backend.ts';
import { childrenOf, traffic } from './traffic.ts';

const soaking = process.env.MODE === 'soak';
const [warmUpMs, trafficMs] = soaking ? [10_000, 120_000] : [1000, 3000];
const seed = Number(process.env.BASCULE_SEED ?? (soaking ? Date.now() % 1_000_000 : 20260728));
/** Enough to keep two cores busy with gateway, clients and backends. */
const ACTORS = 16;
/** Sessions that nobody ended are looked at every five seconds. */
const SETTLE_MS = 20_000;
/**
 * What a heap may have more after a while, by fragments and by caches that have their limits. A leak of one small
 * object for each request is more.
 */
const SLACK_BYTES = 8 * 1024 * 1024;

/** As short as they may be, so that everything that waits is seen to end. */
const limits = {
  headersMs: 500,
  bodyMs: 500,
  sseAfterMs: 50,
  keepAliveMs: 1000,
  drainMs: 1000,
  sessionIdleMs: 1000,
  sessionsTotal: 300,
  sessionsPerPrincipal: 300,
  firstByteMs: 400,
  idleMs: 400,
  totalMs: 2000,
  probeMs: 500,
  reconnects: 1,
  processIdleMs: 1000,
  restartMinMs: 50,
  restartMaxMs: 200,
  childStopMs: 500,
  askMs: 400,
  parkedMs: 400,
};

it('random traffic leaves no crash, no rejection and no leak', {
  ...verifies('gateway:faults:random-traffic'),
  timeout: warmUpMs + trafficMs + 4 * SETTLE_MS,
}, async () => {
  console.log(`random traffic: BASCULE_SEED=${seed}`);
  const chance = new Chance(seed);
  const faulty = await launchFaulty(chance);
  onTestFinished(() => faulty.close());
  // The built-in demo is a process that speaks both eras.
  const demo = {
    command: process.execPath,
    args: [join(dirname(inject('executable') ?? ''), '..', 'dist', 'demo.js')],
    maxProcesses: 3,
  };
  const backends = { legacy: { url: faulty.legacy.url }, modern: { url: faulty.modern.url }, demo };
  const { program, origin, url } = await serve([], watched(configFile({ backends, limits, log: { level: 'error' } })));
  const target = { origin, pid: program.pid, backends: Object.keys(backends) };
  for (const name of target.backends) await program.says(new RegExp(`^ {2}${name} {2}ready`, 'm'));
  const idle = await holding(program);

  await traffic(target, chance, warmUpMs, ACTORS);
  const warm = soaking ? await heldNoMore(program, idle.resources, SETTLE_MS) : await holding(program);
  const { deeds, statuses } = await traffic(target, chance, trafficMs, ACTORS);
  expect(program.running, program.stderr).toBe(true);
  // It was both: served and refused.
  for (const status of [0, 200, 202, 400, 404]) expect(statuses.get(status), `status ${status}`).toBeGreaterThan(0);
  // What went wrong was all foreseen.
  expect(program.stderr.replace(/^WATCH .*\n/gm, '')).toBe('');

  const rest = await heldNoMore(program, idle.resources, SETTLE_MS);
  expect(rest.bytes - warm.bytes, JSON.stringify({ idle, warm, rest })).toBeLessThan(SLACK_BYTES);
  const answers = JSON.stringify(Object.fromEntries(statuses));
  console.log(`${deeds} deeds, answered with ${answers}; ${warm.bytes} bytes in use before, ${rest.bytes} after`);

  faulty.calm();
  for (const name of ['legacy', 'modern']) {
    const said = modern({ method: 'tools/call', params: { name: 'work' } });
    expect((await send(url(name), said)).json().result, name).toMatchObject(text('done'));
    const client = await connectLegacy(url(name));
    expect((await client.post(call(1))).json().result, name).toMatchObject(text('done'));
  }
  program.kill('SIGTERM');
  expect(await program.end()).toEqual({ code: 0, signal: null });
  expect(childrenOf(program.pid)).toEqual([]);
});
