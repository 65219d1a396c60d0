/** The methods that both eras have. What differs (envelopes, asks, notifications) is the eras' own business. */
import type { Call } from './call.ts';
import { complete } from './completion.ts';
import { getPrompt, listPrompts } from './prompts.ts';
import { listResources, listTemplates, readResource } from './resources.ts';
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

export interface Method {
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
