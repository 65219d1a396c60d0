/** Reads `policy.cedar`: files of Cedar text, ToolHive's own files, and entities. */
import { basename, extname } from 'node:path';
import { parse } from 'yaml';
import * as z from 'zod';
import { type CedarModule, loadCedar } from '../decisions/cedar/module.ts';
import { readPolicies } from '../decisions/cedar/policies.ts';
import type { CedarEntity, CedarPolicy, CedarSettings, CedarUid } from '../decisions/cedar/settings.ts';
import { isObject } from '../wire/values.ts';
import type { ConfigDocument, Path } from './document.ts';
import type { Variables } from './expand.ts';
import { check } from './issues.ts';
import { listOf } from './policy-shapes.ts';
import * as shape from './shapes.ts';

const GROUP_TYPE = 'THVGroup';
/** Cedar evaluates every policy for every decision: a thousand take four milliseconds. */
const MOST_POLICIES = 1_000;

const entityType = shape.text('the name of a Cedar type, without a namespace', /^[A-Za-z_][A-Za-z0-9_]*$/);

const cedarShape = shape.once(() =>
  shape.closed('a map with `policies`', {
    policies: listOf(shape.oneLine, 'files'),
    entities: shape.oneLine.exactOptional(),
    groupClaim: shape.oneLine.exactOptional(),
    roleClaim: shape.oneLine.exactOptional(),
    groupType: entityType.exactOptional(),
    setClaims: z.array(shape.oneLine, { error: 'a list of claims' }).exactOptional(),
  }),
);

type Draft = Omit<CedarSettings, 'policies' | 'entities' | 'groupType' | 'setClaims'> &
  Partial<Pick<CedarSettings, 'groupType' | 'setClaims'>>;

/** What one file brings. */
interface ReadFile extends Draft {
  readonly policies: readonly CedarPolicy[];
  readonly entities: readonly CedarEntity[];
}

export function readCedar(
  document: ConfigDocument,
  path: Path,
  value: unknown,
  { readFile }: Variables,
): CedarSettings | undefined {
  const draft = value === undefined ? undefined : check(document, path, value, cedarShape());
  if (draft === undefined) return undefined;
  const cedar = loadCedar();
  const read = <T>(place: Path, file: string, use: (text: string) => T): T | undefined => {
    try {
      const text = readFile?.(file);
      if (text === undefined) throw new Error('there is no such file');
      return use(text);
    } catch (error) {
      const message = `${file}: ${error instanceof Error ? error.message : String(error)}`;
      document.report(place, { message, expected: 'a file that can be read' });
      return undefined;
    }
  };
  const files = draft.policies.flatMap((file, at) => {
    const found = read([...path, 'policies', at], file, (text) => fileOf(file, text, cedar));
    return found === undefined ? [] : [found];
  });
  const named = draft.entities;
  const configured =
    named === undefined ? [] : (read([...path, 'entities'], named, (text) => entitiesIn(text, cedar)) ?? []);
  const policies = files.flatMap((file) => file.policies);
  if (policies.length > MOST_POLICIES)
    document.report([...path, 'policies'], {
      message: `there are ${policies.length} policies`,
      expected: `at most ${MOST_POLICIES}`,
    });
  checkIds(document, path, policies);
  const { policies: _files, entities: _entities, ...own } = draft;
  const first = <K extends keyof Draft>(key: K) =>
    own[key as keyof typeof own] ?? files.find((file) => file[key] !== undefined)?.[key];
  return {
    policies,
    entities: [...files.flatMap((file) => file.entities), ...configured],
    groupClaim: first('groupClaim') as string | undefined,
    roleClaim: first('roleClaim') as string | undefined,
    groupType: (first('groupType') as string | undefined) ?? GROUP_TYPE,
    setClaims: (first('setClaims') as readonly string[] | undefined) ?? [],
  };
}

function checkIds(document: ConfigDocument, path: Path, policies: readonly CedarPolicy[]): void {
  const ids = policies.map(({ id }) => id);
  const twice = ids.find((id, at) => ids.indexOf(id) !== at);
  if (twice === undefined) return;
  const message = `two policies have the id \`${twice}\``;
  document.report([...path, 'policies'], { message, expected: 'unique ids: audit records refer to them' });
}

function fileOf(file: string, text: string, cedar: CedarModule): ReadFile {
  const isCedar = !['.yaml', '.yml', '.json'].includes(extname(file).toLowerCase());
  if (isCedar) return { policies: valid([text], file, cedar), entities: [] };
  return toolHiveFile(file, parse(text), cedar);
}

/** ToolHive's `--authz-config`. What is not here would be ignored silently, so it is refused. */
function toolHiveFile(file: string, value: unknown, cedar: CedarModule): ReadFile {
  if (!isObject(value) || value.type !== 'cedarv1' || !isObject(value.cedar))
    throw new Error('neither Cedar text (.cedar) nor a file with `type: cedarv1` and `cedar`');
  const { policies, entities_json: entities = '[]', group_claim_name: groupClaim, ...rest } = value.cedar;
  const { role_claim_name: roleClaim, group_entity_type: groupType, multi_valued_claims: setClaims, ...unknown } = rest;
  if (unknown.primary_upstream_provider !== undefined)
    throw new Error(
      '`primary_upstream_provider` is not supported: claims are those of the token that the client presents',
    );
  const [other] = Object.keys(unknown);
  if (other !== undefined) throw new Error(`\`${other}\` is not known`);
  if (!isTexts(policies) || policies.length === 0) throw new Error('`policies` is not a list of texts');
  return {
    policies: valid(policies, file, cedar),
    entities: entitiesIn(String(entities), cedar),
    ...(typeof groupClaim === 'string' && groupClaim !== '' && { groupClaim }),
    ...(typeof roleClaim === 'string' && roleClaim !== '' && { roleClaim }),
    ...(typeof groupType === 'string' && groupType !== '' && { groupType }),
    ...(isTexts(setClaims) && { setClaims }),
  };
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

function valid(texts: readonly string[], file: string, cedar: CedarModule): readonly CedarPolicy[] {
  const { policies, problems } = readPolicies(texts, basename(file), cedar);
  if (problems.length > 0) throw new Error(problems.join('; '));
  return policies;
}

function entitiesIn(text: string, cedar: CedarModule): readonly CedarEntity[] {
  const value: unknown = JSON.parse(text);
  if (!Array.isArray(value)) throw new Error('entities are not a list');
  const entities = value.map((item): CedarEntity => {
    const { uid, attrs = {}, parents = [] } = isObject(item) ? item : {};
    if (!isObject(attrs) || !Array.isArray(parents)) throw new Error('an entity has `uid`, `attrs` and `parents`');
    return { uid: uidOf(uid), attrs, parents: parents.map(uidOf) };
  });
  const answer = cedar.checkParseEntities({ entities: entities as never });
  if (answer.type === 'failure') throw new Error(answer.errors.map(({ message }) => message).join('; '));
  return entities;
}

/** `{"type": "Tool", "id": "weather"}`, the same under `__entity`, or `Tool::weather` with or without quotes. */
function uidOf(value: unknown): CedarUid {
  const given = isObject(value) && isObject(value.__entity) ? value.__entity : value;
  if (isObject(given) && typeof given.type === 'string' && typeof given.id === 'string')
    return { type: given.type, id: given.id };
  const [, type, quoted, bare] =
    /^([A-Za-z_]\w*)::(?:"(.*)"|(.*))$/s.exec(typeof given === 'string' ? given : '') ?? [];
  const id = quoted ?? bare;
  if (type === undefined || id === undefined) throw new Error('a `uid` is a type and an id');
  return { type, id };
}
