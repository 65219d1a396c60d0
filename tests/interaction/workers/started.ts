/** `bascule serve --workers`, for tests. */
import { execFileSync } from 'node:child_process';
import { type Answer, send } from '../harness/client.ts';
import { eventually } from '../harness/limits.ts';
import { freePort } from '../harness/ports.ts';
import { configFile, type Served, serve } from '../harness/program.ts';

export const WORKERS = 3;

export function started(config: object, workers = String(WORKERS)): Promise<Served> {
  return serve(['--workers', workers], configFile(config));
}

/** The processes of the workers. */
export function workersOf({ program }: Served): readonly number[] {
  const children = execFileSync('ps', ['-o', 'pid=,args=', '--ppid', String(program.pid)], { encoding: 'utf8' });
  return children
    .split('\n')
    .filter((line) => line.includes('bascule'))
    .map((line) => Number.parseInt(line, 10));
}

export interface ServedByAll {
  readonly served: Served;
  /** The metrics of all workers. */
  scrape(): Promise<Answer>;
  /** Resolves when all workers serve again. */
  allServe(): Promise<void>;
}

/** Once all workers serve: one that does not listen yet takes no connections. */
export async function startedAll(config: object): Promise<ServedByAll> {
  const port = await freePort();
  const served = await started({ ...config, metrics: { listen: `127.0.0.1:${port}` } });
  const scrape = () => send(`http://127.0.0.1:${port}/metrics`, { method: 'GET' });
  const workersIn = (text: string) => new Set([...text.matchAll(/\{worker="(\d)"/g)].map(([, worker]) => worker));
  const allServe = () => eventually(async () => workersIn((await scrape()).body).size === WORKERS, 'all workers serve');
  await allServe();
  return { served, scrape, allServe };
}
