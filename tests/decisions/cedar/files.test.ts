/** What is wrong with files is said when they are read; what cannot be meant is a warning of `bascule policy check`. */
import { describe, expect, it } from 'vitest';
import { checkPolicy, testPolicy } from '../../../src/cli/policy-command.ts';
import { verifies } from '../../requirements/verifies.ts';
import { cedarSettings, type Files } from './setup.ts';

const places = { '/mcp': ['files', 'search', 'mail'] };
const permit = 'permit(principal, action == Action::"call_tool", resource == Tool::"a");';
const toolHive = (cedar: object) => JSON.stringify({ version: '1.0', type: 'cedarv1', cedar });

describe('a file is refused', verifies('gateway:policy:cedar'), () => {
  const files: readonly { readonly name: string; readonly files: Files; readonly problem: string }[] = [
    { name: 'that is not there', files: {}, problem: 'there is no such file' },
    {
      name: 'with a mistake in its syntax',
      files: { 'x.cedar': 'permit(principal' },
      problem: 'unexpected end of input',
    },
    {
      name: 'with a template',
      files: { 'x.cedar': 'permit(principal == ?principal, action, resource);' },
      problem: 'templates are not used',
    },
    { name: 'of another authorizer', files: { 'x.cedar': permit, 'y.yaml': 'type: httpv1' }, problem: 'type: cedarv1' },
    { name: 'without policies', files: { 'y.json': toolHive({ policies: [] }) }, problem: '`policies` is not a list' },
    {
      name: 'with claims of another token',
      files: { 'y.json': toolHive({ policies: [permit], primary_upstream_provider: 'x' }) },
      problem: '`primary_upstream_provider` is not supported',
    },
    {
      name: 'with an unknown option',
      files: { 'y.json': toolHive({ policies: [permit], x: 1 }) },
      problem: '`x` is not known',
    },
    {
      name: 'with broken entities',
      files: { 'y.json': toolHive({ policies: [permit], entities_json: '[{"uid":"x"}]' }) },
      problem: 'a `uid` is a type and an id',
    },
    {
      name: 'with two policies of one id',
      files: { 'x.cedar': `@id("a") ${permit} @id("a") ${permit}` },
      problem: 'two policies have the id `a`',
    },
  ];
  it.each(files)('$name', ({ files: given, problem }) => {
    const named = Object.keys(given).length === 0 ? ['missing.cedar'] : Object.keys(given);
    expect(() => cedarSettings(given, { policies: named })).toThrow(problem);
  });
});

function warnings(text: string, entities: readonly object[] = [], issuers = 1): readonly string[] {
  const files = { 'p.cedar': text, 'e.json': JSON.stringify(entities) };
  const policy = cedarSettings(files, { policies: ['p.cedar'], entities: 'e.json' });
  const said: string[] = [];
  checkPolicy({ policy, places, callers: { keys: true, issuers }, say: (line) => void said.push(line) });
  return said.filter((line) => line.startsWith('warning: '));
}

describe('`bascule policy check`', verifies('gateway:policy:cedar'), () => {
  it.each([
    { name: 'an action', text: 'permit(principal, action == Action::"call_tol", resource);', says: 'call_tool' },
    {
      name: 'an attribute of the resource',
      text: 'permit(principal, action, resource) when { resource.nam == "x" };',
      says: 'nam',
    },
    {
      name: 'a hint',
      text: 'permit(principal, action == Action::"call_tool", resource) when { resource has readOnlyHnt && resource.readOnlyHnt };',
      says: 'impossible',
    },
    {
      name: 'a prefix of claims',
      text: 'permit(principal, action, resource) when { principal.clam_roles.contains("x") };',
      says: 'clam_roles',
    },
    { name: 'a type', text: 'permit(principal, action == Action::"call_tool", resource == Tol::"x");', says: 'Tol' },
    {
      name: 'an attribute that is no claim',
      text: 'permit(principal, action, resource) when { principal.roles.contains("x") };',
      says: 'roles',
    },
  ])('finds a mistake in the name of $name', ({ text, says }) => {
    const found = warnings(text);
    expect(found.length).toBeGreaterThan(0);
    expect(found.join('\n')).toContain(says);
  });

  it('finds a resource that the action never has, and a hint that is read where there may be none', () => {
    expect(warnings('permit(principal, action == Action::"get_prompt", resource == Tool::"x");').join()).toContain(
      'impossible',
    );
    const unguarded = 'permit(principal, action == Action::"call_tool", resource) when { resource.readOnlyHint };';
    expect(warnings(unguarded).join()).toContain('readOnlyHint');
  });

  it('has nothing to say of claims, arguments, groups, servers and entities that can be there', () => {
    const entities = [
      { uid: 'THVGroup::"a"', parents: ['THVGroup::"b"'] },
      { uid: 'Tool::"t"', attrs: { owner: 'ann' } },
    ];
    const text = `
      permit(principal in THVGroup::"b", action == Action::"call_tool", resource in MCP::"files");
      permit(principal, action == Action::"call_tool", resource)
        when { resource has owner && principal has claim_sub && resource.owner == principal.claim_sub
          && context has arg_n && context.arg_n <= 5 && principal has claim_roles && principal.claim_roles.contains("x") };
      permit(principal == Key::"ci", action == Action::"read_resource", resource) when { resource.uri like "doc://*" };
      forbid(principal, action == Action::"call_tool", resource) when { resource has readOnlyHint && !resource.readOnlyHint };
      permit(principal, action == Action::"call_tool", resource)
        when { context has arg_sum && context.arg_sum.lessThan(decimal("2.5"))
          && context has claim_address && context.claim_address.country == "DE" };
    `;
    expect(warnings(text, entities)).toEqual([]);
  });

  it.each([
    'context.arg_path like "/etc/*"',
    'resource.arg_path like "/etc/*"',
    'principal.claim_team == "x"',
    'context.claimset_scope.contains("x")',
  ])('finds what is read although it may be absent: %s', (condition) => {
    const text = `forbid(principal, action == Action::"call_tool", resource) when { ${condition} };`;
    expect(warnings(text).join()).toContain('optional attribute');
  });

  it('has nothing to say of the claims that every token has', () => {
    const text = 'permit(principal, action == Action::"call_tool", resource) when { principal.claim_iss == "x" };';
    expect(warnings(text)).toEqual([]);
  });

  it('warns of a client by its name where several issuers are trusted', () => {
    const text = 'permit(principal == Client::"ann", action == Action::"call_tool", resource);';
    expect(warnings(text)).toEqual([]);
    expect(warnings(text, [], 2).join()).toContain('claim_iss');
  });
});

it('`bascule policy test` decides by Cedar too', verifies('gateway:policy:cedar'), () => {
  const policy = cedarSettings({ 'p.cedar': `@id("only-a") ${permit}` });
  const cases = `cases:
  - { name: yes, principal: { subject: ann }, action: call, tool: a, backend: files, expect: allow, rule: "cedar:only-a" }
  - { name: no, principal: { subject: ann }, action: call, tool: b, backend: files, expect: deny, rule: cedar }
  - { name: wrong, principal: { subject: ann }, action: call, tool: b, backend: files, expect: allow }`;
  const said: string[] = [];
  const code = testPolicy({ policy, places, say: (line) => void said.push(line) }, { name: 'cases.yaml', text: cases });
  expect(said).toEqual(['wrong: expected allow, got deny by cedar', '2 of 3 cases as expected']);
  expect(code).toBe(1);
});
