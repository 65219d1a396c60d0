/**
 * `npm run test:campaign -- [minutes] [--replicas N] [--seed N] [--only <part of a name>] [--verbose]
 * [--self-test]`: the fault campaign.
 *
 * Principals of both eras call tools with tokens while faults are played on both sides and in the middle. Every answer
 * is right, an error with a named reason, or a defect: lost, doubled, crossed, hung or nameless. It ends with memory,
 * descriptors and processes back where they were. `--self-test` spoils answers on purpose, and checks that exactly
 * those are reported.
 *
 * With `--replicas 3` the gateway is three processes with one Redis, behind a balancer that goes in turn; then
 * replicas, Redis and the links between them fail too, and a session that could go on elsewhere must not be lost.
 *
 * Needs Linux; mounts a small disk where it is root. Needs a built gateway (`npm run build`), and `redis-server` for
 * replicas.
 */
import { parseArgs } from 'node:util';
import { Chance } from '../interaction/faults/chance.ts';
import { HUNG_MS, LegacyClient, ModernClient, type World } from './clients.ts';
import { excuses } from './excuses.ts';
import { type Fault, faults, type Trouble } from './faults.ts';
import type { Gateway, Held } from './gateway.ts';
import { Ledger } from './ledger.ts';
import { replicaFaults } from './replica-faults.ts';
import { type Sabotage, Saboteur } from './sabotage.ts';
import { Stage } from './stage.ts';

const CLIENTS_PER_PRINCIPAL = 4;
const WARM_UP_MS = 8_000;
const SETTLE_MS = 120_000;
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** What may be left: caches that are full after hours are not full after seconds. */
const MOST_HEAP_GROWTH = 24 * 1024 * 1024;
const MOST_DESCRIPTORS_MORE = 8;
const MOST_PROCESSES_MORE = 0;
/**
 * A replica that is gone is refused by name after its lease and a moment; one that only this replica cannot reach, on a
 * connection that nobody has closed, after two probes.
 */
const LATEST_MS = 15_000;
/** Of replicas: with less, a sticky balancer could have done it. */
const LEAST_ELSEWHERE = 0.5;

interface Wish {
  readonly minutes: number;
  readonly seed: number;
  readonly replicas: number | undefined;
  /** A part of the names of the faults to play. */
  readonly only: string;
  /** Says when which fault begins, and which calls failed. */
  readonly isVerbose: boolean;
}

interface Played {
  readonly ledger: Ledger;
  readonly saboteur: Saboteur;
  readonly faults: ReadonlyMap<string, number>;
  readonly leftOut: readonly string[];
  readonly before: Held;
  readonly after: Held;
  /** Of replicas: the part of the requests of sessions that did not reach their owner. */
  readonly elsewhere: number | undefined;
}

async function play({ minutes, seed, replicas, only, isVerbose }: Wish, sabotage?: Sabotage): Promise<Played> {
  const tell = (text: string) => {
    if (isVerbose) console.log(new Date().toISOString(), text);
  };
  const ledger = new Ledger((finding) => tell(JSON.stringify(finding)));
  const saboteur = new Saboteur(sabotage, new Chance(seed + 1));
  const stage = await Stage.start(ledger, replicas);
  const trouble: Trouble = { starved: false };
  try {
    const world = {
      origin: stage.origin,
      ledger,
      saboteur,
      chance: new Chance(seed),
      isStarved: () => trouble.starved,
      ...excuses(stage),
    };
    await warmUp(stage, world);
    const before = await settle(stage, ledger);
    const { played, leftOut } = await traffic(stage, world, {
      minutes,
      seed,
      only,
      trouble,
      tell,
      quiet: sabotage !== undefined,
    });
    saboteur.finish();
    const after = await settle(stage, ledger, before);
    const died = stage.gateways.find(hasDied);
    if (died !== undefined) throw new Error(await died.exited);
    return {
      ledger,
      saboteur,
      faults: played,
      leftOut,
      before,
      after,
      elsewhere: stage.group?.balancer.shareElsewhere(),
    };
  } catch (error) {
    const died = stage.gateways.find(hasDied);
    throw died === undefined ? error : new Error(await died.exited, { cause: error });
  } finally {
    await stage.stop();
  }
}

/** Other than by the campaign's doing. */
function hasDied({ process, isEnded }: Gateway): boolean {
  return !isEnded && (process.exitCode !== null || process.signalCode !== null);
}

interface Length extends Pick<Wish, 'minutes' | 'seed' | 'only'> {
  readonly trouble: Trouble;
  readonly tell: (text: string) => void;
  /** No faults: the self-test has to know of every defect. */
  readonly quiet: boolean;
}

async function traffic(stage: Stage, world: World, { minutes, seed, only, trouble, tell, quiet }: Length) {
  const until = Date.now() + minutes * 60_000;
  const played = new Map<string, number>();
  const leftOut: string[] = [];
  const isPossible = ({ name, needs }: Fault) => {
    if (!name.includes(only)) return false;
    const missing = needs?.(stage);
    if (missing !== undefined) leftOut.push(`${name}: ${missing}`);
    return missing === undefined;
  };
  const chance = new Chance(seed + 2);
  const breaking = async (all: readonly Fault[]) => {
    const possible = all.filter(isPossible);
    // Every fault once, then by chance.
    const waiting = [...possible];
    while (!quiet && possible.length > 0 && Date.now() < until) {
      const fault: Fault = waiting.shift() ?? chance.pick(possible);
      tell(fault.name);
      await fault.play(stage, chance, trouble);
      played.set(fault.name, (played.get(fault.name) ?? 0) + 1);
      await pause(200 + chance.below(600));
    }
  };
  // Replicas fail while backends and clients do.
  const kinds = stage.group === undefined ? [faults] : [faults, replicaFaults];
  await Promise.all([...kinds.map(breaking), calling(stage, world, () => Date.now() < until)]);
  return { played, leftOut };
}

function warmUp(stage: Stage, world: World): Promise<void> {
  const until = Date.now() + WARM_UP_MS;
  return calling(stage, world, () => Date.now() < until);
}

async function calling(stage: Stage, world: World, goOn: () => boolean): Promise<void> {
  const names = [...stage.backends.map(({ name }) => name), 'stdio'];
  const places = [
    ...names.map((name) => ({ path: `/servers/${name}/mcp`, prefix: '' })),
    ...names.map((name) => ({ path: '/mcp', prefix: `${name}__` })),
  ];
  const clients = stage.principals.flatMap((principal) =>
    Array.from({ length: CLIENTS_PER_PRINCIPAL }, (_, n) =>
      n % 2 === 0 ? new ModernClient(world, principal) : new LegacyClient(world, principal),
    ),
  );
  await Promise.all(
    clients.map(async (client) => {
      while (goOn()) {
        const { path, prefix } = world.chance.pick(places);
        await client.call(path, prefix);
      }
      if (client instanceof LegacyClient) await client.leave();
    }),
  );
}

/** Waits until the gateway holds no more than before, or tells what it holds when its time is over. */
async function settle(stage: Stage, ledger: Ledger, before?: Held): Promise<Held> {
  const until = Date.now() + SETTLE_MS;
  const hungBy = Date.now() + HUNG_MS + 5_000;
  while (ledger.open > 0 && Date.now() < hungBy) await pause(200);
  let held = await stage.held();
  for (let calm = 0; Date.now() < until && calm < 3; ) {
    await pause(2_000);
    const next = await stage.held();
    const isCalm =
      before === undefined
        ? next.descriptors >= held.descriptors - 1 && next.children.length >= held.children.length
        : grown(before, next).length === 0;
    calm = isCalm ? calm + 1 : 0;
    held = next;
  }
  return held;
}

function grown(before: Held, after: Held): string[] {
  return [
    ...(after.heapUsed > before.heapUsed + MOST_HEAP_GROWTH
      ? [`heap: ${mib(before.heapUsed)} -> ${mib(after.heapUsed)}`]
      : []),
    ...(after.external > before.external + MOST_HEAP_GROWTH
      ? [`buffers: ${mib(before.external)} -> ${mib(after.external)}`]
      : []),
    ...(after.descriptors > before.descriptors + MOST_DESCRIPTORS_MORE
      ? [`descriptors: ${before.descriptors} -> ${after.descriptors}`]
      : []),
    ...(after.children.length > before.children.length + MOST_PROCESSES_MORE
      ? [`processes: ${before.children.length} -> ${after.children.join('; ')}`]
      : []),
  ];
}

const percent = (part: number) => `${Math.round(part * 100)} %`;
const mib = (bytes: number) => `${(bytes / 1024 / 1024).toFixed(1)} MiB`;

function report({ ledger, faults: played, leftOut, before, after, elsewhere }: Played): string[] {
  const byDefect = new Map<string, number>();
  for (const { defect } of ledger.findings) byDefect.set(defect, (byDefect.get(defect) ?? 0) + 1);
  return [
    ...[...played].map(([name, times]) => `${String(times).padStart(6)}  ${name}`),
    ...leftOut.map((reason) => `left out: ${reason}`),
    ...[...ledger.answers].map(([kind, count]) => {
      const longest = ledger.longest.get(kind);
      return `${String(count).padStart(6)}  ${kind}${longest === undefined ? '' : `, after ${longest} ms at the most`}`;
    }),
    `${ledger.total} calls, ${ledger.abandoned} left by their clients, ${ledger.refused} without a descriptor; lost ${byDefect.get('lost') ?? 0}, doubled ${byDefect.get('doubled') ?? 0}, crossed ${byDefect.get('crossed') ?? 0}, hung ${byDefect.get('hung') ?? 0}, revived ${byDefect.get('revived') ?? 0}, without a reason ${byDefect.get('nameless') ?? 0}`,
    `heap ${mib(before.heapUsed)} -> ${mib(after.heapUsed)}, descriptors ${before.descriptors} -> ${after.descriptors}, processes ${before.children.length} -> ${after.children.length}`,
    ...(elsewhere === undefined
      ? []
      : [`${percent(elsewhere)} of the requests of sessions reached a process that did not own the session`]),
    ...ledger.findings
      .slice(0, 20)
      .map(({ defect, token, what, detail }) => `DEFECT ${defect} ${token} (${what}): ${detail}`),
  ];
}

async function campaign(wish: Wish): Promise<boolean> {
  const played = await play(wish);
  for (const line of report(played)) console.log(line);
  if (wish.isVerbose)
    for (const [reason, calls] of played.ledger.failed)
      for (const [what, count] of calls) console.log(`${String(count).padStart(6)}  ${reason}: ${what}`);
  const left = grown(played.before, played.after);
  for (const line of left) console.log(`NOT GIVEN BACK ${line}`);
  const { elsewhere = 1 } = played;
  if (elsewhere <= LEAST_ELSEWHERE) console.log(`NOT DEALT OUT only ${percent(elsewhere)} had to be handed over`);
  const late = [...played.ledger.longest].filter(([reason, ms]) => reason === 'owner_unavailable' && ms > LATEST_MS);
  for (const [reason, ms] of late) console.log(`LATE ${reason} after ${ms} ms`);
  const amiss = [...played.ledger.findings, ...left, ...late];
  return amiss.length === 0 && elsewhere > LEAST_ELSEWHERE;
}

/** What was spoiled is what is reported, token by token. */
async function selfTest(kind: Sabotage, wish: Wish): Promise<boolean> {
  const { ledger, saboteur } = await play(wish, kind);
  const reported = new Set(ledger.findings.map(({ token }) => token));
  const missed = [...saboteur.victims].filter((token) => !reported.has(token));
  const invented = [...reported].filter((token) => !saboteur.victims.has(token));
  console.log(
    `${kind}: ${saboteur.victims.size} answers spoiled of ${ledger.total}, ${missed.length} missed, ${invented.length} invented`,
  );
  for (const { defect, token, detail } of ledger.findings
    .filter((finding) => invented.includes(finding.token))
    .slice(0, 5))
    console.log(`INVENTED ${defect} ${token}: ${detail}`);
  return saboteur.victims.size > 0 && missed.length === 0 && invented.length === 0;
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      seed: { type: 'string' },
      replicas: { type: 'string' },
      only: { type: 'string', default: '' },
      verbose: { type: 'boolean', default: false },
      'self-test': { type: 'boolean', default: false },
    },
  });
  const minutes = Number(positionals[0] ?? 2);
  const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
  const replicas = values.replicas === undefined ? undefined : Number(values.replicas);
  const wish = { minutes, seed, replicas, only: values.only, isVerbose: values.verbose };
  console.log(`seed ${seed}, ${minutes} minutes`);
  const kinds: readonly Sabotage[] = ['drop', 'double', 'swap'];
  const outcomes: boolean[] = [];
  if (values['self-test']) for (const kind of kinds) outcomes.push(await selfTest(kind, wish));
  else outcomes.push(await campaign(wish));
  const failed = outcomes.filter((passed) => !passed).length;
  console.log(`${outcomes.length - failed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

// Sockets that were reset in the middle may stay open for a while: nothing of them matters any more.
process.exit(await main());
