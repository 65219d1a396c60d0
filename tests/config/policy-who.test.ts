import { describe, expect, test } from 'vitest';
import { describeConfig } from '../../src/config/describe.ts';
import { review } from '../../src/policy/review.ts';
import { complaintsAbout, configOf } from './loading.ts';

const base = 'backends: { files: { url: http://127.0.0.1:1/mcp } }\n';
const issuer = (name: string) => `{ issuer: https://${name}.example }`;
const trusting = (...names: readonly string[]) =>
  `identity: { publicUrl: https://gateway.example, issuers: [${names.map(issuer).join(', ')}] }\n`;
const rule = (who: string) => `policy: { rules: [{ id: r, effect: allow, who: ${who} }] }\n`;

describe('a subject in a rule', () => {
  test.each(['{ principals: [alice] }', "{ principals: ['al*'] }", "{ principals: ['*', 'client:robot'] }"])(
    '%s needs an issuer beside it if two are trusted',
    (who) => {
      const said = complaintsAbout(`${base}${trusting('one', 'two')}${rule(who)}`);
      expect(said).toContain('could be a subject of any of the 2 trusted issuers');
      expect(said).toContain('`issuers` beside it');
    },
  );

  test('needs one in a limit, too', () => {
    const rates = 'rates: [{ id: few, who: { principals: [alice] }, concurrent: 1 }]\n';
    expect(complaintsAbout(`${base}${trusting('one', 'two')}${rates}`)).toContain(
      'could be a subject of any of the 2 trusted issuers',
    );
  });

  test('needs no issuer if one is trusted, or if the rule names no subject', () => {
    expect(configOf(`${base}${trusting('one')}${rule('{ principals: [alice] }')}`).policy?.rules).toHaveLength(1);
    for (const who of ["{ principals: ['*'] }", "{ principals: ['key:ci', local] }", '{ groups: [staff] }']) {
      expect(configOf(`${base}${trusting('one', 'two')}${rule(who)}`).policy?.rules).toHaveLength(1);
    }
    const both = '{ principals: [alice], issuers: ["https://one.example"] }';
    expect(configOf(`${base}${trusting('one', 'two')}${rule(both)}`).policy?.rules).toHaveLength(1);
  });
});

describe('a rule about callers who cannot authenticate', () => {
  const remarksOn = (who: string, callers: { keys: boolean; issuers: number; groups?: readonly string[] }) => {
    const { policy } = configOf(`${base}${rule(who)}`);
    if (policy === undefined) throw new Error('there is no policy');
    return review(policy, { '/mcp': ['files'] }, callers).map(({ text }) => text);
  };
  const [nobody, keys, tokens] = [
    { keys: false, issuers: 0 },
    { keys: true, issuers: 0 },
    { keys: false, issuers: 1 },
  ];

  test.each([
    { who: '{ groups: [staff] }', callers: nobody, says: '`who.groups` is about keys and tokens' },
    {
      who: '{ groups: [staff] }',
      callers: { ...keys, groups: ['blue'] },
      says: 'no key and no user has the group `staff`',
    },
    { who: '{ claims: { team: [blue] } }', callers: keys, says: '`who.claims` is about tokens' },
    { who: '{ keys: [ci] }', callers: nobody, says: 'it is about keys' },
    { who: "{ principals: ['key:ci'] }", callers: tokens, says: 'it is about keys' },
  ])('$who gets a warning', ({ who, callers, says }) => {
    expect(remarksOn(who, callers)).toEqual([expect.stringContaining(`can never match: ${says}`)]);
  });

  test('callers who can authenticate get no warning', () => {
    expect(remarksOn('{ groups: [staff] }', tokens)).toEqual([]);
    expect(remarksOn('{ keys: [ci] }', keys)).toEqual([]);
    expect(remarksOn("{ principals: ['key:ci', alice] }", tokens)).toEqual([]);
  });
});

test('the config summary explains policy, rates and audit', () => {
  const text = `${base}policy: { rules: [{ id: reads, effect: allow, what: [call], on: { tools: [read] } }] }
rates: [{ id: few, per: [principal, tool], perSecond: 2, burst: 4 }]
audit: { to: /var/log/audit.jsonl, keep: 3 }
`;
  const said = describeConfig(configOf(text));
  expect(said).toContain('policy\n  The policy is enforced: everything that no rule allows is denied.');
  expect(said).toContain('  reads: everybody may call, tools read.');
  expect(said).toContain('rates\n  few: everybody may do anything, 2 a second, 4 at once for each principal and tool.');
  expect(said).toContain('audit\n  /var/log/audit.jsonl (64 MiB, then 3 older files)\n  no arguments');
  expect(describeConfig(configOf(base))).toContain('policy\n  none: everything is allowed\naudit\n  none');
});
