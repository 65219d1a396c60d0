/** The methods that both eras have. What differs (envelopes, asks, notifications) is the eras' own business. */
import { type Call, itemNamed } from './call.ts';
import { BadValue, type JsonObject, objectOf, textOf } from './message.ts';
import { getPrompt, listPrompts, prompts } from './prompts.ts';
import { listResources, listTemplates, readResource, templates } from './resources.ts';
import { callTool, listTools } from './tools/offer.ts';

/** https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching */
export interface Freshness {
  readonly ttlMs: number;
  readonly cacheScope: 'public' | 'private';
}

/** What only a new release of the server changes. */
export const fixed: Freshness = { ttlMs: 3_600_000, cacheScope: 'public' };
/** What a tool call can change at any moment: somebody who just toggled a tool should see it. */
const changing: Freshness = { ttlMs: 0, cacheScope: 'public' };
/** What can depend on the answers that a client gave. */
const personal: Freshness = { ttlMs: 0, cacheScope: 'private' };

interface Method {
  readonly run: (call: Call) => object | Promise<object>;
  /** For modern clients, on the cacheable methods alone. */
  readonly freshness?: Freshness;
}

export const methods: ReadonlyMap<string, Method> = new Map(
  Object.entries<Method>({
    'tools/list': { run: listTools, freshness: changing },
    'tools/call': { run: callTool },
    'prompts/list': { run: listPrompts, freshness: changing },
    'prompts/get': { run: getPrompt },
    'resources/list': { run: listResources, freshness: changing },
    'resources/templates/list': { run: listTemplates, freshness: fixed },
    'resources/read': { run: readResource, freshness: personal },
    'completion/complete': { run: complete },
  }),
);

/** The most that the specification allows in one answer. */
const maxValues = 100;

/** https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/completion */
function complete(call: Call): JsonObject {
  const argument = objectOf(call.params, 'argument');
  const [name, typed] = [textOf(argument, 'name'), textOf(argument, 'value').toLowerCase()];
  const settled = objectOf(objectOf(call.params, 'context', {}), 'arguments', {});
  const byArgument = new Map(Object.entries(suggestions(call)));
  const all = [...new Set(byArgument.get(name)?.(settled))].filter((value) => value.startsWith(typed));
  return { completion: { values: all.slice(0, maxValues), total: all.length, hasMore: all.length > maxValues } };
}

function suggestions(call: Call): { readonly [argument: string]: (settled: JsonObject) => readonly string[] } {
  const ref = objectOf(call.params, 'ref');
  if (ref.type === 'ref/prompt') return itemNamed(prompts, 'prompt', textOf(ref, 'name'), call).completions ?? {};
  if (ref.type === 'ref/resource') {
    return itemNamed(templates, 'resource template', textOf(ref, 'uri'), call).completions;
  }
  throw new BadValue('"ref.type" must be ref/prompt or ref/resource');
}
