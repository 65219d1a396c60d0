/**
 * Many sessions with open streams over three replicas, most of which arrived at another replica than the one that has
 * the session. `BASCULE_SESSIONS=5000` is the number that the gateway is meant for.
 */
import { readFileSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import type { OpenAnswer } from '../interaction/harness/client.ts';
import { connectLegacy, LegacyClient } from '../interaction/harness/eras.ts';
import type { Served } from '../interaction/harness/program.ts';
import { launchBackend } from '../interaction/sdk/backends.ts';
import { verifies } from '../requirements/verifies.ts';
import { REPLICAS, startReplicas } from './replicas.ts';
import { eventually } from './server.ts';

const SESSIONS = Number(process.env.BASCULE_SESSIONS ?? 300);
/** At a time. */
const OPENING = 20;
/** Of all replicas together, for one session and its stream, which two of them carry. */
const MOST_BYTES_EACH = 200 * 1024;
const CHANGED = 'notifications/tools/list_changed';

it('a changed list is told to all sessions', { ...verifies('gateway:replicas:many'), timeout: 600_000 }, async () => {
  const backend = await launchBackend('v2', 'http');
  onTestFinished(() => backend.close());
  const { all } = await startReplicas({
    backends: { b: backend.config },
    limits: { sessionsPerPrincipal: 20_000, sessionsTotal: 20_000 },
  });
  const at = (n: number) => all[n % REPLICAS] as Served;
  const streams: OpenAnswer[] = [];
  onTestFinished(() => {
    for (const stream of streams) stream.close();
  });
  const open = async (n: number) => {
    const { session, revision, initialized } = await connectLegacy(at(n).url('b'));
    streams.push(await new LegacyClient(at(n + 1).url('b'), session, revision, initialized).listen());
  };
  // What the first one costs is not what each one costs.
  for (let n = 0; n < REPLICAS; n++) await open(n);
  const before = memoryOf(all);
  for (let n = REPLICAS; n < SESSIONS; n += OPENING)
    await Promise.all(Array.from({ length: Math.min(OPENING, SESSIONS - n) }, (_, more) => open(n + more)));
  const each = (memoryOf(all) - before) / (SESSIONS - REPLICAS);
  console.log(`${SESSIONS} sessions with a stream each: ${Math.round(each / 1024)} KiB of memory for each`);

  backend.order({ kind: 'grow' });
  const told = () => streams.filter(({ events }) => events.some(({ data }) => data?.includes(CHANGED))).length;
  await eventually('all are told', () => told() === SESSIONS);
  expect(each).toBeLessThan(MOST_BYTES_EACH);
});

/** The resident memory of all of them, in bytes. */
function memoryOf(replicas: readonly Served[]): number {
  const sizes = replicas.map(({ program: { pid } }) => {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
  });
  return sizes.reduce((sum, size) => sum + size, 0);
}
