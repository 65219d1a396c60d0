/** The command line. */
import { parseArgs } from 'node:util';

export interface Options {
  readonly rounds: number;
  /** Of the calls that a workload names for its warm-up and for each of its rounds. */
  readonly share: number;
  readonly sessions: number;
  readonly starts: number;
  /** Workloads to run; all if empty. */
  readonly only: readonly string[];
  /** Contestants that take part; all if empty. */
  readonly contestants: readonly string[];
  readonly profile: string | undefined;
  readonly assert: boolean;
}

const full = { rounds: 30, share: 1, sessions: 3000, starts: 7 };
const quick = { rounds: 4, share: 0.25, sessions: 150, starts: 1 };

export const usage = `npm run bench -- [options]
  --quick                  two minutes instead of fifteen, and rougher figures
  --only <workload,...>    only these: see below
  --contestants <name,...> only these, and the floors
  --profile <contestant>   run it with --cpu-prof; the profiles are left in bench/results/profiles
  --rounds <n>             of each contestant at each workload
  --starts <n>             of each contestant, in turn, for the workload "start"
  --assert                 end with 1 where a target is missed, with 2 where the machine is too busy to tell`;

export function readOptions(
  args: readonly string[],
  workloads: readonly string[],
  contestants: readonly string[],
): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string' },
      contestants: { type: 'string' },
      profile: { type: 'string' },
      rounds: { type: 'string' },
      starts: { type: 'string' },
      assert: { type: 'boolean', default: false },
    },
  });
  const sizes = values.quick ? quick : full;
  return {
    ...sizes,
    rounds: positive('rounds', values.rounds) ?? sizes.rounds,
    starts: positive('starts', values.starts) ?? sizes.starts,
    only: known('workload', values.only, workloads),
    contestants: known('contestant', values.contestants, contestants),
    profile: known('contestant', values.profile, contestants)[0],
    assert: values.assert,
  };
}

function positive(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!(value > 0)) throw new Error(`--${name} needs a number above 0, not ${text}`);
  return value;
}

function known(kind: string, text: string | undefined, names: readonly string[]): string[] {
  const asked = text === undefined ? [] : text.split(',');
  for (const name of asked) {
    if (!names.includes(name)) throw new Error(`no ${kind} ${name}; there are: ${names.join(', ')}`);
  }
  return asked;
}
