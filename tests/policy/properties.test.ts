import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compileCondition } from '../../src/config/policy-condition.ts';
import type { Principal } from '../../src/identity/principal.ts';
import { actions, type ThingKind, thingsOf, useOf } from '../../src/policy/actions.ts';
import { Policy } from '../../src/policy/policy.ts';
import type { Condition, PolicySettings, Rule } from '../../src/policy/rules.ts';
import { Denial } from '../../src/policy/ruling.ts';
import { type Case, conditions, expected, spellings, verdict } from './reference.ts';
import { deedOf, key, local, question, token, world } from './setup.ts';

const conditionsByText: ReadonlyMap<string, Condition> = new Map(
  Object.keys(conditions).map((text) => {
    const condition = compileCondition(text);
    if ('problem' in condition) throw new Error(condition.problem);
    return [text, condition];
  }),
);

/** Few names and many patterns, so that they meet. */
const name = fc.constantFrom('a', 'ab', 'abc', 'b', 'ba', 'b_a');
const pattern = fc.oneof(name, fc.constantFrom('*', 'a*', '*a', 'a*c', '*b*', 'ab*', '*_a'));
const address = fc.oneof(name, fc.constantFrom('file:///a/b', 'file:///c', ...Object.keys(spellings)));
const addresses = fc.oneof(pattern, fc.constantFrom('file:///a/**', 'file:///a/b', '**b', 'file:///*', '**a/**'));
const namesOf = (kind: string | undefined) => (kind === 'resource' ? address : name);
const some = <T>(item: fc.Arbitrary<T>) =>
  fc.option(fc.array(item, { minLength: 1, maxLength: 3 }), { nil: undefined, freq: 2 });

const who = fc.record(
  {
    principals: some(fc.constantFrom('*', 'alice', 'al*', 'local', 'key:ci', 'key:*', '*i*')),
    groups: some(fc.constantFrom('interns', 'int*', 'staff')),
    scopes: some(fc.constantFrom('read', 'write', '*')),
    claims: fc.option(fc.record({ level: fc.constantFrom([3], [1, 2], ['3'], ['*']) }), { nil: undefined, freq: 2 }),
    keys: some(fc.constantFrom('ci', 'c*')),
  },
  { requiredKeys: [] },
);

const on = fc.record(
  {
    endpoints: some(fc.constantFrom('/mcp', '/team/mcp', '*')),
    backends: some(fc.constantFrom('files', 'search', '*', 'm*')),
    tools: some(pattern),
    prompts: some(pattern),
    uris: some(addresses),
    asks: some(fc.constantFrom('sampling', 'elicitation', 'roots')),
    methods: some(pattern),
    annotations: fc.option(
      fc.constantFrom(
        { readOnlyHint: true },
        { readOnlyHint: false },
        { destructiveHint: true },
        { destructiveHint: false },
      ),
      { nil: undefined },
    ),
  },
  { requiredKeys: [] },
);

const tests = fc.dictionary(
  fc.constantFrom('n', 'p'),
  fc.oneof(
    fc.constantFrom({ present: true }, { present: false }, { equals: [1, 'ab'] }, { min: 1, max: 2 }, { glob: ['a*'] }),
    fc.constantFrom({ glob: ['*b*', 'ba'] }, { equals: [null] }, { equals: [1], min: 0 }),
  ),
  { maxKeys: 2 },
);

const rule = fc.record({
  effect: fc.constantFrom('allow', 'deny'),
  mode: fc.constantFrom('enforce', 'enforce', 'enforce', 'audit'),
  who: fc.oneof(fc.constant({}), who),
  what: some(fc.constantFrom(...actions)),
  on: fc.oneof(fc.constant({}), on),
  with: fc.oneof({ weight: 3, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: tests }),
  when: fc.option(fc.constantFrom(...conditionsByText.values()), { nil: undefined, freq: 3 }),
});

const settings: fc.Arbitrary<PolicySettings> = fc.record({
  mode: fc.constantFrom('enforce', 'enforce', 'audit'),
  open: fc.constantFrom(['connect', 'list', 'ask'], []),
  trustAnnotationsOf: fc.constantFrom([], ['files'], ['files', 'search', 'mail']),
  groupsClaim: fc.constant('groups'),
  rules: fc
    .array(rule, { maxLength: 12 })
    .map((rules) => rules.map((one, at) => ({ id: `r${at}`, ...(one as Omit<Rule, 'id'>) }))),
});

const principals: readonly Principal[] = [
  local,
  key('ci', ['write']),
  key('other'),
  token({ sub: 'alice', groups: ['interns'], scope: 'read', level: 3 }),
  token({ sub: 'ali', groups: 'staff', level: '3' }),
  token({ sub: 'local' }),
];

const value = fc.constantFrom<unknown>(1, 2, 5, 'ab', 'b', null, true, [], ['a', 'ab'], ['a', 'x'], [1, 5], { a: 1 });

const askMethods = {
  sampling: 'sampling/createMessage',
  elicitation: 'elicitation/create',
  roots: 'roots/list',
} as const;
const kindsOf = (action: string) => thingsOf(action).filter((kind) => kind !== 'template');

const deeds = actions.flatMap((action): { readonly action: string; readonly kind: ThingKind | undefined }[] => {
  const kinds = kindsOf(action);
  return kinds.length === 0 ? [{ action, kind: undefined }] : kinds.map((kind) => ({ action, kind }));
});

const asked: fc.Arbitrary<Case> = fc.constantFrom(...deeds).chain(({ action, kind }) =>
  fc.record({
    principal: fc.constantFrom(...principals),
    action: fc.constant(action),
    endpoint: fc.constantFrom(...world.endpoints),
    backend: fc.constantFrom(...world.backends, ''),
    kind: fc.constant(kind),
    name:
      kind === undefined
        ? fc.constant(undefined)
        : action === 'ask'
          ? fc.constantFrom('sampling', 'elicitation', 'roots')
          : fc.option(namesOf(kind), { nil: undefined }),
    arguments: fc.dictionary(fc.constantFrom('n', 'p'), value),
    annotations: fc.constantFrom({}, { readOnlyHint: true }, { destructiveHint: false }),
  }),
);

function questionOf({ action, kind, name: called, ...rest }: Case) {
  const method = action === 'ask' ? askMethods[called as keyof typeof askMethods] : action;
  const thing = kind === undefined ? undefined : { kind: kind as ThingKind, name: called };
  const { principal, endpoint, backend, annotations, arguments: given } = rest;
  const asks = { principal, endpoint, backend, annotations, arguments: given };
  return { ...question(action, thing === undefined ? asks : { ...asks, thing }), row: deedOf(method) };
}

const RUNS = 1_000;

describe('any policy', () => {
  test('decides as the plain reading of its rules does', () => {
    fc.assert(
      fc.property(settings, fc.array(asked, { minLength: 1, maxLength: 10 }), (given, cases) => {
        const policy = new Policy(given, world, 3);
        for (const one of cases) {
          const reached = policy.decide(questionOf(one));
          const { generation, ...ruling } = reached.ruling ?? { generation: undefined, rules: [] };
          expect(generation).toBe(3);
          expect({ allowed: !(reached instanceof Denial), ...ruling }).toEqual(expected(given, one));
        }
      }),
      { numRuns: RUNS },
    );
  });

  test('decides the same about a question whatever was asked before', () => {
    const named = fc.tuple(asked, fc.option(name, { nil: undefined }), fc.option(name, { nil: undefined }));
    fc.assert(
      fc.property(settings, fc.array(named, { minLength: 20, maxLength: 40 }), (given, cases) => {
        const policy = new Policy(given, world, 3);
        for (const [one, also, own] of cases) {
          const plain = questionOf(one);
          const thing = plain.thing?.name === undefined ? plain.thing : { ...plain.thing, also, own };
          const decided = { ...plain, thing };
          expect(policy.decide(decided)).toEqual(new Policy(given, world, 3).decide(decided));
        }
      }),
      { numRuns: RUNS / 5 },
    );
  });

  test('lists only what may be used with some arguments', () => {
    const shown = fc.constantFrom('tool', 'prompt', 'resource').chain((kind) =>
      fc.record({
        principal: fc.constantFrom(...principals),
        endpoint: fc.constantFrom(...world.endpoints),
        backend: fc.constantFrom(...world.backends),
        kind: fc.constant(kind),
        name: namesOf(kind),
        annotations: fc.constantFrom({}, { readOnlyHint: true }, { destructiveHint: false }),
      }),
    );
    fc.assert(
      fc.property(settings, fc.array(shown, { minLength: 1, maxLength: 10 }), (given, entries) => {
        const policy = new Policy(given, world, 3);
        for (const { principal, endpoint, backend, kind, name: called, annotations } of entries) {
          const thing = { kind: kind as Exclude<ThingKind, 'ask'>, name: called };
          const place = { principal, endpoint, backend };
          const seen = policy.shows({ ...place, thing, annotations: () => annotations });
          const may = (action: string) =>
            verdict(given, { ...place, action, kind, name: called, annotations }, false).allowed;
          expect(seen).toBe(given.mode === 'audit' || (may('list') && may(useOf[thing.kind])));
          // The short way never says more than the long one.
          const extent = policy.extent(principal, thing.kind, place);
          if (extent !== 'some') expect(seen).toBe(extent === 'all');
        }
      }),
      { numRuns: RUNS },
    );
  });

  test('hides nothing that can be used', () => {
    const usable = asked.filter(
      ({ action, name: called }) => ['call', 'get', 'read'].includes(action) && called !== undefined,
    );
    fc.assert(
      fc.property(settings, usable, (given, one) => {
        const policy = new Policy(
          { ...given, open: ['list'], rules: given.rules.filter(({ what }) => !what?.includes('list') && what) },
          world,
          3,
        );
        fc.pre(one.backend !== '');
        if (policy.decide(questionOf(one)) instanceof Denial) return;
        const thing = { kind: one.kind as ThingKind, name: one.name ?? '' };
        expect(policy.shows({ ...one, thing, annotations: () => one.annotations })).toBe(true);
      }),
      { numRuns: RUNS },
    );
  });

  test('shows the same to principals of the same audience', () => {
    fc.assert(
      fc.property(
        settings,
        fc.constantFrom(...principals),
        fc.constantFrom(...principals),
        name,
        (given, a, b, called) => {
          const policy = new Policy(given, world, 3);
          fc.pre(policy.audience(a) === policy.audience(b));
          const thing = { kind: 'tool', name: called } as const;
          const place = { endpoint: '/mcp', backend: 'files', thing };
          expect(policy.shows({ ...place, principal: a })).toBe(policy.shows({ ...place, principal: b }));
        },
      ),
      { numRuns: RUNS },
    );
  });
});
