/** What kind of change it is, so that a reviewer sees first what matters. One change may be of several classes. */

import { isSameMeaning } from './meanings.ts';
import type { PinKind } from './pin.ts';
import { schemaChanges } from './schema-change.ts';
import { canonicalText, isMembers, type PinMembers, type PinValue } from './value.ts';

/**
 * `riskier-hint` and `safer-hint` are about what a tool now says of itself: a safer hint is what clients and rules
 * relax on. `unpinnable`: the value cannot be pinned at all. `gone`: pinned, and not offered any more.
 */
export const pinClasses = [
  ...(['new', 'gone', 'unpinnable', 'safer-hint', 'riskier-hint', 'ui'] as const),
  ...(['wider-schema', 'narrower-schema', 'text', 'meta', 'other', 'cosmetic'] as const),
] as const;
export type PinClass = (typeof pinClasses)[number];

/** In the order of `pinClasses`. Empty for equal values. */
export function classify(kind: PinKind, before: PinValue, after: PinValue): readonly PinClass[] {
  const found = new Set<PinClass>();
  if (canonicalText(before) === canonicalText(after)) return [];
  if (!isMembers(before) || !isMembers(after)) found.add(kind === 'instructions' ? 'text' : 'other');
  else
    for (const key of new Set([...before.keys(), ...after.keys()]))
      for (const one of memberChanges(kind, key, before.get(key), after.get(key))) found.add(one);
  return pinClasses.filter((one) => found.has(one));
}

type Judge = (before: PinValue | undefined, after: PinValue | undefined) => Iterable<PinClass>;

function memberChanges(
  kind: PinKind,
  key: string,
  before: PinValue | undefined,
  after: PinValue | undefined,
): Iterable<PinClass> {
  if (before !== undefined && after !== undefined) {
    if (canonicalText(before) === canonicalText(after)) return [];
    if (isSameMeaning(before, after)) return ['cosmetic'];
  }
  return (members[`${kind} ${key}`] ?? members[key] ?? other)(before, after);
}

const other: Judge = () => ['other'];
const text: Judge = () => ['text'];
const ui: Judge = () => ['ui'];

/** MCP Apps and those before it: where a tool's user interface comes from. */
const uiKey = /(?:^|[./])ui(?:[./]|$)|^openai\//;

const meta: Judge = (before, after) =>
  eachMember(before, after, (key) => (uiKey.test(key) ? ['ui'] : ['meta'])) ?? ['meta', 'ui'];

/**
 * What an absent hint means, and what a hint says when it is true.
 * https://modelcontextprotocol.io/specification/2025-11-25/schema#toolannotations
 */
const hints: Readonly<Record<string, { readonly absent: boolean; readonly isSafe: boolean } | undefined>> = {
  readOnlyHint: { absent: false, isSafe: true },
  destructiveHint: { absent: true, isSafe: false },
  idempotentHint: { absent: false, isSafe: true },
  openWorldHint: { absent: true, isSafe: false },
};

const annotations: Judge = (before, after) =>
  eachMember(before, after, (key, was, is) => {
    const hint = Object.hasOwn(hints, key) ? hints[key] : undefined;
    if (hint === undefined) return [key === 'title' ? 'text' : 'other'];
    const [then, now] = [was ?? hint.absent, is ?? hint.absent];
    // Readers differ about what such a value means.
    if (typeof then !== 'boolean' || typeof now !== 'boolean') return ['riskier-hint', 'safer-hint'];
    if (then === now) return ['cosmetic'];
    return [now === hint.isSafe ? 'safer-hint' : 'riskier-hint'];
  }) ?? ['riskier-hint', 'safer-hint'];

/** The arguments of a prompt: a list of objects with names. */
const promptArguments: Judge = (before, after) => {
  const [was, is] = [byName(before), byName(after)];
  if (was === undefined || is === undefined) return ['wider-schema', 'narrower-schema'];
  const found = [...new Set([...was.keys(), ...is.keys()])].flatMap((name): PinClass[] => {
    const [old, now] = [was.get(name), is.get(name)];
    if (old === undefined) return [now?.get('required') === true ? 'narrower-schema' : 'wider-schema'];
    if (now === undefined) return ['narrower-schema'];
    const [then, demanded] = [old.get('required') === true, now.get('required') === true];
    if (then !== demanded) return [demanded ? 'narrower-schema' : 'wider-schema'];
    return canonicalText(old) === canonicalText(now) ? [] : ['text'];
  });
  // Only the order is another one.
  return found.length === 0 ? ['cosmetic'] : found;
};

function byName(list: PinValue | undefined = []): ReadonlyMap<string, PinMembers> | undefined {
  if (!Array.isArray(list)) return undefined;
  const named = new Map<string, PinMembers>();
  for (const one of list) {
    const name = isMembers(one) ? one.get('name') : undefined;
    if (typeof name !== 'string' || named.has(name)) return undefined;
    named.set(name, one);
  }
  return named;
}

/** Undefined where one of them is no object. */
function eachMember(
  before: PinValue = new Map(),
  after: PinValue = new Map(),
  judge: (key: string, was: PinValue | undefined, is: PinValue | undefined) => readonly PinClass[],
): Iterable<PinClass> | undefined {
  if (!isMembers(before) || !isMembers(after)) return undefined;
  const found = [...new Set([...before.keys(), ...after.keys()])].flatMap((key) => {
    const [was, is] = [before.get(key), after.get(key)];
    if (was !== undefined && is !== undefined && canonicalText(was) === canonicalText(is)) return [];
    return judge(key, was, is);
  });
  // `{}` in the place of nothing.
  return found.length === 0 ? ['cosmetic'] : found;
}

/** By member, or by kind and member. */
const members: Readonly<Record<string, Judge>> = {
  __proto__: null as never,
  ...{ title: text, description: text, name: text, icons: ui, _meta: meta },
  ...{ inputSchema: schemaChanges, outputSchema: schemaChanges },
  'tool annotations': annotations,
  'prompt arguments': promptArguments,
};
