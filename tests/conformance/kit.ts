import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ROOT } from './processes.ts';
import type { SpecVersion } from './rows.ts';

export const PRELOAD = new URL('./kit/node20.js', import.meta.url).href;
export const KIT = fileURLToPath(
  new URL('../../node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url),
);

/** The longest scenario takes three seconds; the kit's own waits inside one add up to fifteen. */
const SCENARIO_LIMIT_MS = 20_000;

/** A suite takes five seconds. One in which this many scenarios hang need not be seen to its end. */
const RUN_LIMIT_MS = 12 * SCENARIO_LIMIT_MS;

export type CheckStatus = 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';

export interface Check {
  readonly id: string;
  readonly status: CheckStatus;
  readonly errorMessage?: string;
}

/** The checks of each scenario that ran, by the scenario's name, in the kit's order. */
export type KitResult = ReadonlyMap<string, readonly Check[]>;

export interface KitRun {
  readonly url: URL;
  /** Absent: as the scenario says itself, which those of extensions need. */
  readonly spec?: SpecVersion;
  /** One scenario instead of all of the revision. */
  readonly scenario: string | undefined;
  readonly outDir: string;
}

export async function runKit({ url, spec, scenario, outDir }: KitRun): Promise<KitResult> {
  const selection = scenario === undefined ? ['--suite', 'all'] : ['--scenario', scenario];
  const limit = ['--timeout', String(SCENARIO_LIMIT_MS)];
  const version = spec === undefined ? [] : ['--spec-version', spec];
  const args = ['server', '--url', url.href, ...selection, ...version, ...limit, '-o', outDir];
  const child = spawn(process.execPath, ['--import', PRELOAD, KIT, ...args], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: RUN_LIMIT_MS,
    killSignal: 'SIGKILL',
  });
  const logFile = join(outDir, 'kit.log');
  const log = createWriteStream(logFile);
  child.stdout.pipe(log, { end: false });
  child.stderr.pipe(log, { end: false });
  await once(child, 'close');
  log.end();
  await once(log, 'finish');
  return readResult(outDir, await readFile(logFile, 'utf8'));
}

/**
 * The kit writes a scenario's checks when it is done with it; one that throws, or is cut off, leaves only its name in
 * the log.
 */
async function readResult(outDir: string, log: string): Promise<KitResult> {
  const folders = await readdir(outDir);
  const result = new Map<string, readonly Check[]>();
  for (const [, name = ''] of log.matchAll(/^Running client scenario '([^']+)' against/gm)) {
    const folder = folders.find((candidate) => candidate.replace(/-\d{4}-\d\d-\d\dT.*$/, '') === `server-${name}`);
    result.set(name, folder === undefined ? [unfinished(name)] : await readChecks(join(outDir, folder), name));
  }
  return result;
}

async function readChecks(folder: string, name: string): Promise<readonly Check[]> {
  try {
    return JSON.parse(await readFile(join(folder, 'checks.json'), 'utf8')) as Check[];
  } catch {
    return [unfinished(name)];
  }
}

function unfinished(name: string): Check {
  return { id: name, status: 'FAILURE', errorMessage: 'The scenario did not come to its end: see kit.log' };
}
