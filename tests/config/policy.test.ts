import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ConfigDocument } from '../../src/config/document.ts';
import { readPolicy } from '../../src/config/policy.ts';
import { readAudit } from '../../src/config/policy-audit.ts';
import {
  backendProfileShape,
  buildBackendProfile,
  buildFullProfile,
  checkBackendProfile,
  checkFullProfile,
  profileShape,
} from '../../src/config/policy-profile.ts';
import { readRates } from '../../src/config/policy-rates.ts';
import { ConfigError } from '../../src/config/problems.ts';
import { usualSecrets } from '../../src/observe/audit-redact.ts';
import { revisions } from '../../src/wire/revisions.ts';
import { settingsOf, world } from '../policy/setup.ts';
import { errorOf } from './loading.ts';

const variables = { env: {}, predefined: {} };

function complaints(text: string): string {
  return errorOf(() => settingsOf(text)).format();
}

function document(text: string) {
  return new ConfigDocument('bascule.yaml', text, 'yaml');
}

describe('policy', () => {
  test('is absent if the config does not mention it', () => {
    expect(readPolicy(document('backends: {}\n'), variables, world)).toBeUndefined();
  });

  test('can use every setting', () => {
    const settings = settingsOf(`
policy:
  mode: audit
  open: [connect]
  trustAnnotationsOf: [files]
  groupsClaim: roles
  rules:
    - id: interns-read
      effect: allow
      mode: audit
      who: { principals: [alice, 'key:*'], issuers: ['https://*'], scopes: [a], claims: { d: [x, 1, true] }, groups: [g], keys: [k] }
      what: [call, get]
      on:
        endpoints: [/mcp]
        backends: [files]
        tools: ['read_*']
        prompts: [p]
        uris: ['file:///**']
        asks: [sampling]
        annotations: { readOnlyHint: true }
      with: { arguments: { path: { glob: '/srv/**' }, amount: { min: 0, max: 100 }, mode: { equals: [x, null] }, note: { maxBytes: 1KiB } } }
      when: name != 'x'
`);
    expect(settings).toMatchObject({
      mode: 'audit',
      open: ['connect'],
      trustAnnotationsOf: ['files'],
      groupsClaim: 'roles',
    });
    expect(settings.rules[0]).toMatchObject({
      id: 'interns-read',
      mode: 'audit',
      with: { path: { glob: ['/srv/**'] }, mode: { equals: ['x', null] }, note: { maxBytes: 1024 } },
      when: { text: "name != 'x'", reads: new Set(['name']) },
    });
  });

  const wrong: readonly {
    readonly name: string;
    readonly text: string;
    readonly line: number;
    readonly says: string;
  }[] = [
    {
      name: 'a mode that there is not',
      text: 'policy:\n  mode: off\n  rules: []\n',
      line: 2,
      says: 'enforce or audit',
    },
    { name: 'no rules', text: 'policy:\n  mode: audit\n', line: 1, says: '`rules` is missing' },
    { name: 'nothing', text: 'policy:\n', line: 1, says: 'a map with `rules`' },
    { name: 'a rule without id', text: 'policy:\n  rules:\n    - effect: allow\n', line: 3, says: '`id` is missing' },
    {
      name: 'the same id twice',
      text: 'policy:\n  rules:\n    - { id: a, effect: allow }\n    - { id: a, effect: deny }\n',
      line: 4,
      says: 'another rule has the id `a`',
    },
    {
      name: 'an action that there is not',
      text: 'policy:\n  rules:\n    - id: a\n      effect: allow\n      what: [cal]\n',
      line: 5,
      says: 'did you mean `call`?',
    },
    {
      name: 'a backend that there is not',
      text: 'policy:\n  rules:\n    - id: a\n      effect: allow\n      on:\n        backends: [fils]\n',
      line: 6,
      says: 'there is no backend `fils`',
    },
    {
      name: 'an endpoint pattern that matches no endpoint',
      text: "policy:\n  rules:\n    - id: a\n      effect: deny\n      on:\n        endpoints: ['/x/*']\n",
      line: 6,
      says: 'there is no endpoint `/x/*`',
    },
    {
      name: 'a key that there is not',
      text: 'policy:\n  rules:\n    - id: a\n      effect: allow\n      tools: [x]\n',
      line: 5,
      says: 'unknown key `tools`',
    },
    {
      name: 'an empty list',
      text: 'policy:\n  rules:\n    - id: a\n      effect: deny\n      on: { tools: [] }\n',
      line: 5,
      says: 'at least one entry',
    },
    {
      name: 'a test without a condition',
      text: 'policy:\n  rules:\n    - id: a\n      effect: deny\n      with: { arguments: { x: {} } }\n',
      line: 5,
      says: 'at least one test',
    },
    {
      name: 'annotations without a trusted backend',
      text: 'policy:\n  rules:\n    - id: a\n      effect: allow\n      on: { annotations: { readOnlyHint: true } }\n',
      line: 5,
      says: 'the annotations of no backend are trusted',
    },
    {
      name: 'an invalid expression',
      text: "policy:\n  rules:\n    - id: a\n      effect: allow\n      when: 'name =='\n",
      line: 5,
      says: "`when` can't be used",
    },
    {
      name: 'an expression about an unknown variable',
      text: "policy:\n  rules:\n    - id: a\n      effect: allow\n      when: 'user == name'\n",
      line: 5,
      says: 'Unknown variable: user',
    },
  ];
  for (const { name, text, line, says } of wrong) {
    test(`is refused for ${name}`, () => {
      const told = complaints(text);
      expect(told).toContain(`bascule.yaml:${line}:`);
      expect(told).toContain(says);
    });
  }

  test('reports all errors at once', () => {
    const text =
      'policy:\n  mode: x\n  rules:\n    - { id: a, effect: maybe }\n    - { id: b, effect: deny, what: [x] }\n';
    expect(errorOf(() => settingsOf(text)).problems).toHaveLength(3);
  });

  test('of any value is a policy or a list of problems', () => {
    const words = fc.constantFrom(
      ...['mode', 'rules', 'id', 'effect', 'who', 'what', 'on', 'with', 'when', 'arguments', 'tools', 'allow', 'deny'],
      ...['call', 'principals', 'claims', 'glob', 'equals', '*', '\\', 'a*b', 'open', 'min', 'files', 'name == "x"'],
    );
    const leaf = fc.oneof(words, fc.string(), fc.integer(), fc.double(), fc.boolean(), fc.constant(null));
    const tree = fc.letrec((tie) => ({
      any: fc.oneof(
        { maxDepth: 6 },
        leaf,
        fc.array(tie('any'), { maxLength: 4 }),
        fc.dictionary(fc.oneof(words, fc.string()), tie('any'), { maxKeys: 4 }),
      ),
    })).any;
    const rules = fc.array(fc.dictionary(words, tree, { maxKeys: 5 }), { maxLength: 4 });
    fc.assert(
      fc.property(fc.oneof(tree, fc.record({ rules })), (policy) => {
        try {
          settingsOf(JSON.stringify({ policy: policy ?? {} }));
        } catch (error) {
          if (!(error instanceof ConfigError)) throw error;
        }
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('rates', () => {
  const read = (text: string) => {
    const from = document(text);
    return {
      rates: readRates(from, variables, world),
      problems: from.problems.map(({ message, expected }) => `${message}: ${expected}`),
    };
  };

  test('are read', () => {
    expect(
      read('rates: [{ id: a, per: [principal, tool], what: [call], perSecond: 2.5, burst: 10, concurrent: 3 }]\n'),
    ).toEqual({
      rates: [
        {
          id: 'a',
          per: ['principal', 'tool'],
          who: {},
          on: {},
          what: ['call'],
          perSecond: 2.5,
          burst: 10,
          concurrent: 3,
        },
      ],
      problems: [],
    });
    expect(read('backends: {}\n')).toEqual({ rates: [], problems: [] });
  });

  test('are rejected if they limit nothing, or something unknown', () => {
    expect(read('rates: [{ id: a }]\n').problems[0]).toContain('`perSecond`, `concurrent` or both');
    expect(read('rates: [{ id: a, concurrent: 1, burst: 2 }]\n').problems[0]).toContain('`burst` beside');
    expect(read('rates: [{ id: a, perSecond: 0 }]\n').problems[0]).toContain('over 0');
    expect(read('rates: [{ id: a, concurrent: 1, on: { backends: [x] } }]\n').problems[0]).toContain('no backend');
    expect(read('rates: [{ id: a, concurrent: 1 }, { id: a, concurrent: 1 }]\n').problems[0]).toContain('already');
  });
});

describe('audit', () => {
  const read = (text: string) => {
    const from = document(text);
    return { audit: readAudit(from, '/project', variables), problems: from.problems.map(({ message }) => message) };
  };

  test('is read', () => {
    expect(read('backends: {}\n')).toEqual({ audit: undefined, problems: [] });
    expect(read('audit: { to: stdout }\n').audit).toEqual({ to: { kind: 'stdout' }, onFailure: 'allow' });
    expect(
      read(
        "audit: { to: logs/a.jsonl, maxBytes: 1MiB, keep: 2, onFailure: deny, arguments: { of: ['*'], redact: [a.b] } }\n",
      ).audit,
    ).toEqual({
      to: { kind: 'file', path: '/project/logs/a.jsonl', maxBytes: 1024 * 1024, keep: 2 },
      onFailure: 'deny',
      arguments: { of: ['*'], redact: [...usualSecrets, 'a.b'], maxBytes: 4096 },
    });
  });

  test('is rejected if settings have no effect', () => {
    expect(read('audit: { to: stderr, keep: 3 }\n').problems).toEqual(['`keep` has no effect here']);
    expect(read('audit: { to: stderr, onFailure: refuse }\n').problems).toEqual(['`onFailure` has a wrong value']);
    expect(read('audit: {}\n').problems).toEqual(['`to` is missing']);
    expect(read("audit: { to: x, arguments: { of: ['*'], redact: ['a..b'] } }\n").problems).toEqual([
      '`redact` has a wrong value',
    ]);
  });
});

describe('a profile', () => {
  const problemsOf = (text: string) => {
    const from = document(`profile: ${text}\n`);
    const draft = profileShape.safeParse(from.read(['profile'])).data;
    if (draft !== undefined) checkFullProfile(from, ['profile'], draft, { bodyBytes: 4096, jsonDepth: 128 });
    return draft === undefined ? ['refused'] : from.problems.map(({ message }) => message);
  };

  test('has revisions, and the strictness of everything', () => {
    expect(buildFullProfile({ revisions: ['2026-07-28'], toolNames: 'plain', jsonDepth: 20 })).toEqual({
      revisions: ['2026-07-28'],
      batches: 'deny',
      accept: 'lenient',
      elicitation: 'any',
      toolNames: 'plain',
      bodyBytes: undefined,
      jsonDepth: 20,
    });
  });

  test('refuses dates that there are not, entries that are there twice, and contradictions', () => {
    expect(problemsOf("{ revisions: ['2025-01-01'] }")).toEqual(['refused']);
    expect(problemsOf("{ revisions: ['2025-11-25', '2025-11-25'] }")).toEqual(['`2025-11-25` is in this list already']);
    expect(problemsOf("{ revisions: ['2026-07-28', '2026-07-28'] }")).toEqual(['`2026-07-28` is in this list already']);
    expect(problemsOf("{ revisions: ['2026-07-28'], batches: allow }")).toEqual([
      '`batches: allow` has no effect here',
    ]);
    expect(problemsOf('{ revisions: [latest] }')).toEqual(['refused']);
    expect(problemsOf("{ revisions: ['2026-07-29'] }")).toEqual(['refused']);
    expect(problemsOf('{ revisions: [] }')).toEqual(['refused']);
    expect(problemsOf('{ bodyBytes: 8KiB }')).toEqual(['`bodyBytes` is higher than under `limits`']);
    expect(problemsOf('{ bodyBytes: 2KiB }')).toEqual([]);
  });

  test('of a backend limits its server requests and its revisions', () => {
    expect(buildBackendProfile()).toEqual({ asks: ['sampling', 'elicitation', 'roots'], revisions });
    expect(buildBackendProfile(backendProfileShape.parse({ asks: [] }))).toEqual({ asks: [], revisions });
    expect(buildBackendProfile({ revisions: ['2025-06-18'] }).revisions).toEqual(['2025-06-18']);
  });

  test.each([
    { name: 'a date that there is not', given: "['2025-06-19']", problems: ['refused'] },
    { name: 'latest', given: '[latest]', problems: ['refused'] },
    { name: 'no revision at all', given: '[]', problems: ['refused'] },
    {
      name: 'one that is there twice',
      given: "['2025-06-18', '2025-06-18']",
      problems: ['`2025-06-18` is in this list already'],
    },
    { name: 'nothing valid', given: "['2025-06-18', '2026-07-28']", problems: [] },
  ])('of a backend refuses $name', ({ given, problems }) => {
    const from = document(`profile: { revisions: ${given} }\n`);
    const draft = backendProfileShape.safeParse(from.read(['profile'])).data;
    if (draft !== undefined) checkBackendProfile(from, ['profile'], draft);
    expect(draft === undefined ? ['refused'] : from.problems.map(({ message }) => message)).toEqual(problems);
  });
});
