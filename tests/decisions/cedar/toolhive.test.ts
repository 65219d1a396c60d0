/**
 * The forms of policies that ToolHive documents, each with cases on both sides. The policies are our own, in those
 * forms: https://github.com/stacklok/toolhive/blob/main/docs/authz.md
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { type Asked, cedarPolicy, cedarSettings, effect } from './setup.ts';

interface Form {
  readonly form: string;
  readonly policies: readonly string[];
  readonly entities?: readonly object[];
  readonly options?: Readonly<Record<string, unknown>>;
  readonly allow: readonly Asked[];
  readonly deny: readonly Asked[];
}

const callTool = 'action == Action::"call_tool"';

const forms: readonly Form[] = [
  {
    form: 'one tool',
    policies: [`permit(principal, ${callTool}, resource == Tool::"forecast");`],
    allow: [{ tool: 'forecast' }, { tool: 'forecast', arguments: { place: 'Ulm' } }],
    deny: [{ tool: 'alerts' }, { prompt: 'forecast' }, { uri: 'forecast' }],
  },
  {
    form: 'one prompt',
    policies: ['permit(principal, action == Action::"get_prompt", resource == Prompt::"welcome");'],
    allow: [{ prompt: 'welcome' }],
    deny: [{ prompt: 'goodbye' }, { tool: 'welcome' }],
  },
  {
    form: 'one resource, by its exact URI',
    policies: [
      'permit(principal, action == Action::"read_resource", resource == Resource::"numbers");',
      'permit(principal, action == Action::"read_resource", resource == Resource::"file:///srv/a?b#c");',
    ],
    allow: [{ uri: 'numbers' }, { uri: 'file:///srv/a?b#c' }],
    deny: [{ uri: 'file:///srv/a' }, { uri: 'file___srv_a_b_c' }],
  },
  {
    form: 'one client, every tool',
    policies: [`permit(principal == Client::"ann", ${callTool}, resource);`],
    allow: [{ tool: 'anything' }],
    deny: [{ tool: 'anything', claims: { sub: 'ben' } }, { prompt: 'anything' }],
  },
  {
    form: 'a role in the claims',
    policies: [`permit(principal, ${callTool}, resource) when { principal.claim_roles.contains("chief") };`],
    allow: [{ tool: 'x', claims: { roles: ['chief', 'staff'] } }],
    deny: [{ tool: 'x', claims: { roles: ['staff'] } }, { tool: 'x' }, { tool: 'x', claims: { roles: 'chief' } }],
  },
  {
    form: 'values of an argument, at the resource',
    policies: [
      `permit(principal, ${callTool}, resource == Tool::"sum") when { resource.arg_mode == "plus" || resource.arg_mode == "minus" };`,
    ],
    allow: [
      { tool: 'sum', arguments: { mode: 'plus' } },
      { tool: 'sum', arguments: { mode: 'minus', of: [1] } },
    ],
    deny: [
      { tool: 'sum', arguments: { mode: 'power' } },
      { tool: 'sum' },
      { tool: 'sum', arguments: { mode: ['plus'] } },
    ],
  },
  {
    form: 'values of an argument, in the context',
    policies: [`permit(principal, ${callTool}, resource) when { context.arg_city == "Ulm" };`],
    allow: [{ tool: 'x', arguments: { city: 'Ulm' } }],
    deny: [{ tool: 'x', arguments: { city: 'Bonn' } }, { tool: 'x' }],
  },
  {
    form: 'a claim, at the principal and in the context',
    policies: [
      `permit(principal, ${callTool}, resource == Tool::"a") when { principal.claim_name == "Ann Ash" };`,
      `permit(principal, ${callTool}, resource == Tool::"b") when { context.claim_name == "Ann Ash" };`,
    ],
    allow: [
      { tool: 'a', claims: { name: 'Ann Ash' } },
      { tool: 'b', claims: { name: 'Ann Ash' } },
    ],
    deny: [{ tool: 'a', claims: { name: 'Ben' } }, { tool: 'b' }],
  },
  {
    form: 'a claim compared with an argument',
    policies: [
      `permit(principal, ${callTool}, resource == Tool::"reports") when { principal.claim_roles.contains("analyst") && resource.arg_level <= principal.claim_clearance };`,
    ],
    allow: [{ tool: 'reports', claims: { roles: ['analyst'], clearance: 3 }, arguments: { level: 3 } }],
    deny: [
      { tool: 'reports', claims: { roles: ['analyst'], clearance: 3 }, arguments: { level: 4 } },
      { tool: 'reports', claims: { roles: ['clerk'], clearance: 3 }, arguments: { level: 1 } },
      { tool: 'reports', claims: { roles: ['analyst'], clearance: 3 }, arguments: { level: '1' } },
      { tool: 'reports', claims: { roles: ['analyst'] }, arguments: { level: 1 } },
    ],
  },
  {
    form: 'decimals, as the gateway of the same policies compares numbers',
    policies: [`permit(principal, ${callTool}, resource) when { context.arg_sum.lessThan(decimal("100.0")) };`],
    allow: [
      { tool: 'pay', arguments: { sum: 99 } },
      { tool: 'pay', arguments: { sum: 99.9999 } },
    ],
    deny: [
      { tool: 'pay', arguments: { sum: 100 } },
      { tool: 'pay', arguments: { sum: 1e18 } },
    ],
  },
  {
    form: 'attributes of configured entities',
    policies: [
      `permit(principal, ${callTool}, resource) when { resource.owner == principal.claim_sub };`,
      'permit(principal, action == Action::"get_prompt", resource) when { resource.visibility == "public" };',
    ],
    entities: [
      { uid: 'Tool::deploy', attrs: { owner: 'ann' } },
      { uid: { type: 'Tool', id: 'build' }, attrs: { owner: 'ben' }, parents: [] },
      { uid: 'Prompt::"hello"', attrs: { visibility: 'public' } },
    ],
    allow: [{ tool: 'deploy' }, { prompt: 'hello' }],
    deny: [{ tool: 'build' }, { tool: 'unknown' }, { prompt: 'other' }],
  },
  {
    form: 'a forbid that overrides a permit',
    policies: [
      'permit(principal, action, resource);',
      `forbid(principal, ${callTool}, resource == Tool::"erase") unless { principal in THVGroup::"chiefs" };`,
    ],
    allow: [{ tool: 'x' }, { tool: 'erase', claims: { groups: ['chiefs'] } }],
    deny: [{ tool: 'erase' }, { tool: 'erase', claims: { groups: 'chiefs' } }],
  },
  {
    form: 'groups from a claim that is named, and a hierarchy',
    policies: [`permit(principal in Team::"all", ${callTool}, resource);`],
    entities: [{ uid: 'Team::"blue"', parents: ['Team::"all"'] }, { uid: 'Team::"all"' }],
    options: { group_claim_name: 'org.teams', role_claim_name: 'jobs', group_entity_type: 'Team' },
    allow: [
      { tool: 'x', claims: { org: { teams: ['blue'] } } },
      { tool: 'x', claims: { 'org.teams': ['blue'] } },
      { tool: 'x', claims: { jobs: ['all'] } },
    ],
    deny: [
      { tool: 'x', claims: { groups: ['all'] } },
      { tool: 'x', claims: { org: { teams: ['green'] } } },
    ],
  },
  {
    form: 'the tools of one server',
    policies: [`permit(principal, ${callTool}, resource in MCP::"files");`],
    allow: [{ tool: 'x', backend: 'files' }],
    deny: [{ tool: 'x', backend: 'mail' }],
  },
  {
    form: 'a claim with several values as a set',
    policies: [`permit(principal, ${callTool}, resource) when { principal.claimset_scp.contains("Mail.Read") };`],
    options: { multi_valued_claims: ['scp'] },
    allow: [
      { tool: 'x', claims: { scp: 'Mail.Read Files.Read' } },
      { tool: 'x', claims: { scp: ['Mail.Read'] } },
    ],
    deny: [{ tool: 'x', claims: { scp: 'Mail.ReadWrite' } }, { tool: 'x' }],
  },
  {
    form: 'the presence of a value that is no scalar',
    policies: [`permit(principal, ${callTool}, resource) unless { context has arg_files_present };`],
    allow: [{ tool: 'x', arguments: { files: 'one' } }],
    deny: [
      { tool: 'x', arguments: { files: ['one'] } },
      { tool: 'x', arguments: { files: {}, files_present: false } },
    ],
  },
];

describe.each(forms)('$form', ({ policies, entities = [], options, allow, deny }) => {
  const cedar = { policies, entities_json: JSON.stringify(entities), ...options };
  const file = JSON.stringify({ version: '1.0', type: 'cedarv1', cedar });
  const policy = cedarPolicy(cedarSettings({ 'authz.json': file }));

  it.each(allow)('allows %j', verifies('gateway:policy:cedar'), (given) => {
    expect(effect(policy, given)).toBe('allow');
  });

  it.each(deny)('denies %j', verifies('gateway:policy:cedar'), (given) => {
    expect(effect(policy, given)).toBe('deny');
  });
});
