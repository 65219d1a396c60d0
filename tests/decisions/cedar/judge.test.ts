/** Where Cedar alone would allow too much, and what a principal cannot do to its policies. */
import { describe, expect, it } from 'vitest';
import { loadCedar } from '../../../src/decisions/cedar/module.ts';
import { keyPrincipal, type Principal, tokenPrincipal } from '../../../src/identity/principal.ts';
import { call, key, local, token, told } from '../../policy/setup.ts';
import { verifies } from '../../requirements/verifies.ts';
import { cedarPolicy, cedarSettings, decided, effect, policyOfText } from './setup.ts';

const all = 'permit(principal, action, resource);';

describe('an evaluation that fails denies', verifies('gateway:policy:cedar'), () => {
  it('also where it is a forbid that fails, which Cedar skips', () => {
    const policy = policyOfText(`${all} @id("no-x") forbid(principal, action, resource) when { context.arg_x == 1 };`);
    expect(decided(policy, { tool: 't', arguments: { x: 2 } })).toEqual(['allow', 'cedar:p.cedar#0']);
    expect(decided(policy, { tool: 't' })).toEqual(['deny', 'cedar:no-x']);
  });

  it.each([
    { name: 'a number that Cedar cannot hold', arguments: { x: 1e300 } },
    { name: 'an integer that is not exact', arguments: { x: 2 ** 60 } },
    { name: 'half of a character', arguments: { x: '\ud800' } },
    { name: 'half of a character in a name', arguments: { '\ud800': 1 } },
    { name: 'a name of a thousand characters', arguments: { ['x'.repeat(1_000)]: 1 } },
    {
      name: 'a thousand arguments',
      arguments: Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`a${at}`, 1])),
    },
    { name: 'arguments that are no object', arguments: [1] },
  ])('with $name', (given) => {
    expect(effect(policyOfText(all), { tool: 't', ...given })).toBe('deny');
  });

  it.each(['__entity', '__extn', '__expr', '__proto__'])('an argument `%s` is data', (name) => {
    const policy = policyOfText(`permit(principal, action, resource) when { context has "arg_${name}" };`);
    expect(effect(policy, { tool: 't', arguments: JSON.parse(`{"${name}":"x"}`) })).toBe('allow');
  });

  it('a name with half of a character', () => {
    expect(effect(policyOfText(all), { tool: '\udc00' })).toBe('deny');
  });
});

it('a claim cannot make an entity or call a function of Cedar', verifies('gateway:policy:cedar'), () => {
  const policy = policyOfText('permit(principal, action, resource) when { context.claim_x == THVGroup::"chiefs" };');
  const claims = { x: { __entity: { type: 'THVGroup', id: 'chiefs' } } };
  expect(effect(policy, { tool: 't', claims })).toBe('deny');
});

it('a quote in a name, a subject or a group stays in it', verifies('gateway:policy:cedar'), () => {
  const policy = policyOfText('permit(principal == Client::"ann", action, resource in MCP::"files");');
  expect(effect(policy, { tool: 'x", resource == Tool::"y' })).toBe('allow');
  expect(effect(policy, { tool: 't', claims: { sub: 'ann" || true || "' } })).toBe('deny');
  expect(effect(policy, { tool: 't', claims: { sub: 'ben', groups: ['", Client::"ann'] } })).toBe('deny');
});

describe('principals without a subject', verifies('gateway:policy:cedar'), () => {
  const ask = (text: string, principal: typeof local) => {
    const policy = policyOfText(text);
    const question = { principal, endpoint: '/mcp', backend: 'files', thing: { kind: 'tool', name: 't' } as const };
    return policy.shows(question);
  };

  it('a key and the local user have types of their own, which no subject of a token can have', () => {
    expect(ask('permit(principal == Key::"ci", action, resource);', key('ci'))).toBe(true);
    expect(ask('permit(principal == Key::"ci", action, resource);', token({ sub: 'ci' }))).toBe(false);
    expect(ask('permit(principal == Client::"ci", action, resource);', key('ci'))).toBe(false);
    expect(ask('permit(principal == Local::"local", action, resource);', local)).toBe(true);
  });

  it('a client that acts for itself is denied', () => {
    expect(ask(all, token({ client_id: 'app' }))).toBe(false);
  });
});

it('a name in front of the list is not a way round a forbid', verifies('gateway:policy:cedar'), () => {
  const policy = policyOfText(`${all} forbid(principal, action, resource == Tool::"erase");`);
  const shown = (name: string, own: string) =>
    policy.shows({ principal: local, endpoint: '/mcp', backend: 'files', thing: { kind: 'tool', name, own } });
  expect(shown('files__erase', 'erase')).toBe(false);
  expect(shown('files__read', 'read')).toBe(true);
  // A permit is for the name that is listed.
  const permitted = policyOfText('permit(principal, action, resource == Tool::"erase");');
  const thing = { kind: 'tool', name: 'files__erase', own: 'erase' } as const;
  expect(permitted.shows({ principal: local, endpoint: '/mcp', backend: 'files', thing })).toBe(false);
});

it('groups from our own files count as those of a token do', verifies('gateway:policy:cedar'), () => {
  const policy = policyOfText(`${all} forbid(principal in THVGroup::"interns", action, resource);`);
  const ask = (principal: Principal) => told(policy, { ...call('erase'), principal }).split(' ')[0];
  expect(ask(keyPrincipal({ id: 'k1', name: 'ada', scopes: [], groups: ['interns'] }))).toBe('deny');
  expect(ask(keyPrincipal({ id: 'k1', name: 'ada', scopes: [], groups: ['chiefs'] }))).toBe('allow');
  const user = tokenPrincipal({ issuer: 'https://here', claims: { sub: 'bob' }, groups: ['interns'] });
  expect(user && ask(user)).toBe('deny');
});

describe('a resource', verifies('gateway:policy:cedar'), () => {
  it.each([
    'file:///public/../etc/passwd',
    'file:///public/%2e%2e/etc/passwd',
    'file:///public/..%2fetc/passwd',
    'file:///public/..%252fetc/passwd',
    'file:///public\\..\\..\\etc/passwd',
  ])('is not permitted by its spelling: %s', (uri) => {
    const policy = policyOfText('permit(principal, action, resource) when { resource.uri like "file:///public/*" };');
    expect(effect(policy, { uri: 'file:///public/a%20b' })).toBe('allow');
    expect(effect(policy, { uri })).toBe('deny');
  });

  it.each([
    ...['file:///etc/passwd', 'file:///etc/./passwd', 'FILE:///etc/passwd', 'file:///etc/%70asswd'],
    ...['file:/etc/passwd', 'file:///etc/passwd?x', 'file:///etc/passwd#x', 'file:///etc//passwd'],
  ])('is forbidden in every spelling: %s', (uri) => {
    const policy = policyOfText(
      `${all} @id("no") forbid(principal, action, resource == Resource::"file:///etc/passwd");`,
    );
    expect(effect(policy, { uri })).toBe('deny');
    expect(decided(policy, { uri: 'file:///etc/hosts' })).toEqual(['allow', 'cedar:p.cedar#0']);
  });
});

it(
  'a forbid of a name with the backend in front holds where the plain name is listed',
  verifies('gateway:policy:cedar'),
  () => {
    const policy = policyOfText(`${all} forbid(principal, action, resource == Tool::"files__erase");`);
    expect(effect(policy, { tool: 'erase' })).toBe('deny');
    expect(effect(policy, { tool: 'erase', backend: 'mail' })).toBe('allow');
  },
);

it.each([
  { given: 0.999999999, wanted: 'allow' },
  { given: 0.9999999999999999, wanted: 'allow' },
  { given: 1, wanted: 'deny' },
  { given: -0.00001, wanted: 'allow' },
])('the decimals of $given are cut, not rounded', verifies('gateway:policy:cedar'), ({ given, wanted }) => {
  const policy = policyOfText('permit(principal, action, resource) when { context.arg_n.lessThan(decimal("1.0")) };');
  expect(effect(policy, { tool: 't', arguments: { n: given } })).toBe(wanted);
});

it('hints count for backends that are trusted, and only where they are given', verifies('gateway:policy:cedar'), () => {
  const text = 'permit(principal, action, resource) when { resource has readOnlyHint && resource.readOnlyHint };';
  const files = { 'p.cedar': text };
  const trusting = cedarPolicy(cedarSettings(files, { policies: ['p.cedar'] }, { trustAnnotationsOf: ['files'] }));
  const annotations = { readOnlyHint: true };
  expect(trusting.readsAnnotations('files')).toBe(true);
  expect(effect(trusting, { tool: 't', annotations })).toBe('allow');
  expect(effect(trusting, { tool: 't', annotations: {} })).toBe('deny');
  expect(effect(trusting, { tool: 't', annotations, backend: 'mail' })).toBe('deny');
  expect(effect(policyOfText(text), { tool: 't', annotations })).toBe('deny');
});

it('rules and Cedar policies must both allow', verifies('gateway:policy:cedar'), () => {
  const rules = [{ id: 'reads', effect: 'allow', what: ['call'], on: { tools: ['read*'] } }];
  const files = { 'p.cedar': '@id("a") permit(principal, action, resource) unless { resource.name like "*secret*" };' };
  const policy = cedarPolicy(cedarSettings(files, { policies: ['p.cedar'] }, { rules }));
  expect(decided(policy, { tool: 'read' })).toEqual(['allow', 'reads', 'cedar:a']);
  expect(decided(policy, { tool: 'read_secret' })).toEqual(['deny', 'cedar']);
  expect(decided(policy, { tool: 'write' })).toEqual(['deny']);
});

it(
  'in audit mode Cedar denies nothing, and the ruling says what it would have denied',
  verifies('gateway:policy:cedar'),
  () => {
    const files = { 'p.cedar': '@id("no") forbid(principal, action, resource);' };
    const policy = cedarPolicy(cedarSettings(files, { policies: ['p.cedar'] }, { mode: 'audit' }));
    const verdict = policy.decide(call('t'));
    expect(verdict.ruling).toMatchObject({ wouldDeny: ['cedar:no'] });
    expect(told(policy, call('t'))).toBe('allow');
  },
);

it('more configs than Cedar has ids each keep their own policies', verifies('gateway:policy:cedar'), () => {
  const policies = Array.from({ length: 9 }, (_, at) =>
    policyOfText(`permit(principal, action, resource == Tool::"t${at}");`),
  );
  for (const [at, policy] of policies.entries()) {
    expect(effect(policy, { tool: `t${at}` })).toBe('allow');
    expect(effect(policy, { tool: `t${at + 1}` })).toBe('deny');
  }
});

it(
  'a token that is verified again finds the decisions for lists; other claims do not',
  verifies('gateway:policy:cedar'),
  () => {
    let evaluations = 0;
    const cedar = loadCedar();
    const counted = {
      ...cedar,
      statefulIsAuthorized: (question: Parameters<typeof cedar.statefulIsAuthorized>[0]) => {
        evaluations += 1;
        return cedar.statefulIsAuthorized(question);
      },
    };
    const policy = cedarPolicy(cedarSettings({ 'p.cedar': all }, { policies: ['p.cedar'] }), counted);
    const see = (principal: Principal) =>
      policy.shows({ principal, endpoint: '/mcp', backend: 'files', thing: { kind: 'tool', name: 't' } });
    for (const claims of [{ sub: 'ann' }, { sub: 'ann' }]) expect(see(token(claims))).toBe(true);
    expect(evaluations).toBe(1);
    for (const principal of [token({ sub: 'ben' }), token({ sub: 'ann', role: 'x' }), key('ann')]) see(principal);
    expect(evaluations).toBe(4);
  },
);
