import { describe, expect, it } from 'vitest';
import type { Evidence } from './gate.ts';
import { judge, rules, tally } from './gate.ts';
import type { Catalogue } from './requirement.ts';
import { deferred, divergent, held, notApplicable } from './requirement.ts';

const facts = { spec: 'gateway', behaviour: 'It does.' } as const;

const small: Catalogue = {
  'ping:held': held(facts),
  'ping:divergent': divergent({ ...facts, reason: 'On purpose.' }),
  'auth:deferred': deferred('identity', facts),
  'client:not-applicable': notApplicable('Not asked of us.', facts),
};

const demands = { settled: new Set(['ping']), tagged: ['tests/interaction'] };

function test(given: Partial<Evidence>): Evidence {
  return { file: 'tests/a.test.ts', title: 'a', outcome: 'passed', verifies: [], diverges: [], ...given };
}

const holds = test({ title: 'holds', verifies: ['ping:held'] });
const pins = test({ title: 'pins', diverges: ['ping:divergent'] });

interface Case {
  readonly name: string;
  readonly catalogue?: Catalogue;
  readonly evidence: readonly Evidence[];
  readonly expect: readonly string[];
}

const cases: readonly Case[] = [
  { name: 'accepts a proof for a held row and a pin for a divergent one', evidence: [holds, pins], expect: [] },
  { name: 'misses the proof of a held row', evidence: [pins], expect: ['unverified ping:held'] },
  {
    name: 'takes a skipped test for no proof',
    evidence: [test({ verifies: ['ping:held'], outcome: 'skipped' }), pins],
    expect: ['unverified ping:held'],
  },
  {
    name: 'takes a failed test for no proof',
    evidence: [test({ verifies: ['ping:held'], outcome: 'failed' }), pins],
    expect: ['unverified ping:held', 'failing ping:held'],
  },
  {
    name: 'rejects a proof beside which another test of the same requirement fails',
    evidence: [holds, test({ verifies: ['ping:held'], outcome: 'failed' }), pins],
    expect: ['failing ping:held'],
  },
  { name: 'misses the pin of a divergent row', evidence: [holds], expect: ['unpinned ping:divergent'] },
  {
    name: 'does not accept a skipped pin',
    evidence: [holds, test({ diverges: ['ping:divergent'], outcome: 'skipped' })],
    expect: ['unpinned ping:divergent'],
  },
  {
    name: 'sees that a divergence is stale because a test proves the requirement',
    evidence: [holds, pins, test({ verifies: ['ping:divergent'] })],
    expect: ['stale-divergence ping:divergent'],
  },
  {
    name: 'sees that a divergence is stale because its pin fails',
    evidence: [holds, pins, test({ diverges: ['ping:divergent'], outcome: 'failed' })],
    expect: ['stale-divergence ping:divergent'],
  },
  {
    name: 'does not let a failing proof make a divergence stale',
    evidence: [holds, pins, test({ verifies: ['ping:divergent'], outcome: 'failed' })],
    expect: [],
  },
  {
    name: 'wants a divergence recorded',
    evidence: [holds, pins, test({ diverges: ['ping:held'] })],
    expect: ['unrecorded-divergence ping:held'],
  },
  {
    name: 'wants a divergence recorded in place of a deferral',
    evidence: [holds, pins, test({ diverges: ['auth:deferred'] })],
    expect: ['unrecorded-divergence auth:deferred'],
  },
  {
    name: 'sees that something deferred is held',
    evidence: [holds, pins, test({ verifies: ['auth:deferred'] })],
    expect: ['outdated-status auth:deferred'],
  },
  {
    name: 'reports a not-applicable row that is held',
    evidence: [holds, pins, test({ verifies: ['client:not-applicable'] })],
    expect: ['outdated-status client:not-applicable'],
  },
  {
    name: 'rejects a deferred row of a settled family',
    catalogue: { 'ping:later': deferred('bridge', facts) },
    evidence: [],
    expect: ['put-off ping:later'],
  },
  {
    name: 'refuses an id that a test made up',
    evidence: [holds, pins, test({ verifies: ['ping:hled'] })],
    expect: ['unknown-id ping:hled'],
  },
  {
    name: 'refuses an id that only every object has',
    evidence: [holds, pins, test({ diverges: ['constructor'] })],
    expect: ['unknown-id constructor'],
  },
  {
    name: 'refuses a made-up id in a test that was skipped',
    evidence: [holds, pins, test({ verifies: ['ping:hled'], outcome: 'skipped' })],
    expect: ['unknown-id ping:hled'],
  },
  {
    name: 'wants every interaction test to declare something',
    evidence: [holds, pins, test({ file: 'tests/interaction/deep/b.test.ts', title: 'b' })],
    expect: ['untagged-test tests/interaction/deep/b.test.ts > b'],
  },
  {
    name: 'wants it of a skipped one too',
    evidence: [holds, pins, test({ file: 'tests/interaction/b.test.ts', title: 'b', outcome: 'skipped' })],
    expect: ['untagged-test tests/interaction/b.test.ts > b'],
  },
  {
    name: 'takes a pin for a declaration',
    evidence: [holds, { ...pins, file: 'tests/interaction/b.test.ts' }],
    expect: [],
  },
  {
    name: 'does not mistake a folder for another whose name begins alike',
    evidence: [holds, pins, test({ file: 'tests/interactions.test.ts' })],
    expect: [],
  },
];

describe('the gate', () => {
  for (const { name, catalogue = small, evidence, expect: expected } of cases) {
    it(name, () => {
      expect(judge(catalogue, evidence, demands).map(({ rule, subject }) => `${rule} ${subject}`)).toEqual(expected);
    });
  }

  it('has a case that breaks each of its rules', () => {
    const broken = new Set(cases.flatMap(({ expect: expected }) => expected.map((line) => line.split(' ')[0])));
    expect([...broken].sort()).toEqual(Object.keys(rules).sort());
  });

  it('names the test that contradicts', () => {
    const [violation] = judge(small, [holds, pins, test({ title: 'late', verifies: ['auth:deferred'] })], demands);
    expect(violation?.detail).toBe('tests/a.test.ts > late');
  });

  it('counts by family, and in all', () => {
    const zero = { held: 0, divergent: 0, deferred: 0, 'not-applicable': 0 };
    expect(tally(small)).toEqual([
      { family: 'ping', counts: { ...zero, held: 1, divergent: 1 } },
      { family: 'auth', counts: { ...zero, deferred: 1 } },
      { family: 'client', counts: { ...zero, 'not-applicable': 1 } },
      { family: 'all', counts: { held: 1, divergent: 1, deferred: 1, 'not-applicable': 1 } },
    ]);
  });
});
