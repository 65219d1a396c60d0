/**
 * `npm run test:transcripts -- <revision> [<revision>] [--without-texts] [--only stage] [--save folder] | --self-test`
 *
 * Plays the same exchanges against two builds and compares every byte on both sides of the gateway. Without a second
 * revision, the working tree is the second build. docs/testing.md, "Byte transcripts".
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Backends } from './backends.ts';
import { type Build, build } from './build.ts';
import { type Difference, differences, type Expected, isExpected, type Options, shown } from './compare.ts';
import { expectedDifferences } from './expected-differences.ts';
import { guarded, watched } from './guarded.ts';
import { lifecycle, stdioStages } from './lifecycle.ts';
import { mended } from './mended.ts';
import { merged, streams } from './merged.ts';
import { Player } from './player.ts';
import { refusals } from './refusals.ts';
import { backendRows, pairs, type Stage } from './stages.ts';
import { linesOf, Transcript } from './transcript.ts';

const stages: readonly Stage[] = [
  refusals,
  guarded,
  watched,
  merged,
  streams,
  lifecycle,
  ...mended,
  ...stdioStages,
  pairs,
];
const MOST_SHOWN = 40;
const PLAYS = 3;
let saved = 0;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    ...{ 'self-test': { type: 'boolean' }, 'without-texts': { type: 'boolean' } },
    ...{ only: { type: 'string' }, save: { type: 'string' } },
  },
});
const options: Options = { withoutTexts: values['without-texts'] === true };

const folder = mkdtempSync(join(tmpdir(), 'bascule-transcripts-'));
const backends = new Backends();

interface Comparison {
  readonly before: Build;
  readonly after: Build;
  readonly expectations: readonly Expected[];
  readonly port: number;
}

async function compare(port: number): Promise<boolean> {
  const [first, second] = positionals;
  if (first === undefined) {
    console.error('Which revision is the one before? npm run test:transcripts -- <revision> [<revision>]');
    return false;
  }
  const before = build(first, join(folder, 'before'));
  const after = build(second, join(folder, 'after'));
  const expectations = expectedDifferences.filter(({ commit }) => !before.has(commit) && after.has(commit));
  const found: Difference[] = [];
  const kinds = new Map<string, number>();
  for (const stage of stages.filter(({ name }) => name.startsWith(values.only ?? ''))) {
    const { lasting, exchanges } = await compareAt(stage, { before, after, expectations, port });
    found.push(...lasting);
    for (const { kind } of exchanges) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }
  const total = [...kinds.values()].reduce((sum, number) => sum + number, 0);
  console.log(`\n${total} exchanges: ${[...kinds].map(([kind, number]) => `${kind} ${number}`).join(', ')}`);
  return report({ before, after, expectations, port }, found);
}

/**
 * A busy machine may deliver something too late for its exchange, or two requests the other way round. So a stage is
 * played again where it differs, and what differs is what no play of the one build has in common with any play of the
 * other.
 */
async function compareAt(stage: Stage, { before, after, expectations, port }: Comparison) {
  const olds: Transcript[] = [];
  const youngs: Transcript[] = [];
  const isUnexpected = (one: Difference) => !expectations.some((expected) => isExpected(one, expected));
  let lasting: readonly Difference[] = [];
  do {
    olds.push(await playOne(before, port, { stage }));
    youngs.push(await playOne(after, port, { stage }));
    const pairs = olds.flatMap((old) => youngs.map((young) => differences(old, young, options)));
    const isIn =
      ({ exchange, channel }: Difference) =>
      (others: readonly Difference[]) =>
        others.some((other) => other.exchange === exchange && other.channel === channel);
    lasting = pairs[0]?.filter((one) => pairs.every(isIn(one))) ?? [];
    const passing = new Set(
      pairs
        .flat()
        .filter((one) => !lasting.some((other) => isIn(one)([other])))
        .map(placeOf),
    );
    if (passing.size > 0) console.log(`  not each time: ${[...passing].join('; ')}`);
  } while (lasting.some(isUnexpected) && olds.length < PLAYS);
  return { lasting, exchanges: youngs[0]?.exchanges ?? [] };
}

const placeOf = ({ exchange, channel }: Difference) => `${exchange} [${channel}]`;

interface Play {
  readonly stage: Stage;
  /** Bytes that the gateway replaces in all that it sends. */
  readonly alter?: string;
}

/** The same folder and port for every play: they are in config, headers and log. */
async function playOne({ name, main }: Build, port: number, { stage, alter }: Play): Promise<Transcript> {
  const transcript = new Transcript();
  const began = Date.now();
  const work = join(folder, 'work');
  rmSync(work, { recursive: true, force: true });
  const env: Record<string, string> = alter === undefined ? {} : { BASCULE_TRANSCRIPTS_ALTER: alter };
  backends.begin(backendRows, transcript);
  await stage.play(new Player({ main, port, folder: work, env, backends }, transcript, stage.name), backends);
  console.log(
    `${stage.name}: ${transcript.exchanges.length} exchanges with ${name.slice(0, 30)}, ${Math.round((Date.now() - began) / 1000)} s`,
  );
  save(stage, transcript);
  return transcript;
}

/** The whole transcript as text, for people. */
function save({ name }: Stage, { exchanges }: Transcript): void {
  if (values.save === undefined) return;
  mkdirSync(values.save, { recursive: true });
  const text = exchanges.flatMap((exchange) => [
    `== ${exchange.name}`,
    ...[...exchange.channels.keys()].sort().flatMap((channel) => [`-- ${channel}`, ...linesOf(exchange, channel)]),
  ]);
  saved += 1;
  writeFileSync(join(values.save, `${saved} ${name}.txt`), `${text.join('\n')}\n`, 'latin1');
}

function report({ before, after, expectations }: Comparison, found: readonly Difference[]): boolean {
  const met = new Set(found.flatMap((one) => expectations.filter((expected) => isExpected(one, expected))));
  const unexpected = found.filter((one) => !expectations.some((expected) => isExpected(one, expected)));
  for (const one of unexpected.slice(0, MOST_SHOWN)) console.log(`\n${shown(one)}`);
  if (unexpected.length > MOST_SHOWN) console.log(`\n… and ${unexpected.length - MOST_SHOWN} more`);
  for (const expected of expectations)
    if (!met.has(expected)) console.log(`\nexpected, and not seen: ${expected.exchange.source}: ${expected.reason}`);
  const meant = found.length - unexpected.length;
  console.log(`\n${before.name}\n${after.name}\n${unexpected.length} differences, and ${meant} that are meant`);
  return unexpected.length === 0;
}

/** One byte is altered on either side. Each has to be found where it was altered, and shown. */
const alterations = [
  {
    ...{ alter: 'Mcp-Session-Id=>Mcp-Session-iD', exchange: 'watched / legacy / initialize', channel: 'client' },
    shows: ['- < Mcp-Session-Id: ', '+ < Mcp-Session-iD: '],
  },
  {
    ...{ alter: '"DE00"=>"DE01"', exchange: 'watched / modern / tool echo', channel: 'backend bmodern' },
    shows: ['"iban":"DE00"', '"iban":"DE01"'],
  },
] as const;

async function selfTest(port: number): Promise<boolean> {
  const tree = build(undefined, join(folder, 'tree'));
  const before = await playOne(tree, port, { stage: watched });
  const again = differences(before, await playOne(tree, port, { stage: watched }));
  for (const one of again) console.log(`\nthe same build twice: ${shown(one)}`);
  let found = 0;
  for (const { alter, exchange, channel, shows } of alterations) {
    const altered = differences(before, await playOne(tree, port, { stage: watched, alter }));
    const reports = altered
      .filter((one) => one.exchange.startsWith(exchange) && one.channel === channel)
      .map(shown)
      .filter((text) => shows.every((line) => text.includes(line)));
    if (reports[0] === undefined) console.log(`\nnot found: ${alter}`);
    else {
      found += 1;
      console.log(`\nfound: ${alter}\n${reports[0]}`);
    }
  }
  return again.length === 0 && found === alterations.length;
}

function freePort(): Promise<number> {
  const server = createServer();
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

try {
  await backends.listen(backendRows);
  const port = await freePort();
  process.exitCode = (await (values['self-test'] === true ? selfTest(port) : compare(port))) ? 0 : 1;
} finally {
  backends.close();
  rmSync(folder, { recursive: true, force: true });
}
