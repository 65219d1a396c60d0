/** Runs the cells of one server over one transport: each script without the gateway and through it. */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ROOT, startGateway } from '../conformance/processes.ts';
import type { Cell, Group } from './cells.ts';
import type { Client } from './clients.ts';
import { compare, type Deviation, ownErrors } from './compare.ts';
import type { Pair } from './differences.ts';
import type { Environment, Era, Step, Target, Transcript } from './job.ts';
import { environment, freePort, runDriver, serve } from './processes.ts';
import { whyUnaided } from './reasons.ts';
import type { Launch, Server } from './servers.ts';
import { ANSWERS, ASKING_TOOLS } from './steps.ts';

const BASCULE = [process.execPath, join(ROOT, 'bin/bascule.js')] as const;
const NAME = 'it';
/** Notifications that come after the result they belong to. */
const SETTLE_MS = 400;

export interface Tried {
  readonly cell: Cell;
  readonly steps: readonly Step[];
  readonly pair: Pair;
  /** Works only through the gateway. */
  readonly isUnaided?: boolean;
  readonly deviations: readonly Deviation[];
  /** Why there is nothing to compare. */
  readonly failure?: string;
}

interface Places {
  readonly direct: Target;
  /** The gateway's config. */
  readonly config: string;
}

const slug = (text: string): string => text.replace(/[^a-zA-Z0-9.]+/g, '-');

/** What a server is started with, written out: `env` alone, nothing inherited. */
function targetOf({ command, args, env }: Launch, workdir: string): Extract<Target, { command: string }> {
  return { command, args, cwd: workdir, env: { ...environment(workdir), ...env } };
}

export class GroupRun {
  readonly #group: Group;
  readonly #workdir: string;
  readonly #results: string;
  readonly #baselines = new Map<string, Promise<Transcript>>();

  constructor(group: Group, results: string) {
    this.#group = group;
    this.#results = join(results, slug(`${group.server.name} ${group.server.version} ${group.back}`));
    this.#workdir = join(this.#results, 'work');
  }

  async run(report: (tried: Tried) => void): Promise<void> {
    const { server, back, cells } = this.#group;
    await rm(this.#results, { recursive: true, force: true });
    await mkdir(this.#workdir, { recursive: true });
    for (const [name, text] of Object.entries(server.files ?? {})) {
      await mkdir(dirname(join(this.#workdir, name)), { recursive: true });
      await writeFile(join(this.#workdir, name), text);
    }
    const stops: (() => Promise<void>)[] = [];
    try {
      const places = await (back === 'http' ? this.#overHttp(stops) : this.#overStdio());
      for (const cell of cells) report(await this.#try(cell, places));
    } catch (error) {
      const failure = error instanceof Error ? error.message : String(error);
      for (const cell of cells) report({ cell, steps: [], pair: pairOf(cell), deviations: [], failure });
    } finally {
      for (const stop of stops.reverse()) await stop();
    }
  }

  async #overHttp(stops: (() => Promise<void>)[]): Promise<Places> {
    const port = await freePort();
    const launch = this.#group.server.http?.(port, this.#workdir);
    if (launch === undefined) throw new Error('this server has no HTTP');
    const serving = await serve(launch, port, this.#workdir, join(this.#results, 'server.log'));
    stops.push(() => serving.stop());
    const direct = { url: `http://127.0.0.1:${port}/mcp` };
    return this.#configured(direct, { url: direct.url });
  }

  async #overStdio(): Promise<Places> {
    const launch = this.#group.server.stdio?.(this.#workdir);
    if (launch === undefined) throw new Error('this server has no stdio');
    const direct = targetOf(launch, this.#workdir);
    const { command, args, cwd, env } = direct;
    return this.#configured(direct, { command, args, cwd, env });
  }

  async #configured(direct: Target, backend: object): Promise<Places> {
    const config = join(this.#results, 'gateway.json');
    await writeFile(config, JSON.stringify({ mcpServers: { [NAME]: backend } }, null, 2));
    return { direct, config };
  }

  /** A gateway of its own for each run: what a legacy server keeps of one client is not there for the next one. */
  async #through(way: string, cell: Cell, steps: readonly Step[], { direct, config }: Places): Promise<Transcript> {
    const { era, front } = cell;
    if (front === 'stdio') {
      const [command, ...args] = BASCULE;
      const env: Environment = environment(this.#workdir);
      const target = { command, args: [...args, 'stdio', config], cwd: this.#workdir, env };
      return this.#drive(way, cell, steps, target, era);
    }
    const other = new URL('url' in direct ? direct.url : 'http://127.0.0.1/');
    const log = join(this.#results, `${slug(way)}.gateway.log`);
    const gateway = await startGateway([...BASCULE, 'serve'], config, log, other);
    try {
      return await this.#drive(way, cell, steps, { url: `${gateway.url.origin}/servers/${NAME}/mcp` }, era);
    } finally {
      await gateway.stop();
    }
  }

  async #try(cell: Cell, places: Places): Promise<Tried> {
    const { client, era, front, server } = cell;
    const steps = stepsFor(client, server);
    const pair = pairOf(cell);
    if (whyUnaided(cell) !== undefined) return this.#tryUnaided(cell, steps, places);
    try {
      const way = `direct ${client.name} ${client.version} ${pair.direct}`;
      const direct = await this.#baseline(way, cell, steps, places.direct, directEra(cell));
      const attempt = async (): Promise<Deviation[]> => {
        const through = `through ${front} ${client.name} ${client.version} ${era}`;
        return compare({ steps, repeats: server.repeats }, direct, await this.#through(through, cell, steps, places));
      };
      const deviations = await attempt();
      // Some clients look for the modern era for a second, and fall back: on a busy machine that is too short.
      const isSecondNeeded = era === 'auto' && deviations.length > 0;
      return { cell, steps, pair, deviations: isSecondNeeded ? await attempt() : deviations };
    } catch (error) {
      const failure = error instanceof Error ? error.message : String(error);
      return { cell, steps, pair, deviations: [], failure };
    }
  }

  /** Without the gateway this pair does not work at all. */
  async #tryUnaided(cell: Cell, steps: readonly Step[], places: Places): Promise<Tried> {
    const { client, era, front } = cell;
    const name = `${client.name} ${client.version}`;
    const tried = { cell, steps, pair: pairOf(cell), isUnaided: true, deviations: [] };
    const isStale = await this.#baseline(`direct ${name}`, cell, steps, places.direct, era).then(
      () => true,
      () => false,
    );
    if (isStale) return { ...tried, failure: 'works without the gateway: take its row out of reasons.ts' };
    try {
      const transcript = await this.#through(`through ${front} ${name} ${era}`, cell, steps, places);
      return { ...tried, deviations: ownErrors(steps, transcript) };
    } catch (error) {
      return { ...tried, failure: error instanceof Error ? error.message : String(error) };
    }
  }

  /** One run without the gateway serves every front transport. */
  #baseline(way: string, cell: Cell, steps: readonly Step[], target: Target, era: Era): Promise<Transcript> {
    let run = this.#baselines.get(way);
    if (run === undefined) {
      const drive = () => this.#drive(way, cell, steps, target, era);
      // Some clients look for the modern era for a second only: on a busy machine that is too short.
      run = era === 'auto' ? drive().catch(drive) : drive();
      this.#baselines.set(way, run);
    }
    return run;
  }

  async #drive(way: string, cell: Cell, steps: readonly Step[], target: Target, era: Era): Promise<Transcript> {
    const job = { target, era, steps, answers: ANSWERS, settleMs: SETTLE_MS };
    const files = join(this.#results, slug(way));
    const { keepsIn } = this.#group.server;
    if (keepsIn !== undefined) await rm(join(this.#workdir, keepsIn), { force: true });
    try {
      return await runDriver({ driver: cell.client.driver, job, files, home: this.#workdir });
    } catch (error) {
      throw new Error(`${way}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}

/** What this client can do of this server's script. */
function stepsFor({ methods, isSilent, leavesOut, isSlow }: Client, server: Server): readonly Step[] {
  const steps = server.steps.filter(({ method, params }) => {
    const tool = method === 'tools/call' ? String(params.name) : '';
    const isLeftOut = leavesOut?.includes(tool) === true || (isSilent === true && ASKING_TOOLS.has(tool));
    return (methods === 'all' || methods.includes(method)) && !isLeftOut;
  });
  return isSlow
    ? steps.filter(({ method }, index) => index === steps.findIndex((step) => step.method === method))
    : steps;
}

function erasOf({ server, back }: Cell): readonly ('legacy' | 'modern')[] {
  return (back === 'http' ? server.erasOverHttp : undefined) ?? server.eras;
}

/** Without the gateway a modern client of both eras has to fall back with a legacy server. */
function directEra(cell: Cell): Era {
  return cell.era === 'modern' && !erasOf(cell).includes('modern') ? 'auto' : cell.era;
}

function pairOf(cell: Cell): Pair {
  const client = cell.era === 'auto' ? 'modern' : cell.era;
  const direct = erasOf(cell).includes(client) ? client : 'legacy';
  return { client, direct, isOldest: cell.client.isOldest ?? false };
}
