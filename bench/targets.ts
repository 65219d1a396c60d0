/** What Bascule holds itself to. A row whose target is missed says what stands in the way. */

import { MOST_FOREIGN } from './foreign-load.ts';
import type { CallResult, CallRow, Results, StartRow } from './results.ts';
import { differenceOfPairs, ratioOfPairs } from './stats.ts';

/** What of two contestants of a workload is compared. */
const measures = {
  'CPU, ratio': (own: CallRow, against: CallRow) => ratioOfPairs(own.cpuByRound, against.cpuByRound).median,
  'CPU with the server, ratio': (own: CallRow, against: CallRow) => own.treeCpu.median / against.treeCpu.median,
  'p99, ratio': (own: CallRow, against: CallRow) => own.p99 / against.p99,
  'CPU, µs more': (own: CallRow, against: CallRow) => differenceOfPairs(own.cpuByRound, against.cpuByRound).median,
} as const;

interface CallTarget {
  readonly workload: string;
  readonly what?: keyof typeof measures;
  readonly most: number;
  /** Whose; Bascule's unless it says otherwise. */
  readonly contestant?: string;
  /** The floor of the workload's group unless it says otherwise. */
  readonly against?: string;
  readonly ifMissed?: string;
}

const rulesAndAudit =
  'runs differ from 1.12 to 1.36, and 40,000 calls in a row cost 1.20; one of the rules reads an argument of each call, so the arguments are parsed (3 µs) and a CEL expression is evaluated (3 µs), the record takes 3 µs, the key 2 µs, and the rest is spread over functions below 1 µs';

export const callTargets: readonly CallTarget[] = [
  { workload: 'call-modern', most: 1.4 },
  { workload: 'call-modern', what: 'p99, ratio', most: 1.3 },
  { workload: 'call-legacy', most: 1.3 },
  { workload: 'call-legacy', what: 'p99, ratio', most: 1.3 },
  { workload: 'stdio-call-modern', most: 0.15, against: 'mcp-proxy' },
  { workload: 'stdio-call-legacy', most: 0.15, against: 'mcp-proxy' },
  { workload: 'result-text', most: 1.3 },
  { workload: 'result-records', most: 1.3 },
  { workload: 'list', most: 1.3 },
  { workload: 'list-merged', most: 1.2 },
  { workload: 'list-merged-all', most: 1.2 },
  {
    workload: 'call-merged',
    most: 1.1,
    contestant: 'merged endpoint',
    ifMissed:
      'the name is decoded, and the message is copied once more with the name that the backend knows; to write it once would have to happen where the envelope is written',
  },
  { workload: 'identity', what: 'CPU, µs more', most: 10, contestant: 'token' },
  { workload: 'identity', what: 'CPU, µs more', most: 5, contestant: 'key', against: 'no identity, key sent' },
  { workload: 'policy', most: 1.15, contestant: 'key, 100 rules and audit', ifMissed: rulesAndAudit },
  { workload: 'usual', most: 1.15, contestant: 'key, 100 rules and audit', ifMissed: rulesAndAudit },
  { workload: 'traces', what: 'CPU, µs more', most: 5, contestant: 'traces sampled at 1 %' },
  { workload: 'peers-stdio', what: 'CPU with the server, ratio', most: 0.9, against: 'TBXark/mcp-proxy' },
  { workload: 'peers-stdio', what: 'CPU with the server, ratio', most: 0.15, against: 'mcp-proxy' },
  { workload: 'peers-http-legacy', most: 0.07, against: 'ToolHive vMCP' },
];

interface SingleTarget {
  readonly title: string;
  readonly most: number;
  readonly unit: string;
  readonly ifMissed?: string;
  read(results: Results): { readonly value: number; readonly foreignCores: number } | undefined;
}

const idle = (group: string, most: number, ifMissed: string): SingleTarget => ({
  ifMissed,
  title: `An idle legacy session with its stream, ${group} backend`,
  most,
  unit: 'KB',
  read: (results) => {
    const row = results.idle.find((one) => one.contestant === 'bascule' && one.group === group);
    // What other processes do does not change how much memory this one has.
    return row && { value: row.kbEach, foreignCores: 0 };
  },
});

const start = (title: string, most: number, unit: string, of: (row: StartRow) => number): SingleTarget => ({
  ifMissed: 'see docs/decisions/0017-start-up.md',
  title,
  most,
  unit,
  read: ({ starts }) => {
    const row = starts?.rows.find((one) => one.contestant === 'bascule' && one.group === 'http');
    return starts && row && { value: of(row), foreignCores: starts.foreignCores };
  },
});

const opening: SingleTarget = {
  title: 'Opening a legacy session',
  most: 1.3,
  unit: 'CPU, ratio to pass-through',
  ifMissed:
    'both make the same system calls, 35 for a session, so all of it is JavaScript; the three messages of a session cost some 16 µs each beyond the pass-through, as any legacy message does (`call-legacy`); the session, its upstream session and its two streams take 80 µs, spread over a hundred functions (decision 19)',
  read: (results) => {
    const row = results.opening.find((one) => one.contestant === 'bascule');
    return row && { value: row.ratio.median, foreignCores: row.foreignCores };
  },
};

const singleTargets: readonly SingleTarget[] = [
  opening,
  idle('http', 42, 'what Node and undici hold for two streams is in the row of the pass-through'),
  idle('stdio', 25, 'what Node holds for a stream is in the row of the bare bridge'),
  start('From the start to the first answer', 2.5, 'times `node -e 0`', ({ ratio }) => ratio.median),
  start('Memory after the first answer', 70, 'MB', ({ rssMb }) => rssMb),
];

export interface Verdict {
  readonly title: string;
  readonly what: string;
  readonly against: string;
  readonly most: number;
  readonly measured: number;
  readonly outcome: 'met' | 'MISSED' | 'too busy';
  readonly ifMissed: string | undefined;
}

function outcomeOf(measured: number, most: number, foreignCores: number): Verdict['outcome'] {
  if (foreignCores > MOST_FOREIGN) return 'too busy';
  return measured <= most ? 'met' : 'MISSED';
}

/** A target whose workload, or whose contestants, were not run is left out. */
function judgeCall(target: CallTarget, calls: readonly CallResult[]): Verdict[] {
  const { workload, what = 'CPU, ratio', most, contestant = 'bascule', ifMissed } = target;
  const result = calls.find((one) => one.workload === workload);
  const against = target.against ?? result?.floor;
  const row = result?.rows.find((one) => one.contestant === contestant);
  const other = result?.rows.find((one) => one.contestant === against);
  if (result === undefined || against === undefined || row === undefined || other === undefined) return [];
  const measured = measures[what](row, other);
  const outcome = outcomeOf(measured, most, result.foreignCores);
  const title = contestant === 'bascule' ? result.title : `${result.title}: ${contestant}`;
  return [{ title, what, against, most, measured, outcome, ifMissed }];
}

function judgeSingle({ title, most, unit, read, ifMissed }: SingleTarget, results: Results): Verdict[] {
  const found = read(results);
  if (found === undefined) return [];
  const outcome = outcomeOf(found.value, most, found.foreignCores);
  return [{ title, what: unit, against: '', most, measured: found.value, outcome, ifMissed }];
}

export function judge(results: Results): Verdict[] {
  return [
    ...callTargets.flatMap((target) => judgeCall(target, results.calls)),
    ...singleTargets.flatMap((target) => judgeSingle(target, results)),
  ];
}
