/**
 * A Cedar schema of what the gateway tells Cedar, made for a set of policies. Validating the policies against it finds
 * misspelt actions, types and attributes, which Cedar otherwise takes for conditions that never hold.
 */
import type { EntityType, SchemaJson } from '@cedar-policy/cedar-wasm/nodejs';
import { hintNames } from '../../policy/rules.ts';
import { isObject } from '../../wire/values.ts';
import { type Attributes, attributesIn, type CedarType, type Variable } from './attributes.ts';
import type { CedarModule } from './module.ts';
import { conditionsOf } from './policies.ts';
import type { CedarEntity, CedarSettings } from './settings.ts';

type Shape = Record<string, CedarType & { required?: boolean }>;

const text: CedarType = { type: 'String' };
const kinds = ['Tool', 'Prompt', 'Resource'] as const;
const uses = { Tool: 'call_tool', Prompt: 'get_prompt', Resource: 'read_resource' } as const;
/** ToolHive has names for them, and never asks about them. */
const lists = ['list_tools', 'list_prompts', 'list_resources'] as const;

export interface CedarRemark {
  readonly policy: string;
  readonly text: string;
}

/**
 * What is wrong with policies that can be read: they never apply, or fail when they do. `hasIssuers`: tokens of several
 * issuers are trusted.
 */
export function reviewCedar(settings: CedarSettings, cedar: CedarModule, hasIssuers: boolean): readonly CedarRemark[] {
  return [...invalid(settings, cedar), ...(hasIssuers ? ambiguous(settings) : [])];
}

/** A subject is a name at its issuer: the same subject of another issuer is another person. */
function ambiguous({ policies }: CedarSettings): readonly CedarRemark[] {
  const named = policies.filter((policy) => policy.text.includes('Client::') && !policy.text.includes('claim_iss'));
  const remark = 'names a client, and several issuers are trusted: compare `principal.claim_iss` too';
  return named.map(({ id }) => ({ policy: id, text: remark }));
}

function invalid(settings: CedarSettings, cedar: CedarModule): readonly CedarRemark[] {
  const staticPolicies = Object.fromEntries(settings.policies.map(({ id, text: policy }) => [id, policy]));
  const answer = cedar.validate({ schema: schemaFor(settings, cedar), policies: { staticPolicies } });
  if (answer.type === 'failure')
    return answer.errors.map(({ message }) => ({ policy: 'all policies', text: `cannot be checked: ${message}` }));
  return [...answer.validationErrors, ...answer.validationWarnings].map(({ policyId, error }) => ({
    policy: policyId,
    text: [error.message.replace(/^for policy `[^`]*`, /, ''), error.help].filter(Boolean).join('; '),
  }));
}

export function schemaFor(settings: CedarSettings, cedar: CedarModule): SchemaJson<string> {
  const { policies, entities, groupType } = settings;
  const read = attributesIn(conditionsOf(policies, cedar));
  const named = (type: string) => policies.some((policy) => policy.text.includes(`${type}::`));
  const principals = ['Client', ...['Key', 'Local'].filter(named)];
  const always = principals.length === 1 ? claimsOfAllTokens : [];
  const configured = [...new Set(entities.map(({ uid }) => uid.type))];
  const parents = [...new Set(['MCP', groupType, ...configured])];
  const entityTypes: Record<string, EntityType<string>> = Object.fromEntries(
    [...parents, 'FeatureType'].map((type) => [
      type,
      { memberOfTypes: parents, shape: shapeOf(ofEntities(entities, type)) },
    ]),
  );
  for (const type of principals)
    entityTypes[type] = {
      memberOfTypes: parents,
      shape: shapeOf({ ...ofEntities(entities, type), ...dynamic(read, 'principal', always) }),
    };
  for (const type of kinds)
    entityTypes[type] = {
      memberOfTypes: parents,
      shape: shapeOf({ ...ofEntities(entities, type), ...dynamic(read, 'resource', always), ...fixed(type) }),
    };
  const context = shapeOf(dynamic(read, 'context', always));
  const on = (resourceTypes: string[]) => ({ appliesTo: { principalTypes: principals, resourceTypes, context } });
  return {
    '': {
      entityTypes,
      actions: {
        ...Object.fromEntries(kinds.map((kind) => [uses[kind], on([kind])])),
        ...Object.fromEntries(lists.map((list) => [list, on(['FeatureType'])])),
      },
    },
  };
}

/** Keys and the local user have no claims at all. */
const claimsOfAllTokens: readonly string[] = ['claim_sub', 'claim_iss'];

/**
 * Only these names are made of what clients and issuers send. Any other name is one of ours, or a mistake. `always`: the
 * attributes that are never absent. A policy that reads any other without `has` fails, and so denies.
 */
function dynamic(attributes: Attributes, variable: Variable, always: readonly string[]): Shape {
  const prefixes =
    variable === 'principal'
      ? ['claim_', 'claimset_']
      : ['arg_', ...(variable === 'context' ? ['claim_', 'claimset_'] : [])];
  const sent = [...(attributes.get(variable) ?? [])].filter(([name]) => prefixes.some((one) => name.startsWith(one)));
  return Object.fromEntries(sent.map(([name, type]) => [name, { ...type, required: always.includes(name) }]));
}

function fixed(type: (typeof kinds)[number]): Shape {
  const own: Shape = { name: text, operation: text, feature: text, ...(type === 'Resource' && { uri: text }) };
  if (type !== 'Tool') return own;
  // A policy that reads a hint without `has` fails, and so denies, where a server gives none.
  return { ...own, ...Object.fromEntries(hintNames.map((name) => [name, { type: 'Boolean', required: false }])) };
}

/** The attributes of configured entities. One entity may lack what another has. */
function ofEntities(entities: readonly CedarEntity[], type: string): Shape {
  const all = entities.filter(({ uid }) => uid.type === type).flatMap(({ attrs }) => Object.entries(attrs));
  return Object.fromEntries(all.map(([name, value]) => [name, { ...typeOf(value), required: false }]));
}

function typeOf(value: unknown): CedarType {
  if (typeof value === 'boolean') return { type: 'Boolean' };
  if (typeof value === 'number') return { type: 'Long' };
  if (Array.isArray(value)) return { type: 'Set', element: typeOf(value[0]) };
  if (!isObject(value)) return text;
  const { __entity: entity, __extn: extension } = value;
  if (isObject(entity)) return { type: 'Entity', name: String(entity.type) };
  if (isObject(extension)) return { type: 'Extension', name: String(extension.fn) };
  return shapeOf(Object.fromEntries(Object.entries(value).map(([name, member]) => [name, typeOf(member)])));
}

function shapeOf(attributes: Shape): CedarType {
  return { type: 'Record', attributes };
}
