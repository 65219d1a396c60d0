import { describe, expect, test } from 'vitest';
import { Permit } from '../../src/policy/mint.ts';
import { decide } from '../../src/policy/policy.ts';
import { Denial } from '../../src/policy/ruling.ts';
import { call, key, local, policyOf, policyWith, question, read, token, told } from './setup.ts';

describe('a decision', () => {
  test('without a policy is a permit, and nothing else is evaluated', () => {
    const permit = decide(call('x'), 7);
    expect(permit).toBeInstanceOf(Permit);
    expect(permit).toMatchObject({ holder: 'local', purpose: 'call', generation: 7, ruling: undefined });
    expect(decide(call('x'), 7, undefined)).toEqual(permit);
  });

  test('where a policy has no rules is a denial of everything that is not open', () => {
    const policy = policyOf('policy: { rules: [] }\n');
    for (const action of ['call', 'get', 'read', 'subscribe', 'complete', 'log', 'task']) {
      expect([action, told(policy, question(action))]).toEqual([action, 'deny']);
    }
    for (const action of ['connect', 'ping', 'cancel', 'progress', 'notify', 'list', 'ask']) {
      expect([action, told(policy, question(action))]).toEqual([action, 'allow']);
    }
  });

  test('can deny everything', () => {
    const policy = policyOf('policy: { open: [], rules: [{ id: c, effect: allow, what: [connect] }] }\n');
    expect(told(policy, question('connect'))).toBe('allow c');
    expect(told(policy, question('ping'))).toBe('deny');
  });

  test('carries its generation, and a denial becomes the failure that names its rules', () => {
    const policy = policyWith(
      '- { id: a, effect: allow, on: { tools: [x] } }\n- { id: b, effect: deny, on: { tools: [y] } }',
    );
    expect(decide(call('x'), 7, policy)).toMatchObject({ purpose: 'call', ruling: { generation: 7, rules: ['a'] } });
    const denial = decide(call('y'), 7, policy);
    if (!(denial instanceof Denial)) throw new Error('it was allowed');
    expect(denial).toMatchObject({ reason: 'policy_denied', ruling: { generation: 7, rules: ['b'] } });
    expect(denial.failure).toMatchObject({ reason: 'policy_denied', data: { rules: ['b'] }, row: { modern: 403 } });
  });

  test('names all rules that deny, in the order of the file, and the first that allows', () => {
    const policy = policyWith(`- { id: z, effect: allow }
- { id: a, effect: allow, on: { tools: [x] } }
- { id: d2, effect: deny, on: { tools: ['y*', 'yy'] } }
- { id: d1, effect: deny, on: { tools: [yy] } }`);
    expect(told(policy, call('x'))).toBe('allow z');
    expect(told(policy, call('yy'))).toBe('deny d2 d1');
  });
});

const people = {
  local,
  ci: key('ci', ['mcp:write']),
  alice: token({ sub: 'alice', groups: ['interns', 'staff'], department: 'sales', level: 3, scope: 'mcp mcp:read' }),
  bob: token({ sub: 'bob', department: ['it', 'sales'], realm_access: { roles: ['admin'] } }, 'https://other.example'),
  robot: token({ client_id: 'robot' }),
  impostor: token({ sub: 'local' }),
  other: token({ sub: 'key:ci' }),
};
type Name = keyof typeof people;

const whos: readonly { readonly who: string; readonly meant: readonly Name[] }[] = [
  { who: '{}', meant: Object.keys(people) as Name[] },
  { who: "{ principals: ['*'] }", meant: Object.keys(people) as Name[] },
  { who: '{ principals: [alice] }', meant: ['alice'] },
  { who: '{ principals: [local] }', meant: ['local'] },
  { who: "{ principals: ['key:ci'] }", meant: ['ci'] },
  { who: "{ principals: ['key:*', 'client:r*'] }", meant: ['ci', 'robot'] },
  { who: '{ keys: [ci] }', meant: ['ci'] },
  { who: '{ groups: [interns] }', meant: ['alice'] },
  { who: '{ claims: { department: [sales] } }', meant: ['alice', 'bob'] },
  { who: '{ claims: { level: [3] } }', meant: ['alice'] },
  { who: "{ claims: { level: ['3'] } }", meant: [] },
  { who: '{ claims: { realm_access.roles: [admin] } }', meant: ['bob'] },
  { who: '{ claims: { constructor: [x] } }', meant: [] },
  { who: "{ issuers: ['https://other.*'] }", meant: ['bob'] },
  { who: "{ scopes: ['mcp:*'] }", meant: ['local', 'ci', 'alice'] },
  { who: "{ scopes: ['mcp:*'], groups: [interns] }", meant: ['alice'] },
];

describe('who in a rule', () => {
  for (const { who, meant } of whos) {
    test(`${who} means ${meant.join(', ') || 'nobody'}`, () => {
      const policy = policyWith(`- { id: r, effect: allow, who: ${who} }`);
      const allowed = Object.entries(people).flatMap(([name, principal]) =>
        told(policy, call('x', { principal })) === 'allow r' ? [name] : [],
      );
      expect(allowed).toEqual(meant);
    });
  }

  test('finds groups in the claim that was named', () => {
    const policy = policyWith(
      '- { id: r, effect: allow, who: { groups: [admin] } }',
      '  groupsClaim: realm_access.roles\n',
    );
    expect(told(policy, call('x', { principal: people.bob }))).toBe('allow r');
    expect(told(policy, call('x', { principal: people.alice }))).toBe('deny');
  });
});

describe('what and on in a rule', () => {
  const policy =
    policyWith(`- { id: tools, effect: allow, what: [call], on: { tools: ['read_*', stat], backends: [files] } }
- { id: team, effect: allow, what: [call], on: { endpoints: [/team/*], tools: [team_tool] } }
- { id: prompts, effect: allow, what: [get, complete], on: { prompts: ['greet*'] } }
- { id: docs, effect: allow, what: [read, subscribe, complete], on: { uris: ['file:///docs/**'] } }
- { id: no-secrets, effect: deny, on: { uris: ['**/secret*'] } }
- { id: no-sampling, effect: deny, what: [ask], on: { asks: [sampling] } }
- { id: all-mail, effect: allow, on: { backends: ['mai*'] } }`);

  const cases = [
    { asked: call('read_file'), expected: 'allow tools' },
    { asked: call('stat'), expected: 'allow tools' },
    { asked: call('write_file'), expected: 'deny' },
    { asked: call('read_file', { backend: 'search' }), expected: 'deny' },
    { asked: call('anything', { backend: 'mail' }), expected: 'allow all-mail' },
    { asked: call('team_tool'), expected: 'deny' },
    { asked: call('team_tool', { endpoint: '/team/mcp' }), expected: 'allow team' },
    { asked: question('get', { thing: { kind: 'prompt', name: 'greeting' } }), expected: 'allow prompts' },
    { asked: question('get', { thing: { kind: 'prompt', name: 'read_file' } }), expected: 'deny' },
    { asked: question('complete', { thing: { kind: 'prompt', name: 'greeting' } }), expected: 'allow prompts' },
    { asked: read('file:///docs/a/b'), expected: 'allow docs' },
    { asked: read('file:///docs/secret.txt'), expected: 'deny no-secrets' },
    { asked: read('file:///docs/%73ecret.txt'), expected: 'deny no-secrets' },
    { asked: read('file:///docs/../etc/passwd'), expected: 'deny no-secrets' },
    { asked: read('FILE:///docs/a'), expected: 'deny' },
    { asked: question('sampling/createMessage'), expected: 'deny no-sampling' },
    { asked: question('roots/list'), expected: 'allow' },
    { asked: question('elicitation/create', { backend: 'mail' }), expected: 'allow all-mail' },
  ];
  for (const { asked, expected } of cases) {
    test(`${asked.row.method} ${asked.thing?.name ?? ''} at ${asked.endpoint} ${asked.backend}: ${expected}`, () => {
      expect(told(policy, asked)).toBe(expected);
    });
  }

  test('a principal that may not use an item gets neither its completions nor its changes', () => {
    const rules = `- { id: yes, effect: allow }
- { id: no-read, effect: deny, what: [read], on: { uris: ['file:///x/**'] } }
- { id: no-get, effect: deny, what: [get], on: { prompts: [p] } }`;
    const strict = policyWith(rules);
    const uri = { kind: 'resource', name: 'file:///x/1' } as const;
    expect(told(strict, question('subscribe', { thing: uri }))).toBe('deny no-read');
    expect(told(strict, question('complete', { thing: { kind: 'template', name: 'file:///x/{id}' } }))).toBe(
      'deny no-read',
    );
    expect(told(strict, question('complete', { thing: { kind: 'template', name: 'file:///y/{id}' } }))).toBe(
      'allow yes',
    );
    expect(told(strict, question('complete', { thing: { kind: 'prompt', name: 'p' } }))).toBe('deny no-get');
  });
});

describe('a template that matches more than the principal may read', () => {
  const template = { kind: 'template', name: 'file:///{+path}' } as const;
  const within = { kind: 'template', name: 'file:///public/{+path}' } as const;
  test.each([
    {
      name: 'where a part is allowed',
      rules: "- { id: some, effect: allow, on: { uris: ['file:///public/**'] } }",
      expected: 'deny',
    },
    {
      name: 'where a part is allowed to be read, and anything completed',
      rules: `- { id: some, effect: allow, what: [read], on: { uris: ['file:///public/**'] } }
- { id: completions, effect: allow, what: [complete] }`,
      expected: 'deny',
    },
    {
      name: 'where a part is denied',
      rules: `- { id: all, effect: allow }
- { id: not, effect: deny, on: { uris: ['file:///secrets/**'] } }`,
      expected: 'deny not',
    },
  ])('is listed and not completed $name', ({ rules, expected }) => {
    const policy = policyWith(rules);
    expect(told(policy, question('complete', { thing: template }))).toBe(expected);
    expect(told(policy, question('complete', { thing: within }))).toMatch(/^allow/);
    const place = { principal: local, endpoint: '/mcp', backend: 'files' };
    expect(policy.shows({ ...place, thing: template })).toBe(true);
  });
});

describe('annotations', () => {
  const policy = policyWith(
    `- { id: reads, effect: allow, what: [call], on: { annotations: { readOnlyHint: true } } }
- { id: harmless, effect: allow, what: [call], on: { tools: ['h*'] } }
- { id: destroys, effect: deny, what: [call], on: { annotations: { destructiveHint: true } } }`,
    '  trustAnnotationsOf: [files]\n',
  );
  const cases = [
    { name: 'of a tool that only reads', asked: { annotations: { readOnlyHint: true } }, expected: 'allow reads' },
    { name: 'that are missing are the worst', asked: {}, expected: 'deny destroys' },
    { name: 'that are no annotations', asked: { annotations: 'readOnlyHint' }, expected: 'deny destroys' },
    { name: 'of another type', asked: { annotations: { readOnlyHint: 'true' } }, expected: 'deny destroys' },
    {
      name: 'that contradict each other',
      asked: { annotations: { readOnlyHint: true, destructiveHint: true } },
      expected: 'allow reads',
    },
    {
      name: 'of a tool that changes but is not destructive',
      asked: { annotations: { destructiveHint: false } },
      expected: 'allow harmless',
    },
    {
      name: 'of a backend that is not believed',
      asked: { annotations: { readOnlyHint: true }, backend: 'mail' },
      expected: 'deny destroys',
    },
  ];
  for (const { name, asked, expected } of cases) {
    test(name, () => expect(told(policy, call('h', asked))).toBe(expected));
  }
});

const tests: readonly {
  readonly test: string;
  readonly value: unknown;
  readonly allow: boolean;
  readonly deny: boolean;
}[] = [
  { test: "glob: '/srv/**'", value: '/srv/a', allow: true, deny: true },
  { test: "glob: '/srv/**'", value: '/etc/a', allow: false, deny: false },
  { test: "glob: '/srv/**'", value: '/srv/../etc', allow: false, deny: true },
  { test: "glob: '/srv/**'", value: ['/srv/a', '/srv/b'], allow: true, deny: true },
  { test: "glob: '/srv/**'", value: ['/srv/a', '/etc/b'], allow: false, deny: true },
  { test: "glob: '/srv/**'", value: [], allow: false, deny: false },
  { test: "glob: '/srv/**'", value: { path: '/srv/a' }, allow: false, deny: true },
  { test: "glob: '/srv/**'", value: null, allow: false, deny: false },
  { test: "glob: '/srv/**'", value: undefined, allow: false, deny: false },
  { test: "glob: ['/a/*', '/b/*']", value: '/b/x', allow: true, deny: true },
  { test: 'min: 0, max: 100', value: 100, allow: true, deny: true },
  { test: 'min: 0, max: 100', value: 100.5, allow: false, deny: false },
  { test: 'min: 0, max: 100', value: '50', allow: false, deny: true },
  { test: 'min: 0', value: 2 ** 53, allow: false, deny: true },
  { test: 'equals: x', value: 'x', allow: true, deny: true },
  { test: 'equals: [1, true, null]', value: null, allow: true, deny: true },
  { test: 'equals: [1, true, null]', value: undefined, allow: true, deny: true },
  { test: 'equals: [1, true]', value: null, allow: false, deny: false },
  { test: 'equals: [1, true]', value: 2, allow: false, deny: false },
  { test: 'equals: [1, true]', value: '1', allow: false, deny: true },
  { test: 'equals: true', value: 'true', allow: false, deny: true },
  { test: 'equals: true', value: 1, allow: false, deny: true },
  { test: 'equals: true', value: 'yes', allow: false, deny: true },
  { test: 'equals: true', value: false, allow: false, deny: false },
  { test: 'equals: true', value: [true, 'true'], allow: false, deny: true },
  { test: 'equals: "5"', value: 5, allow: false, deny: true },
  { test: "equals: [true, 'true', 'yes']", value: 'no', allow: false, deny: false },
  { test: "equals: [true, 'true', 'yes']", value: 'On', allow: false, deny: true },
  { test: 'min: 0, max: 100', value: null, allow: false, deny: false },
  { test: 'equals: 1', value: { a: 1 }, allow: false, deny: true },
  { test: 'maxBytes: 4', value: 'äö', allow: true, deny: true },
  { test: 'maxBytes: 4', value: 'äöü', allow: false, deny: false },
  { test: 'minBytes: 1KiB', value: 'x'.repeat(2_000), allow: true, deny: true },
  { test: 'maxBytes: 9', value: { a: 'xy' }, allow: false, deny: false },
  { test: 'present: true', value: null, allow: false, deny: false },
  { test: 'present: false', value: null, allow: true, deny: true },
  { test: 'present: false', value: undefined, allow: true, deny: true },
  { test: 'present: false', value: 1, allow: false, deny: false },
];

describe('a test of an argument', () => {
  for (const { test: text, value, allow, deny } of tests) {
    test(`${text} of ${JSON.stringify(value)?.slice(0, 40)}`, () => {
      const rule = (effect: string) => `- { id: r, effect: ${effect}, with: { arguments: { a: { ${text} } } } }`;
      const asked = call('x', { arguments: value === undefined ? {} : { a: value } });
      expect(told(policyWith(rule('allow')), asked)).toBe(allow ? 'allow r' : 'deny');
      expect(told(policyWith(`${rule('deny')}\n- { id: all, effect: allow }`), asked)).toBe(
        deny ? 'deny r' : 'allow all',
      );
    });
  }

  test('of arguments that are no object fails', () => {
    const policy = policyWith(
      '- { id: d, effect: deny, with: { arguments: { a: { equals: 1 } } } }\n- { id: a, effect: allow }',
    );
    for (const value of [[], 'x', 1]) expect(told(policy, call('x', { arguments: value }))).toBe('deny d');
    expect(told(policy, call('x', { arguments: undefined }))).toBe('allow a');
  });

  test('does not see inherited properties', () => {
    const policy = policyWith('- { id: a, effect: allow, with: { arguments: { toString: { present: true } } } }');
    expect(told(policy, call('x', { arguments: {} }))).toBe('deny');
  });
});

describe('a condition', () => {
  const cases: readonly {
    readonly when: string;
    readonly value: object;
    readonly allow: boolean;
    readonly deny: boolean;
  }[] = [
    { when: 'arguments.amount < 100', value: { amount: 5 }, allow: true, deny: true },
    { when: 'arguments.amount < 100', value: { amount: 500 }, allow: false, deny: false },
    { when: 'arguments.amount < 100', value: { amount: 'x' }, allow: false, deny: true },
    { when: 'arguments.amount < 100', value: {}, allow: false, deny: true },
    { when: 'has(arguments.note)', value: { note: 'x'.repeat(10_000) }, allow: false, deny: true },
    { when: "arguments.note.contains('y')", value: { note: 'x'.repeat(10_000) }, allow: false, deny: true },
    { when: 'arguments.constructor == 1', value: { constructor: 1 }, allow: true, deny: true },
    { when: "principal.claims.team == 'blue' && name.glob('x*')", value: {}, allow: true, deny: true },
    {
      when: "'a' in principal.scopes && principal.kind == 'token' && action == 'call'",
      value: {},
      allow: true,
      deny: true,
    },
    {
      when: "'staff' in principal.groups || endpoint != '/mcp' || backend != 'files'",
      value: {},
      allow: true,
      deny: true,
    },
    { when: 'arguments.items.all(i, i.size() < 5)', value: { items: ['a', 'b'] }, allow: true, deny: true },
    { when: 'annotations.readOnlyHint', value: {}, allow: false, deny: false },
    { when: 'arguments.flag', value: { flag: 'yes' }, allow: false, deny: true },
  ];
  const principal = token({ sub: 's', scope: 'a b', team: 'blue', groups: ['staff'] });
  for (const { when, value, allow, deny } of cases) {
    test(`${when} with ${JSON.stringify(value).slice(0, 40)}`, () => {
      const rule = (effect: string) => `- id: r\n  effect: ${effect}\n  when: ${JSON.stringify(when)}`;
      const asked = call('x', { principal, arguments: value });
      expect(told(policyWith(rule('allow')), asked)).toBe(allow ? 'allow r' : 'deny');
      expect(told(policyWith(`${rule('deny')}\n- { id: all, effect: allow }`), asked)).toBe(
        deny ? 'deny r' : 'allow all',
      );
    });
  }

  test('that fails beside a part that does not match changes nothing', () => {
    const policy = policyWith(
      '- { id: d, effect: deny, on: { tools: [y] }, when: arguments.no.such }\n- { id: a, effect: allow }',
    );
    expect(told(policy, call('x'))).toBe('allow a');
    expect(told(policy, call('y'))).toBe('deny d');
  });
});

describe('audit mode', () => {
  const rulingOf = (text: string, tool: string) => {
    const verdict = policyOf(text).decide(call(tool));
    return { allowed: !(verdict instanceof Denial), ...verdict.ruling };
  };

  test('of the policy denies nothing and reports what it would have denied', () => {
    const text =
      'policy: { mode: audit, rules: [{ id: a, effect: allow, on: { tools: [x] } }, { id: d, effect: deny, on: { tools: [y] } }] }\n';
    expect(rulingOf(text, 'x')).toEqual({ allowed: true, generation: 7, rules: ['a'] });
    expect(rulingOf(text, 'y')).toEqual({ allowed: true, generation: 7, rules: [], wouldDeny: ['d'] });
    expect(rulingOf(text, 'z')).toEqual({ allowed: true, generation: 7, rules: [], wouldDeny: [] });
  });

  test('of a rule decides nothing and reports what it would have decided', () => {
    const text =
      'policy: { rules: [{ id: a, effect: allow, on: { tools: [x] } }, { id: d, mode: audit, effect: deny, on: { tools: [x] } }, { id: n, mode: audit, effect: allow, on: { tools: [y] } }] }\n';
    expect(rulingOf(text, 'x')).toEqual({ allowed: true, generation: 7, rules: ['a'], wouldDeny: ['d'] });
    expect(rulingOf(text, 'y')).toEqual({ allowed: false, generation: 7, rules: [], wouldAllow: ['n'] });
    expect(rulingOf(text, 'z')).toEqual({ allowed: false, generation: 7, rules: [] });
  });
});

describe('a rule that denies addresses', () => {
  const policy = policyWith(`- { id: all, effect: allow }
- { id: secrets, effect: deny, on: { uris: ['file:///secrets/**'] } }
- { id: passwd, effect: deny, on: { uris: ['file:///etc/passwd'] } }
- { id: keys, effect: deny, on: { uris: ['**.key'] } }
- { id: etc, effect: deny, what: [call], with: { arguments: { path: { glob: '/etc/**' } } } }`);

  test.each([
    'file:///public/../secrets/x',
    'file:///./secrets/x',
    'file:////secrets/x',
    'file://localhost/secrets/x',
    'file:/secrets/x',
    'FILE://LOCALHOST/%73ecrets/x',
    'file:///public\\..\\secrets\\x',
    'file:///etc/x/../passwd',
    'file:///etc//passwd',
    'file:///a.key/.',
    `file:///${'a/'.repeat(3_000)}`,
  ])('holds for %s', (uri) => {
    expect(told(policy, read(uri))).toMatch(/^deny /);
  });

  test('does not match a URI that is certainly another', () => {
    for (const uri of ['file:///public/x', 'file:///secretsx', 'file:///public/.x', 'https://host/?at=https://x'])
      expect([uri, told(policy, read(uri))]).toEqual([uri, 'allow all']);
  });

  test.each(['/tmp/../etc/x', '/./etc/x', '//etc/x', ['/tmp/../etc/x']])('holds for an argument %j', (path) => {
    expect(told(policy, call('x', { arguments: { path } }))).toBe('deny etc');
  });

  test('and an allowing one matches none of these spellings', () => {
    const open = policyWith("- { id: public, effect: allow, on: { uris: ['file:///public/**'] } }");
    expect(told(open, read('file:///public/x'))).toBe('allow public');
    for (const uri of ['file:///a/../public/x', 'file:///public//x', 'file://localhost/public/x'])
      expect([uri, told(open, read(uri))]).toEqual([uri, 'deny']);
  });
});

describe('a condition about a name', () => {
  const policy = policyWith(`- { id: all, effect: allow, on: { uris: ['*'] } }
- { id: begins, effect: deny, what: [read], when: "name.startsWith('file:///cond/')" }
- { id: is, effect: deny, what: [read], when: "name == 'file:///one'" }`);
  const open = policyWith(`- { id: begins, effect: allow, when: "name.startsWith('file:///cond/')" }`);

  test.each(['FILE:///cond/x', 'file:///%63ond/x', 'file:///a/../cond/x', 'file://localhost/cond/x', 'FILE:///one'])(
    'is undecided about %s, which has several readings',
    (uri) => {
      expect(told(policy, read(uri))).toBe('deny begins is');
      expect(told(open, read(uri))).toBe('deny');
    },
  );

  test('is decided about a name with one reading', () => {
    expect(told(policy, read('file:///cond/x'))).toBe('deny begins');
    expect(told(policy, read('file:///one'))).toBe('deny is');
    expect(told(policy, read('file:///two'))).toBe('allow all');
    expect(told(open, read('file:///cond/x'))).toBe('allow begins');
  });
});

describe('a list of texts held against a pattern', () => {
  const policy = policyWith(`- { id: all, effect: allow }
- { id: no, effect: deny, what: [call], with: { arguments: { paths: { glob: '**/secret*/**' } } } }`);
  const verdictOn = (items: number, length: number) =>
    told(policy, call('x', { arguments: { paths: Array.from({ length: items }, () => 'a'.repeat(length)) } }));

  test('is judged while it is short enough for that, and fails beyond', () => {
    expect(verdictOn(1_000, 60)).toBe('allow all');
    expect(verdictOn(15, 4_096)).toBe('allow all');
    expect(verdictOn(1_000, 4_096)).toBe('deny no');
    expect(verdictOn(16, 4_096)).toBe('deny no');
  });

  test('counts the whole list for all patterns together', () => {
    const many = JSON.stringify(Array.from({ length: 20 }, (_, at) => `**/secret${at}*/**`));
    const several = policyWith(`- { id: all, effect: allow }
- { id: no, effect: deny, what: [call], with: { arguments: { paths: { glob: ${many} } } } }`);
    const paths = Array.from({ length: 10 }, () => 'a'.repeat(1_000));
    expect(told(several, call('x', { arguments: { paths } }))).toBe('deny no');
    expect(told(several, call('x', { arguments: { paths: paths.slice(0, 2) } }))).toBe('allow all');
  });

  test('is an address in every spelling', () => {
    const web = policyWith(`- { id: all, effect: allow }
- { id: no, effect: deny, what: [call], with: { arguments: { url: { glob: 'https://inner/**' } } } }`);
    for (const url of ['HTTPS://Inner/x', 'https://me@inner/x', 'https://inner:443/x', 'https://inner/a/../x'])
      expect([url, told(web, call('x', { arguments: { url } }))]).toEqual([url, 'deny no']);
    expect(told(web, call('x', { arguments: { url: 'https://outer/100%' } }))).toBe('allow all');
  });
});
