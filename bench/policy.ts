/**
 * `npx tsx bench/policy.ts`: what one decision costs, by the number of rules. Each row is the best of several rounds,
 * since the machine is never quiet.
 */
import { compileCondition } from '../src/config/policy-condition.ts';
import { keyPrincipal, localPrincipal } from '../src/identity/principal.ts';
import { Policy } from '../src/policy/policy.ts';
import type { Condition, Rule } from '../src/policy/rules.ts';
import { methodRow } from '../src/wire/methods.ts';

const ROUNDS = 5;
const ROUND_NS = 100_000_000;
const world = { endpoints: ['/mcp'], backends: ['files'] };
const row = methodRow('tools/call')!;
const principal = keyPrincipal({ id: 'k', name: 'ci', scopes: ['a'] });

const base = { effect: 'allow', mode: 'enforce', who: {}, what: ['call'], on: {}, with: {} } as const;
const condition = compileCondition("arguments.path.startsWith('/srv/') && name != 'x'");
const never = compileCondition("arguments.path.startsWith('/etc/')");
if ('problem' in condition || 'problem' in never) throw new Error('a condition is wrong');

function onlyFor(name: string): Condition {
  const found = compileCondition(`name == '${name}' && arguments.path.startsWith('/etc/')`);
  if ('problem' in found) throw new Error(found.problem);
  return found;
}

const kinds: Readonly<Record<string, (at: number) => Rule>> = {
  'exact names': (at) => ({ ...base, id: `r${at}`, on: { tools: [`tool_${at}`] } }),
  'names and patterns': (at) => ({
    ...base,
    id: `r${at}`,
    effect: at % 3 === 0 ? 'deny' : 'allow',
    on: { tools: [at % 2 ? `t${at}_*` : `tool_${at}`] },
  }),
  'patterns at the end': (at) => ({ ...base, id: `r${at}`, on: { tools: [`*_${at}`] } }),
  'one person each': (at) => ({
    ...base,
    id: `r${at}`,
    who: { keys: [`k${at}`, 'ci'] },
    on: { tools: [`tool_${at}`] },
  }),
  'tests of arguments': (at) => ({
    ...base,
    id: `r${at}`,
    on: { tools: [`tool_${at}`] },
    with: { path: { glob: ['/srv/**'] } },
  }),
  'patterns in the middle': (at) => ({ ...base, id: `r${at}`, on: { tools: [`*l_${at}*`] } }),
  // Nothing narrows these down: each of them is evaluated for each decision.
  'conditions without names': (at) => ({ ...base, id: `r${at}`, effect: 'deny', when: never }),
  'conditions that compare names': (at) => ({ ...base, id: `r${at}`, effect: 'deny', when: onlyFor(`tool_${at}`) }),
  conditions: (at) => ({ ...base, id: `r${at}`, on: { tools: [`tool_${at}`] }, when: condition }),
};

/** Of this process alone: others want the machine as well. */
function usedSince(started: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(started);
  return (user + system) * 1_000;
}

function policyOf(rules: readonly Rule[]): Policy {
  return new Policy({ mode: 'enforce', open: [], trustAnnotationsOf: [], groupsClaim: 'groups', rules }, world, 1);
}

/** Nanoseconds for one decision: whole passes over all names, for as long as a round lasts. */
function cost(rules: readonly Rule[]): number {
  const policy = policyOf(rules);
  const names = rules.map((_, at) => `tool_${at}`);
  const value = { path: '/srv/data/file.txt' };
  const pass = () => {
    for (const name of names) {
      const thing = { kind: 'tool', name } as const;
      policy.decide({ principal, row, endpoint: '/mcp', backend: 'files', thing, arguments: () => value });
    }
  };
  pass();
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) {
    const started = process.cpuUsage();
    let elapsed = 0;
    let decisions = 0;
    while (elapsed < ROUND_NS) {
      pass();
      decisions += names.length;
      elapsed = usedSince(started);
    }
    best = Math.min(best, elapsed / decisions);
  }
  return best;
}

const COUNTS = [10, 100, 1_000, 10_000];
/** Where each rule is evaluated for each decision, more would take minutes. */
const MOST_UNINDEXED = 1_000;

for (const [name, rule] of Object.entries(kinds)) {
  const columns = COUNTS.filter((count) => count <= MOST_UNINDEXED || !name.endsWith('without names')).map((count) => {
    const ns = cost(Array.from({ length: count }, (_, at) => rule(at)));
    return `${count} rules ${(ns / 1_000).toFixed(2)} us`;
  });
  process.stdout.write(`${name.padEnd(30)} ${columns.join('   ')}\n`);
}

/** The first decision about a principal finds out which rules are about it, and builds their index. */
for (const count of COUNTS) {
  const rules = Array.from({ length: count }, (_, at) => kinds['one person each']!(at));
  const started = process.cpuUsage();
  const policy = policyOf(rules);
  const built = usedSince(started) / 1_000_000;
  policy.decide({ principal: localPrincipal(), row, endpoint: '/mcp', backend: 'files' });
  policy.decide({ principal, row, endpoint: '/mcp', backend: 'files' });
  const decided = usedSince(started) / 1_000_000 - built;
  process.stdout.write(
    `${count} rules: compiled in ${built.toFixed(1)} ms, two new principals ${decided.toFixed(1)} ms\n`,
  );
}
