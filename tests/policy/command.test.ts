import { describe, expect, test } from 'vitest';
import { checkPolicy, testPolicy } from '../../src/cli/policy-command.ts';
import { review } from '../../src/policy/review.ts';
import { missingName, outrightNames } from '../../src/policy/unmatched-names.ts';
import { settingsOf, world } from './setup.ts';

const places = { '/mcp': ['files', 'search', 'mail'], '/team/mcp': ['mail'] };

function remarks(rules: string, more = '') {
  const settings = settingsOf(`policy:\n${more}  rules:\n${rules.replaceAll(/^/gm, '    ')}\n`);
  return review(settings, places).map(({ rule, text }) => `${rule} ${text}`);
}

describe('a review', () => {
  const cases: readonly { readonly name: string; readonly rules: string; readonly says: string | undefined }[] = [
    {
      name: 'nothing to report',
      rules:
        "- { id: a, effect: allow, on: { tools: ['read_*'] } }\n- { id: d, effect: deny, on: { tools: [read_x] } }",
      says: undefined,
    },
    {
      name: 'actions and items that never match',
      rules: '- { id: a, effect: allow, what: [read], on: { tools: [x] } }',
      says: 'a can never match: read does not apply to anything in `on`',
    },
    {
      name: 'backends that are not behind the endpoint',
      rules: '- { id: a, effect: allow, on: { endpoints: [/team/mcp], backends: [files] } }',
      says: 'a can never match: none of its endpoints has any of its backends',
    },
    {
      name: 'arguments where there are none',
      rules: '- { id: a, effect: deny, what: [read], with: { arguments: { x: { equals: 1 } } } }',
      says: 'a tests arguments',
    },
    {
      name: 'a denial that ends at a slash',
      rules: "- { id: a, effect: deny, on: { uris: ['file:///etc/*'] } }",
      says: 'up to the next slash',
    },
    {
      name: 'an allowing rule for what is open',
      rules: '- { id: a, effect: allow, what: [list] }',
      says: 'a allows what needs no rule',
    },
    {
      name: 'a wider denial',
      rules:
        "- { id: a, effect: allow, what: [call], who: { groups: [g] }, on: { tools: [x_1] } }\n- { id: d, effect: deny, what: [call, get], on: { tools: ['x*'] } }",
      says: '`d` denies everything',
    },
    {
      name: 'a denial of everything',
      rules: '- { id: a, effect: allow }\n- { id: d, effect: deny }',
      says: '`d` denies everything',
    },
    {
      name: 'a denial with a condition',
      rules: '- { id: a, effect: allow }\n- { id: d, effect: deny, when: name == "x" }',
      says: undefined,
    },
    {
      name: 'a denial that is only recorded',
      rules: '- { id: a, effect: allow }\n- { id: d, mode: audit, effect: deny }',
      says: undefined,
    },
    {
      name: 'a denial of others',
      rules: '- { id: a, effect: allow, who: { groups: [g] } }\n- { id: d, effect: deny, who: { groups: [h] } }',
      says: undefined,
    },
    {
      name: 'a denial of some items',
      rules: "- { id: a, effect: allow }\n- { id: d, effect: deny, on: { tools: ['*'] } }",
      says: undefined,
    },
    {
      name: 'a wider denial by another pattern',
      rules:
        "- { id: a, effect: allow, what: [call, get], on: { tools: ['*a_x'], prompts: [p] } }\n- { id: d, effect: deny, on: { tools: ['*_x'], prompts: ['*'] } }",
      says: '`d` denies everything',
    },
    {
      name: 'a denial by the same pattern, the first of two',
      rules:
        "- { id: a, effect: allow, what: [call], on: { tools: ['b?c*'] } }\n- { id: d, effect: deny, on: { tools: [z, 'b?c*'] } }\n- { id: e, effect: deny, who: { groups: [g] }, on: { tools: ['*'] } }\n- { id: f, effect: deny, on: { tools: ['b*'] } }",
      says: 'a can never allow anything: `d` denies everything',
    },
    {
      name: 'a denial of one of two lists',
      rules:
        "- { id: a, effect: allow, what: [call, get], on: { tools: [x], prompts: [p] } }\n- { id: d, effect: deny, on: { tools: ['*'] } }",
      says: undefined,
    },
    {
      name: 'a question about what no rule allows',
      rules: '- { id: a, effect: approval, by: caller, what: [call] }\n- { id: b, effect: allow, what: [get] }',
      says: 'a can never ask: no rule allows call',
    },
    {
      name: 'a question about what is denied',
      rules:
        '- { id: a, effect: approval, by: caller, what: [call] }\n- { id: b, effect: allow }\n- { id: d, effect: deny }',
      says: 'a can never ask about anything: `d` denies everything',
    },
    {
      name: 'a denial of the same group and scope',
      rules:
        "- { id: a, effect: allow, who: { groups: [g], scopes: [s] } }\n- { id: d, effect: deny, who: { groups: ['g*'] } }",
      says: '`d` denies everything',
    },
  ];
  for (const { name, rules, says } of cases) {
    test(name, () => {
      const told = remarks(rules);
      if (says === undefined) expect(told).toEqual([]);
      else expect(told.join('\n')).toContain(says);
    });
  }

  test('distinguishes names from patterns', () => {
    const { rules } = settingsOf("policy: { rules: [{ id: a, effect: deny, on: { tools: [x, 'y\\*', 'z*'] } }] }\n");
    expect(outrightNames(rules[0]!, 'tools')).toEqual([
      { written: 'x', name: 'x' },
      { written: 'y\\*', name: 'y*' },
    ]);
    expect(outrightNames(rules[0]!, 'prompts')).toEqual([]);
    expect(missingName('y', 'tools')).toBe('names `y`, which is not among the tools');
  });
});

function command(policy: string | undefined) {
  const said: string[] = [];
  const settings = policy === undefined ? undefined : settingsOf(policy, world);
  return { said, command: { policy: settings, places, say: (text: string) => void said.push(text) } };
}

const sample = `policy:
  rules:
    - id: interns-read
      effect: allow
      who: { groups: [interns], claims: { department: [sales] } }
      what: [call, get]
      on: { backends: [files], tools: ['read_*'] }
      with: { arguments: { path: { glob: '/srv/**' }, amount: { max: 100 } } }
      when: name != 'read_secret'
    - { id: no-deletes, effect: deny, mode: audit, on: { tools: ['*_delete'] } }
    - { id: ci, effect: allow, who: { keys: [ci] } }
    - { id: no-sampling, effect: deny, what: [ask], on: { asks: [sampling] } }
`;

describe('policy check', () => {
  test('explains the rules', () => {
    const { said, command: given } = command(sample);
    expect(checkPolicy(given)).toBe(0);
    expect(said).toEqual([
      'The policy is enforced: everything that no rule allows is denied.',
      'These actions need no rule: connect, ping, cancel, progress, notify, list, find, ask.',
      "interns-read: everybody with department sales of the group interns may call or get, tools read_*, of the backend files, where the argument path is like /srv/**, where the argument amount is at most 100, when name != 'read_secret'.",
      'no-deletes: everybody must not do anything, tools *_delete. (Recorded only.)',
      'ci: everybody with the key ci may do anything.',
      'no-sampling: everybody must not ask, asks for sampling.',
    ]);
  });

  test('warns, and reports a missing policy', () => {
    const warned = command(
      'policy: { mode: audit, open: [], rules: [{ id: a, effect: allow, what: [get], on: { tools: [x] } }] }\n',
    );
    expect(checkPolicy(warned.command)).toBe(0);
    expect(warned.said.slice(0, 2)).toEqual([
      'The policy is in audit mode: nothing is denied; denials are only recorded.',
      'Every action needs a rule.',
    ]);
    expect(warned.said.at(-1)).toMatch(/^warning: a can never match/);
    const none = command(undefined);
    expect(checkPolicy(none.command)).toBe(0);
    expect(none.said).toEqual(['There is no policy: everything is allowed.']);
  });
});

describe('policy test', () => {
  const run = (cases: string, policy: string | undefined = sample) => {
    const { said, command: given } = command(policy);
    return { code: testPolicy(given, { name: 'cases.yaml', text: cases }), said };
  };

  test('is content where everything comes out as expected', () => {
    const intern = 'principal: { subject: a, groups: [interns], claims: { department: sales } }, backend: files';
    const cases = `cases:
  - { ${intern}, action: call, tool: read_file, arguments: { path: /srv/a, amount: 1 }, expect: allow, rule: interns-read }
  - { ${intern}, action: call, tool: read_file, arguments: { path: /etc/a, amount: 1 }, expect: deny, rule: null }
  - { principal: { key: ci }, action: read, uri: 'file:///x', expect: allow, rule: ci }
  - { action: ask, ask: sampling, expect: deny, rule: no-sampling }
  - { action: ask, ask: roots, expect: allow }
  - { principal: local, action: call, tool: x, endpoint: /team/mcp, expect: deny }
  - { principal: local, action: find, expect: allow }
`;
    expect(run(cases)).toEqual({ code: 0, said: ['7 of 7 cases as expected'] });
  });

  test('names the cases with another outcome', () => {
    const cases =
      'cases:\n  - { name: wrong, action: call, tool: x, expect: allow }\n  - { principal: { key: ci }, action: call, tool: y, expect: allow, rule: other }\n';
    expect(run(cases)).toEqual({
      code: 1,
      said: [
        'wrong: expected allow, got deny by no rule',
        'call y: expected allow by other, got allow by ci',
        '0 of 2 cases as expected',
      ],
    });
  });

  test('evaluates the rules also in audit mode', () => {
    const cases = 'cases: [{ action: call, tool: x, expect: deny }]\n';
    expect(run(cases, 'policy: { mode: audit, rules: [] }\n').code).toBe(0);
  });

  test('reads, reviews and applies 10,000 rules', () => {
    const rule = (at: number) =>
      at % 2 === 0
        ? `    - { id: r${at}, effect: allow, who: { groups: [g${at % 50}] }, on: { tools: [t${at}] } }\n`
        : `    - { id: r${at}, effect: deny, what: [call], on: { tools: ['*x${at}_*', 't${at}_*'] } }\n`;
    const policy = `policy:\n  rules:\n${Array.from({ length: 10_000 }, (_, at) => rule(at)).join('')}`;
    const { said, command: given } = command(policy);
    expect(checkPolicy(given)).toBe(0);
    expect(said).toContain('r9998: everybody of the group g48 may do anything, tools t9998.');
    expect(said.filter((line) => line.startsWith('warning'))).toEqual([]);
    const asking = 'principal: { subject: a, groups: [g48] }, backend: files, action: call';
    const cases = `cases:
  - { ${asking}, tool: t9998, expect: allow, rule: r9998 }
  - { ${asking}, tool: t9996, expect: deny, rule: null }
  - { ${asking}, tool: ax9999_b, expect: deny, rule: r9999 }
`;
    expect(testPolicy(given, { name: 'cases.yaml', text: cases })).toBe(0);
  });

  test.each(['enforce', 'audit'])('knows what a person is asked about, in %s mode', (mode) => {
    const rules =
      '[{ id: all, effect: allow }, { id: ask, effect: approval, by: other, for: 10min, on: { tools: [x] } }]';
    const policy = settingsOf(`policy: { mode: ${mode}, rules: ${rules} }\n`);
    const said: string[] = [];
    const given = { policy, places, say: (text: string) => void said.push(text) };
    const cases =
      'cases: [{ action: call, tool: x, expect: approval, rule: ask }, { action: call, tool: y, expect: allow }]\n';
    expect(testPolicy(given, { name: 'cases.yaml', text: cases })).toBe(0);
    expect(checkPolicy(given)).toBe(0);
    expect(said).toContain(
      'ask: everybody needs the approval of another person, which holds for 10 min, to call, get, read or rpc, tools x.',
    );
  });

  test('rejects an invalid file, with the line', () => {
    const { code, said } = run(
      'cases:\n  - { action: cal, expect: deny }\n  - { action: get, tool: x, expect: deny }\n',
    );
    expect(code).toBe(1);
    expect(said.join('\n')).toContain('cases.yaml:2:');
    expect(said.join('\n')).toContain('did you mean `call`?');
    expect(said.join('\n')).toContain('cases.yaml:3:');
    expect(run('cases: [').code).toBe(1);
  });
});
