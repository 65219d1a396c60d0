import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { launchReplicas } from '../redis/launch.ts';
import type { FixtureEra } from './fixture/http.ts';
import type { KitResult } from './kit.ts';
import { runKit } from './kit.ts';
import type { Gatekeeper, Started } from './processes.ts';
import { startFixture, startGateway } from './processes.ts';
import type { SpecVersion } from './rows.ts';

/** The name of the fixture in the gateway's config, and so in its address: nothing is renamed there. */
const BACKEND = 'fixture';

export interface RunSettings {
  readonly resultsDir: string;
  readonly gateway: readonly string[];
  /** How many processes the gateway is. */
  readonly replicas: number;
  /** One scenario instead of all of the revision. */
  readonly scenario: string | undefined;
  /** How many runs at once: each is three processes, and some scenarios count on an answer within a second. */
  readonly jobs: number;
}

export interface Run {
  readonly result: KitResult;
  readonly seconds: number;
  /** Why there is no result. */
  readonly failure?: string;
  /** Of replicas: the part of the requests of sessions that reached a process which did not own the session. */
  readonly elsewhere?: number;
}

/**
 * Runs the kit against fixtures, each run with processes of its own: what one scenario publishes, no other run hears.
 */
export class Runner {
  readonly #settings: RunSettings;
  readonly #direct = new Map<string, Promise<Run>>();
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(settings: RunSettings) {
    this.#settings = settings;
    this.#free = settings.jobs;
  }

  /** Rows that are compared with the same direct run share it. */
  direct(fixture: FixtureEra, spec: SpecVersion): Promise<Run> {
    const key = `${fixture}@${spec}`;
    const run = this.#direct.get(key) ?? this.#inTurn(() => this.#run(fixture, spec, 'direct'));
    this.#direct.set(key, run);
    return run;
  }

  through(fixture: FixtureEra, spec: SpecVersion): Promise<Run> {
    return this.#inTurn(() => this.#run(fixture, spec, 'through'));
  }

  async #run(fixture: FixtureEra, spec: SpecVersion, way: 'direct' | 'through'): Promise<Run> {
    const startedAt = performance.now();
    const seconds = (): number => (performance.now() - startedAt) / 1000;
    const { resultsDir, scenario } = this.#settings;
    const outDir = join(resultsDir, `${fixture}@${spec}`, way);
    await mkdir(outDir, { recursive: true });
    const running: Started[] = [];
    try {
      const backend = await startFixture(fixture, join(outDir, 'fixture.log'));
      running.push(backend);
      let { url } = backend;
      let gateway: Gatekeeper | undefined;
      if (way === 'through') {
        gateway = await this.#startGateway(backend.url, outDir);
        running.push(gateway);
        url = new URL(`/servers/${BACKEND}/mcp`, gateway.url);
      }
      const result = await runKit({ url, spec, scenario, outDir });
      const elsewhere = gateway?.elsewhere?.();
      return { result, seconds: seconds(), ...(elsewhere === undefined ? {} : { elsewhere }) };
    } catch (error) {
      const failure = error instanceof Error ? error.message : String(error);
      return { result: new Map(), seconds: seconds(), failure };
    } finally {
      for (const started of running.reverse()) await started.stop();
    }
  }

  async #startGateway(backend: URL, outDir: string): Promise<Gatekeeper> {
    const { gateway, replicas } = this.#settings;
    const backends = amongOthers(backend.href);
    if (replicas > 1)
      return launchReplicas({ backends }, { command: gateway, count: replicas, folder: outDir, backend });
    const configFile = join(outDir, 'gateway.json');
    await writeFile(configFile, JSON.stringify({ mcpServers: backends }));
    return startGateway(gateway, configFile, join(outDir, 'gateway.log'), backend);
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free += 1;
    }
  }
}

/** One of three: whoever stands beside it must make no difference at its own address. */
function amongOthers(url: string) {
  return { before: { url }, [BACKEND]: { url }, behind: { url } };
}
