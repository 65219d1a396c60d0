/**
 * In which direction a JSON Schema changed: whether it accepts more than before, less, or both. A keyword whose meaning
 * is not known here counts as both.
 */
import { isSameMeaning, missingIn } from './same.ts';
import { isMembers, Numeral, type PinMembers, type PinValue } from './value.ts';

export type SchemaChange = 'wider-schema' | 'narrower-schema' | 'text' | 'cosmetic';
type Add = (change: SchemaChange) => void;
type Compare = (before: PinValue | undefined, after: PinValue | undefined, add: Add) => void;

export function schemaChanges(before: PinValue | undefined, after: PinValue | undefined): ReadonlySet<SchemaChange> {
  const found = new Set<SchemaChange>();
  compareSchemas(before, after, (change) => void found.add(change));
  return found;
}

/** An absent schema accepts everything. */
function compareSchemas(before: PinValue = true, after: PinValue = true, add: Add): void {
  if (isSameMeaning(before, after)) {
    add('cosmetic');
    return;
  }
  if (before === false || after === false) {
    add(before === false ? 'wider-schema' : 'narrower-schema');
    return;
  }
  const [was, is] = [keywordsOf(before), keywordsOf(after)];
  if (was === undefined || is === undefined) {
    both(add);
    return;
  }
  for (const keyword of new Set([...was.keys(), ...is.keys()])) {
    const [old, now] = [was.get(keyword), is.get(keyword)];
    if (old !== undefined && now !== undefined && isSameMeaning(old, now)) continue;
    (keywords[keyword] ?? unknown)(old, now, add);
  }
}

const none: PinMembers = new Map();

function keywordsOf(schema: PinValue): PinMembers | undefined {
  return schema === true ? none : isMembers(schema) ? schema : undefined;
}

function both(add: Add): void {
  add('wider-schema');
  add('narrower-schema');
}

const unknown: Compare = (_before, _after, add) => both(add);
const text: Compare = (_before, _after, add) => add('text');

/** What it demands is less without it. */
const demand: Compare = (before, after, add) => {
  if (before === undefined) add('narrower-schema');
  else if (after === undefined) add('wider-schema');
  else both(add);
};

const flag: Compare = (before, after, add) => {
  if (after === true) add('narrower-schema');
  else if (before === true) add('wider-schema');
  else both(add);
};

/** A limit above, or (`sign` -1) below. */
function limit(sign: 1 | -1): Compare {
  return (before, after, add) => {
    if (!(before instanceof Numeral) || !(after instanceof Numeral)) return demand(before, after, add);
    const difference = (Number(after.text) - Number(before.text)) * sign;
    if (difference > 0) add('wider-schema');
    else if (difference < 0) add('narrower-schema');
    else both(add);
  };
}

/** `more`: what one more element means. */
function list(more: SchemaChange, fewer: SchemaChange): Compare {
  return (before, after, add) => {
    const [was, is] = [listOf(before), listOf(after)];
    if (was === undefined || is === undefined) return demand(before, after, add);
    if (missingIn(is, was).length > 0) add(more);
    if (missingIn(was, is).length > 0) add(fewer);
  };
}

function listOf(value: PinValue | undefined): readonly PinValue[] | undefined {
  return Array.isArray(value) ? value : undefined;
}

const required: Compare = (before = [], after = [], add) => list('narrower-schema', 'wider-schema')(before, after, add);

/** `number` includes `integer`. */
const type: Compare = (before, after, add) => {
  if (before === undefined || after === undefined) return demand(before, after, add);
  const [was, is] = [before, after].map((value) => (Array.isArray(value) ? value : [value])) as [
    PinValue[],
    PinValue[],
  ];
  const covers = (types: readonly PinValue[], one: PinValue) =>
    types.includes(one) || (one === 'integer' && types.includes('number'));
  if (is.some((one) => !covers(was, one))) add('wider-schema');
  if (was.some((one) => !covers(is, one))) add('narrower-schema');
};

/** A new property is something more that can be sent. */
const properties: Compare = (before = none, after = none, add) => {
  if (!isMembers(before) || !isMembers(after)) return both(add);
  for (const name of new Set([...before.keys(), ...after.keys()])) {
    const [was, is] = [before.get(name), after.get(name)];
    if (was === undefined) add('wider-schema');
    else if (is === undefined) add('narrower-schema');
    else if (!isSameMeaning(was, is)) compareSchemas(was, is, add);
  }
};

/** Of schemas that matter only where one refers to them. */
const definitions: Compare = (before = none, after = none, add) => {
  if (!isMembers(before) || !isMembers(after)) return both(add);
  for (const [name, was] of before) {
    const is = after.get(name);
    if (is !== undefined && !isSameMeaning(was, is)) compareSchemas(was, is, add);
  }
  if (before.size !== after.size) add('cosmetic');
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
