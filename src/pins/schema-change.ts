/**
 * In which direction a JSON Schema changed: whether it accepts more than before, less, or both. A keyword whose meaning
 * is not known here counts as both.
 */
import { Meanings } from './meanings.ts';
import { isMembers, Numeral, type PinMembers, type PinValue } from './value.ts';

export type SchemaChange = 'wider-schema' | 'narrower-schema' | 'text' | 'cosmetic';
type Compare = (before: PinValue | undefined, after: PinValue | undefined, to: SchemaComparison) => void;

/** Of two whole schemas. */
class SchemaComparison {
  readonly found = new Set<SchemaChange>();
  readonly meanings = new Meanings();

  add(change: SchemaChange): void {
    this.found.add(change);
  }

  addBoth(): void {
    this.add('wider-schema');
    this.add('narrower-schema');
  }
}

export function schemaChanges(before: PinValue | undefined, after: PinValue | undefined): ReadonlySet<SchemaChange> {
  const comparison = new SchemaComparison();
  compareSchemas(before, after, comparison);
  // Such as another order of alternatives.
  if (comparison.found.size === 0) comparison.add('cosmetic');
  return comparison.found;
}

/** An absent schema accepts everything. */
function compareSchemas(before: PinValue = true, after: PinValue = true, to: SchemaComparison): void {
  if (to.meanings.isSame(before, after)) {
    to.add('cosmetic');
    return;
  }
  if (before === false || after === false) {
    to.add(before === false ? 'wider-schema' : 'narrower-schema');
    return;
  }
  const [was, is] = [keywordsOf(before), keywordsOf(after)];
  if (was === undefined || is === undefined) {
    to.addBoth();
    return;
  }
  for (const keyword of new Set([...was.keys(), ...is.keys()])) {
    const [old, now] = [was.get(keyword), is.get(keyword)];
    if (old !== undefined && now !== undefined && to.meanings.isSame(old, now)) continue;
    (keywords[keyword] ?? unknown)(old, now, to);
  }
}

const none: PinMembers = new Map();

function keywordsOf(schema: PinValue): PinMembers | undefined {
  return schema === true ? none : isMembers(schema) ? schema : undefined;
}

const unknown: Compare = (_before, _after, to) => to.addBoth();
const text: Compare = (_before, _after, to) => to.add('text');

/** What it demands is less without it. */
const demand: Compare = (before, after, to) => {
  if (before === undefined) to.add('narrower-schema');
  else if (after === undefined) to.add('wider-schema');
  else to.addBoth();
};

const flag: Compare = (before, after, to) => {
  if (after === true) to.add('narrower-schema');
  else if (before === true) to.add('wider-schema');
  else to.addBoth();
};

/** A limit above, or (`sign` -1) below. */
function limit(sign: 1 | -1): Compare {
  return (before, after, to) => {
    if (!(before instanceof Numeral) || !(after instanceof Numeral)) return demand(before, after, to);
    const difference = (Number(after.text) - Number(before.text)) * sign;
    if (difference > 0) to.add('wider-schema');
    else if (difference < 0) to.add('narrower-schema');
    else to.addBoth();
  };
}

/** `more`: what one more element means. */
function list(more: SchemaChange, fewer: SchemaChange): Compare {
  return (before, after, to) => {
    const [was, is] = [listOf(before), listOf(after)];
    if (was === undefined || is === undefined) return demand(before, after, to);
    if (to.meanings.hasMore(is, was)) to.add(more);
    if (to.meanings.hasMore(was, is)) to.add(fewer);
  };
}

function listOf(value: PinValue | undefined): readonly PinValue[] | undefined {
  return Array.isArray(value) ? value : undefined;
}

const required: Compare = (before = [], after = [], to) => list('narrower-schema', 'wider-schema')(before, after, to);

/** `number` includes `integer`. */
const type: Compare = (before, after, to) => {
  if (before === undefined || after === undefined) return demand(before, after, to);
  const [was, is] = [typesIn(before), typesIn(after)];
  const covers = (types: ReadonlySet<PinValue>, one: PinValue) =>
    types.has(one) || (one === 'integer' && types.has('number'));
  if ([...is].some((one) => !covers(was, one))) to.add('wider-schema');
  if ([...was].some((one) => !covers(is, one))) to.add('narrower-schema');
};

function typesIn(value: PinValue): ReadonlySet<PinValue> {
  return new Set(Array.isArray(value) ? value : [value]);
}

/** A new property is something more that can be sent. */
const properties: Compare = (before = none, after = none, to) => {
  if (!isMembers(before) || !isMembers(after)) return to.addBoth();
  for (const name of new Set([...before.keys(), ...after.keys()])) {
    const [was, is] = [before.get(name), after.get(name)];
    if (was === undefined) to.add('wider-schema');
    else if (is === undefined) to.add('narrower-schema');
    else if (!to.meanings.isSame(was, is)) compareSchemas(was, is, to);
  }
};

/** Of schemas that matter only where one refers to them. */
const definitions: Compare = (before = none, after = none, to) => {
  if (!isMembers(before) || !isMembers(after)) return to.addBoth();
  for (const [name, was] of before) {
    const is = after.get(name);
    if (is !== undefined && !to.meanings.isSame(was, is)) compareSchemas(was, is, to);
  }
  if (before.size !== after.size) to.add('cosmetic');
};

const [most, least] = [limit(1), limit(-1)];

const keywords: Readonly<Record<string, Compare>> = {
  __proto__: null as never,
  ...{ title: text, description: text, examples: text, default: text, deprecated: text, $comment: text },
  ...{ required, type, properties, patternProperties: properties, $defs: definitions, definitions },
  ...{ enum: list('wider-schema', 'narrower-schema'), const: demand, pattern: demand, format: demand },
  ...{ anyOf: list('wider-schema', 'narrower-schema'), allOf: list('narrower-schema', 'wider-schema') },
  ...{ additionalProperties: compareSchemas, items: compareSchemas, propertyNames: compareSchemas },
  ...{ maximum: most, exclusiveMaximum: most, maxLength: most, maxItems: most, maxProperties: most },
  ...{ minimum: least, exclusiveMinimum: least, minLength: least, minItems: least, minProperties: least },
  uniqueItems: flag,
};
