/**
 * Principals, tools, prompts and resources as Cedar entities, with the types, actions and attributes that ToolHive's
 * policies are written for.
 */
import type { Claims, Principal } from '../../identity/principal.ts';
import type { ThingKind } from '../../policy/actions.ts';
import { hintNames } from '../../policy/rules.ts';
import { isObject } from '../../wire/values.ts';
import type { CedarEntity, CedarSettings, CedarUid } from './settings.ts';
import { cedarValue, isWellFormed, record } from './values.ts';

interface CedarTarget {
  readonly type: 'Tool' | 'Prompt' | 'Resource';
  readonly action: string;
  readonly operation: string;
}

/** A template is read as the resource that is named like it: no more exact answer exists before it is filled in. */
const targets: Readonly<Partial<Record<ThingKind, CedarTarget>>> = {
  tool: { type: 'Tool', action: 'call_tool', operation: 'call' },
  prompt: { type: 'Prompt', action: 'get_prompt', operation: 'get' },
  resource: { type: 'Resource', action: 'read_resource', operation: 'read' },
  template: { type: 'Resource', action: 'read_resource', operation: 'read' },
};

export function targetOf(kind: ThingKind | undefined): CedarTarget | undefined {
  return kind === undefined ? undefined : targets[kind];
}

/** What Cedar is told of a principal. */
export interface CedarPrincipal {
  readonly entity: CedarEntity;
  /** `claim_*`, again in the context. */
  readonly claims: Readonly<Record<string, unknown>>;
}

const usualGroups = ['groups', 'roles', 'cognito:groups'];

/** Whether whole numbers in this attribute are decimals. */
export type IsDecimal = (attribute: string) => boolean;

/**
 * Undefined for a token without a subject. Keys and the local user have types of their own: a token's subject could
 * have the same text.
 */
export function cedarPrincipal(
  { kind, subject, keyName, groups, claims }: Principal,
  settings: CedarSettings,
  isDecimal: IsDecimal,
): CedarPrincipal | undefined {
  if (kind === 'token' && subject === undefined) return undefined;
  const uid: CedarUid =
    kind === 'token'
      ? { type: 'Client', id: subject ?? '' }
      : { type: kind === 'key' ? 'Key' : 'Local', id: keyName ?? kind };
  const attrs = { ...claimAttributes(claims, settings, isDecimal) };
  // Those of our own files, or else of the token, as in rules.
  const named = groups === undefined ? groupsIn(claims, settings) : wordsIn(groups);
  const parents = named.map((id) => ({ type: settings.groupType, id }));
  return { entity: { uid, attrs, parents }, claims: attrs };
}

function claimAttributes(claims: Claims, { setClaims }: CedarSettings, isDecimal: IsDecimal): Record<string, unknown> {
  const plain = record(Object.entries(claims), (value, name) =>
    setClaims.includes(name) ? wordsOf(value).join(' ') : cedarValue(value, isDecimal(`claim_${name}`)),
  );
  const sets = setClaims.flatMap((name) => (name in claims ? [[`claimset_${name}`, wordsOf(claims[name])]] : []));
  return { ...prefixed('claim_', plain), ...Object.fromEntries(sets) };
}

/** A list of texts, or one text of words. */
function wordsOf(value: unknown): readonly string[] {
  const words = typeof value === 'string' ? value.split(/\s+/) : Array.isArray(value) ? value : [];
  return words.filter((word): word is string => typeof word === 'string' && word !== '' && isWellFormed(word));
}

/** Lists of texts only. A dot in the name of a claim is part of it, or else leads to a member. */
function groupsIn(claims: Claims, { groupClaim, roleClaim }: CedarSettings): readonly string[] {
  const listAt = (name: string) => {
    const value = Object.hasOwn(claims, name) ? claims[name] : name.split('.').reduce(memberOf, claims);
    return Array.isArray(value) ? wordsIn(value) : undefined;
  };
  const names = groupClaim === undefined ? usualGroups : [groupClaim];
  const groups = names.map(listAt).find((list) => list !== undefined) ?? [];
  return [...new Set([...groups, ...((roleClaim && listAt(roleClaim)) || [])])];
}

function memberOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

function wordsIn(list: readonly unknown[]): readonly string[] {
  return list.filter((item): item is string => typeof item === 'string' && isWellFormed(item));
}

/**
 * Scalars as they are. Of a list, a map and null only that they are there: `arg_<name>_present`. Undefined where Cedar
 * has no value for one of them: a policy must not take it for an argument that is not there.
 */
export function argumentAttributes(
  given: Readonly<Record<string, unknown>>,
  isDecimal: IsDecimal,
): Readonly<Record<string, unknown>> | undefined {
  const attributes = new Map<string, unknown>();
  const markers: string[] = [];
  for (const [name, value] of Object.entries(given)) {
    if (['string', 'boolean', 'number'].includes(typeof value)) {
      const converted = cedarValue(value, isDecimal(`arg_${name}`));
      if (converted === undefined) return undefined;
      attributes.set(`arg_${name}`, converted);
    } else markers.push(`arg_${name}_present`);
  }
  // Last, so that an argument `x_present` cannot say that there is no `x`.
  for (const marker of markers) attributes.set(marker, true);
  return Object.fromEntries(attributes);
}

/** The hints that the backend has given itself, where it is trusted. */
export function hintAttributes(annotations: unknown): Record<string, unknown> {
  if (!isObject(annotations)) return {};
  return Object.fromEntries(
    hintNames.flatMap((name) => (typeof annotations[name] === 'boolean' ? [[name, annotations[name]]] : [])),
  );
}

export function resourceEntity(
  target: CedarTarget,
  name: string,
  backend: string,
  attributes: Readonly<Record<string, unknown>>,
): CedarEntity {
  const feature = target.type.toLowerCase();
  const own = { name, operation: target.operation, feature, ...(feature === 'resource' && { uri: name }) };
  return {
    uid: { type: target.type, id: name },
    attrs: { ...attributes, ...own },
    parents: backend === '' ? [] : [{ type: 'MCP', id: backend }],
  };
}

/** Configured entities, and those of the request: where both have the same, what the request says counts. */
export class EntityStore {
  readonly #configured: ReadonlyMap<string, CedarEntity>;

  constructor(entities: readonly CedarEntity[]) {
    this.#configured = new Map(entities.map((entity) => [keyOf(entity.uid), entity]));
  }

  with(own: readonly CedarEntity[]): readonly CedarEntity[] {
    const keys = new Set(own.map(({ uid }) => keyOf(uid)));
    const others = [...this.#configured].flatMap(([key, entity]) => (keys.has(key) ? [] : [entity]));
    return [...others, ...own.map((entity) => this.#joined(entity))];
  }

  #joined(entity: CedarEntity): CedarEntity {
    const configured = this.#configured.get(keyOf(entity.uid));
    if (configured === undefined) return entity;
    const { uid, attrs, parents } = entity;
    return { uid, attrs: { ...configured.attrs, ...attrs }, parents: [...configured.parents, ...parents] };
  }
}

function keyOf({ type, id }: CedarUid): string {
  return `${type}::${id}`;
}

function prefixed(prefix: string, members: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [`${prefix}${name}`, value]));
}
