/**
 * `completion/complete`.
 * https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/completion
 */
import type { Call } from './call.ts';
import { BadValue } from './failure.ts';
import type { JsonObject } from './message.ts';
import { promptNamed } from './prompts.ts';
import { objectOf, objectOr, textOf } from './read.ts';
import { templateFor } from './resources.ts';

/** The most that the specification allows in one answer. */
const maxValues = 100;

type Suggest = (settled: JsonObject) => readonly string[];

function suggestions(call: Call): { readonly [argument: string]: Suggest } {
  const ref = objectOf(call.params, 'ref');
  if (ref.type === 'ref/prompt') return promptNamed(textOf(ref, 'name'), call).completions ?? {};
  if (ref.type === 'ref/resource') return templateFor(textOf(ref, 'uri'), call).completions;
  throw new BadValue('"ref.type" must be ref/prompt or ref/resource');
}

export function complete(call: Call): JsonObject {
  const argument = objectOf(call.params, 'argument');
  const [name, typed] = [textOf(argument, 'name'), textOf(argument, 'value').toLowerCase()];
  const settled = objectOr(objectOr(call.params, 'context'), 'arguments');
  const byArgument = new Map(Object.entries(suggestions(call)));
  const all = [...new Set(byArgument.get(name)?.(settled))].filter((value) => value.startsWith(typed));
  return { completion: { values: all.slice(0, maxValues), total: all.length, hasMore: all.length > maxValues } };
}
