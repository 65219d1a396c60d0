/** From the start of a process to its first right answer, and the memory that it has then. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { performance } from 'node:perf_hooks';
import type { Contestant } from '../contestants/contestant.ts';
import { ForeignLoad } from '../foreign-load.ts';
import { Connection } from '../load/connection.ts';
import { modernRequest } from '../load/requests.ts';
import { Verifier } from '../load/verify.ts';
import { makeEcho, toolNames } from '../programs/payloads.ts';
import type { Starts } from '../results.ts';
import { median, ratioOfPairs, spread } from '../stats.ts';
import { memoryOf, settle } from '../system.ts';

interface Start {
  readonly ms: number;
  readonly rssMb: number;
}

const text = 'good morning';

async function startOnce(contestant: Contestant): Promise<Start> {
  const running = await contestant.start({ targets: ['modern'], nodeArgs: [] });
  try {
    const { url, pid, spawnedAt } = running.at('modern');
    const connection = await Connection.open(url);
    const call = { method: 'tools/call', name: toolNames.echo, arguments: { text } };
    const answer = await connection.ask(modernRequest(url, 1, call));
    const ms = performance.now() - spawnedAt;
    new Verifier(1, { ...makeEcho(text) }).check(answer);
    connection.close();
    await settle(pid);
    return { ms, rssMb: memoryOf(pid).resident / 1024 };
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`${contestant.name} (${contestant.group}) at its start: ${why}`, { cause });
  } finally {
    await running.stop();
  }
}

/** In turn, so that a busy moment of the machine falls on all alike; each start has a bare one just before it. */
export async function measureStarts(contestants: readonly Contestant[], times: number): Promise<Starts> {
  const starts = contestants.map((contestant) => ({ contestant, measured: [] as (Start & { bareMs: number })[] }));
  const foreign = new ForeignLoad();
  for (let round = 0; round < times; round += 1)
    for (const { contestant, measured } of starts) {
      const bareMs = await bareNodeOnce();
      measured.push({ bareMs, ...(await startOnce(contestant)) });
    }
  const foreignCores = foreign.cores();
  const rows = starts.map(({ contestant: { name, group }, measured }) => ({
    contestant: name,
    group,
    ms: spread(measured.map(({ ms }) => ms)),
    ratio: ratioOfPairs(
      measured.map(({ ms }) => ms),
      measured.map(({ bareMs }) => bareMs),
    ),
    rssMb: median(measured.map(({ rssMb }) => rssMb)),
  }));
  return { rows, foreignCores };
}

/** Started as the contestants are. */
async function bareNodeOnce(): Promise<number> {
  const begin = performance.now();
  await once(spawn(process.execPath, ['-e', '0'], { stdio: ['ignore', 'pipe', 'pipe'] }), 'exit');
  return performance.now() - begin;
}
