/**
 * `npm run test:campaign -- [minutes] [--seed N] [--sabotage drop|double|swap | --self-test]`: the fault campaign.
 *
 * Principals of both eras call tools with tokens while faults are played on both sides and in the middle. Every answer
 * is right, an error with a named reason, or a defect: lost, doubled, crossed, hung or nameless. It ends with memory,
 * descriptors and processes back where they were. `--self-test` spoils answers on purpose, and checks that exactly
 * those are reported.
 *
 * Needs Linux; mounts a small disk where it is root. Needs a built gateway (`npm run build`).
 */
import { parseArgs } from 'node:util';
import { Chance } from '../interaction/faults/chance.ts';
import { HUNG_MS, LegacyClient, ModernClient, type World } from './clients.ts';
import { type Fault, faults, type Trouble } from './faults.ts';
import { Ledger } from './ledger.ts';
import { type Sabotage, Saboteur } from './sabotage.ts';
import { type Held, Stage } from './stage.ts';

const CLIENTS_PER_PRINCIPAL = 4;
const WARM_UP_MS = 8_000;
const SETTLE_MS = 120_000;
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** What may be left: caches that are full after hours are not full after seconds. */
const MOST_HEAP_GROWTH = 24 * 1024 * 1024;
const MOST_DESCRIPTORS_MORE = 8;
const MOST_PROCESSES_MORE = 0;

interface Played {
  readonly ledger: Ledger;
  readonly saboteur: Saboteur;
  readonly faults: ReadonlyMap<string, number>;
  readonly leftOut: readonly string[];
  readonly before: Held;
  readonly after: Held;
}

async function play(minutes: number, seed: number, sabotage?: Sabotage): Promise<Played> {
  const ledger = new Ledger();
  const saboteur = new Saboteur(sabotage, new Chance(seed + 1));
  const stage = await Stage.start(ledger);
  const trouble: Trouble = { starved: false };
  let died = '';
  stage.gateway.once('exit', (code, signal) => {
    died = `the gateway ended: ${code} ${signal}`;
  });
  try {
    const world = {
      origin: stage.origin,
      ledger,
      saboteur,
      chance: new Chance(seed),
      isStarved: () => trouble.starved,
    };
    await warmUp(stage, world);
    const before = await settle(stage, ledger);
    const { played, leftOut } = await traffic(stage, world, { minutes, seed, trouble, quiet: sabotage !== undefined });
    saboteur.finish();
    const after = await settle(stage, ledger, before);
    if (died !== '') throw new Error(died);
    return { ledger, saboteur, faults: played, leftOut, before, after };
  } catch (error) {
    throw died === '' ? error : new Error(died, { cause: error });
  } finally {
    await stage.stop();
  }
}

interface Length {
  readonly minutes: number;
  readonly seed: number;
  readonly trouble: Trouble;
  /** No faults: the self-test has to know of every defect. */
  readonly quiet: boolean;
}

async function traffic(stage: Stage, world: World, { minutes, seed, trouble, quiet }: Length) {
  const until = Date.now() + minutes * 60_000;
  const played = new Map<string, number>();
  const leftOut: string[] = [];
  const possible = faults.filter(({ name, needs }) => {
    const missing = needs?.(stage);
    if (missing !== undefined) leftOut.push(`${name}: ${missing}`);
    return missing === undefined;
  });
  const chance = new Chance(seed + 2);
  const breaking = async () => {
    // Every fault once, then by chance.
    const waiting = [...possible];
    while (!quiet && Date.now() < until) {
      const fault: Fault = waiting.shift() ?? chance.pick(possible);
      await fault.play(stage, chance, trouble);
      played.set(fault.name, (played.get(fault.name) ?? 0) + 1);
      await pause(200 + chance.below(600));
    }
  };
  await Promise.all([breaking(), calling(stage, world, () => Date.now() < until)]);
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

const mib = (bytes: number) => `${(bytes / 1024 / 1024).toFixed(1)} MiB`;

function report({ ledger, faults: played, leftOut, before, after }: Played): string[] {
  const byDefect = new Map<string, number>();
  for (const { defect } of ledger.findings) byDefect.set(defect, (byDefect.get(defect) ?? 0) + 1);
  return [
    ...[...played].map(([name, times]) => `${String(times).padStart(6)}  ${name}`),
    ...leftOut.map((reason) => `left out: ${reason}`),
    ...[...ledger.answers].map(([kind, count]) => `${String(count).padStart(6)}  ${kind}`),
    `${ledger.total} calls, ${ledger.abandoned} left by their clients, ${ledger.refused} without a descriptor; lost ${byDefect.get('lost') ?? 0}, doubled ${byDefect.get('doubled') ?? 0}, crossed ${byDefect.get('crossed') ?? 0}, hung ${byDefect.get('hung') ?? 0}, without a reason ${byDefect.get('nameless') ?? 0}`,
    `heap ${mib(before.heapUsed)} -> ${mib(after.heapUsed)}, descriptors ${before.descriptors} -> ${after.descriptors}, processes ${before.children.length} -> ${after.children.length}`,
    ...ledger.findings
      .slice(0, 20)
      .map(({ defect, token, what, detail }) => `DEFECT ${defect} ${token} (${what}): ${detail}`),
  ];
}

async function campaign(minutes: number, seed: number): Promise<boolean> {
  const played = await play(minutes, seed);
  for (const line of report(played)) console.log(line);
  const left = grown(played.before, played.after);
  for (const line of left) console.log(`NOT GIVEN BACK ${line}`);
  return played.ledger.findings.length === 0 && left.length === 0;
}

/** What was spoiled is what is reported, token by token. */
async function selfTest(kind: Sabotage, minutes: number, seed: number): Promise<boolean> {
  const { ledger, saboteur } = await play(minutes, seed, kind);
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
    options: { seed: { type: 'string' }, 'self-test': { type: 'boolean', default: false } },
  });
  const minutes = Number(positionals[0] ?? 2);
  const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
  console.log(`seed ${seed}, ${minutes} minutes`);
  const kinds: readonly Sabotage[] = ['drop', 'double', 'swap'];
  const outcomes: boolean[] = [];
  if (values['self-test']) for (const kind of kinds) outcomes.push(await selfTest(kind, minutes, seed));
  else outcomes.push(await campaign(minutes, seed));
  const failed = outcomes.filter((passed) => !passed).length;
  console.log(`${outcomes.length - failed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

process.exitCode = await main();
