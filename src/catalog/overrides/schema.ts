/**
 * A tool's input schema without the arguments that the config fixes, and with those optional that have a default. What
 * is not about these arguments stays byte for byte.
 */
import { ambiguousMember } from '../../wire/ambiguity.ts';
import { concat, type Raw, rewrite } from '../../wire/compose.ts';
import type { Member, ObjectSpan, Span } from '../../wire/message.ts';
import { elementsAt, membersAt } from '../../wire/skim.ts';
import { isObject, member, slice, stringAt, valueAt } from '../../wire/values.ts';
import type { ArgumentOverride } from './settings.ts';
import { valueFault } from './value-fault.ts';

/** Why the overrides do not fit the schema. */
export interface Misfit {
  readonly misfit: string;
}

/** Keywords beside `properties` and `required` that say of an object which members it has. */
const conditional = ['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'dependentRequired'] as const;
const conditions: readonly string[] = [...conditional, 'dependentSchemas', 'dependencies'];

/** Deeper schemas are not searched: no tool has them, and a server must not exhaust our stack. */
const DEPTH = 64;

export function overriddenSchema(
  bytes: Uint8Array,
  span: Span,
  overrides: readonly ArgumentOverride[],
): Uint8Array | Misfit {
  const schema = membersAt(bytes, span);
  const value = valueAt(bytes, span);
  if (schema === undefined || !isObject(value)) return { misfit: 'its input schema is no object' };
  const twin = ambiguousMember(schema, 'properties') ?? ambiguousMember(schema, 'required');
  if (twin !== undefined) return { misfit: `its input schema is ambiguous: ${twin}` };
  const at = member(schema, 'properties');
  const properties = at && membersAt(bytes, at);
  if (properties === undefined) return { misfit: 'its input schema has no `properties`' };
  const set: Record<string, Raw> = {};
  const fixed = new Set<string>();
  for (const override of overrides) {
    const { argument, isFixed } = override;
    const property = member(properties, argument);
    const misfit =
      property === undefined
        ? `it has no argument \`${argument}\``
        : misfitOf(override, properties, value, valueAt(bytes, property));
    if (misfit !== undefined || property === undefined) return { misfit: misfit ?? '' };
    if (isFixed) fixed.add(argument);
    else set[argument] = withDefault(bytes, property, override.value);
  }
  const left = rewrite(bytes, properties, { drop: (key) => fixed.has(key), set });
  const required = member(schema, 'required');
  const still = required && withoutNames(bytes, required, new Set(overrides.map(({ argument }) => argument)));
  return rewrite(bytes, schema, {
    drop: (key) => key === 'required',
    set: { properties: left, ...(still !== undefined && { required: still }) },
  });
}

function misfitOf(
  { argument, value, isFixed }: ArgumentOverride,
  properties: ObjectSpan,
  schema: Record<string, unknown>,
  property: unknown,
): string | undefined {
  const twin = ambiguousMember(properties, argument);
  if (twin !== undefined) return `its input schema is ambiguous: ${twin}`;
  const fault = valueFault(property, value);
  if (fault !== undefined) return `the value for \`${argument}\` is not valid there: ${fault}`;
  if (!isFixed) return undefined;
  const keyword = conditions.find((one) => Object.hasOwn(schema, one) && mentions(schema[one], argument, DEPTH));
  return keyword === undefined ? undefined : `\`${keyword}\` of its input schema depends on \`${argument}\``;
}

/** Whether the name occurs as a member or as a text. Beyond the depth it may. */
function mentions(value: unknown, name: string, depth: number): boolean {
  if (value === name || depth === 0) return true;
  if (Array.isArray(value)) return value.some((item) => mentions(item, name, depth - 1));
  if (!isObject(value)) return false;
  return Object.hasOwn(value, name) || Object.values(value).some((item) => mentions(item, name, depth - 1));
}

/** A schema that is `true` has no place for a default. */
function withDefault(bytes: Uint8Array, property: Member, value: unknown): Raw {
  const object = membersAt(bytes, property);
  return object === undefined
    ? slice(bytes, property)
    : rewrite(bytes, object, { set: { default: JSON.stringify(value) } });
}

/** Undefined where nothing is left, or where it is no list. */
function withoutNames(bytes: Uint8Array, span: Span, names: ReadonlySet<string>): Raw | undefined {
  const kept = (elementsAt(bytes, span) ?? []).filter((one) => !names.has(stringAt(bytes, one) ?? ''));
  if (kept.length === 0) return undefined;
  return concat(['[', ...kept.flatMap((one) => [',', slice(bytes, one)]).slice(1), ']']);
}
