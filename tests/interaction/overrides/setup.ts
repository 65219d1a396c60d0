/** A gateway whose config changes the tools and the prompts of its two backends. */
import type { Era } from '../../../src/wire/revisions.ts';
import type { Json } from '../harness/client.ts';
import type { ConfigValue } from '../harness/gateway.ts';
import type { Script } from '../harness/http-backend.ts';
import { type House, openHouse, type Where } from '../policy/setup.ts';

export const find: Json = {
  name: 'find',
  title: 'Find',
  description: 'Finds anything',
  annotations: { title: 'Finder', readOnlyHint: true },
  inputSchema: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: {
      text: { type: 'string' },
      region: { type: 'string', enum: ['eu', 'us'] },
      limit: { type: 'integer', maximum: 100 },
    },
    required: ['region', 'text', 'limit'],
    additionalProperties: false,
  },
  _meta: { 'a.example/b': [1] },
  unknown: { kept: true },
};
export const purge: Json = { name: 'purge', inputSchema: { type: 'object' } };
export const other: Json = { name: 'other', inputSchema: { type: 'object' } };
export const greeting: Json = { name: 'greet', arguments: [{ name: 'who' }] };

export const overrides = {
  tools: {
    find: {
      name: 'lookup',
      title: 'Look up',
      description: 'Looks things up in Europe',
      arguments: { region: { fix: 'eu' }, limit: { default: 10 } },
    },
    purge: { hide: true },
  },
  prompts: { greet: { name: 'welcome', description: 'Says hello' } },
};

export interface Changeable {
  tools: Json[];
}

export interface Plan {
  readonly era?: Era;
  readonly overrides?: object;
  readonly tools?: Json[];
  readonly endpoint?: ConfigValue;
  readonly more?: ConfigValue;
  readonly script?: Script;
}

export interface OverriddenHouse extends House {
  /** What both backends list from now on. */
  readonly offered: Changeable;
}

export async function openOverridden(plan: Plan = {}): Promise<OverriddenHouse> {
  const { era, tools = [find, purge, other], endpoint, more, script, overrides: given = overrides } = plan;
  const offered: Changeable = { tools };
  const house = await openHouse({
    ...(era && { era }),
    ...(endpoint && { endpoint }),
    backend: { overrides: given },
    script: {
      'tools/list': (turn) => turn.result({ ...complete, tools: offered.tools }),
      'prompts/list': (turn) => turn.result({ ...complete, prompts: [greeting] }),
      'prompts/get': (turn) =>
        turn.result({ resultType: 'complete', description: turn.message.params.name, messages: [] }),
      'completion/complete': (turn) =>
        turn.result({ resultType: 'complete', completion: { values: [turn.message.params.ref.name] } }),
      ...script,
    },
    more: { limits: { listGoodMs: 0, listUnsureMs: 0 }, ...more },
  });
  return Object.defineProperty(house, 'offered', { value: offered }) as OverriddenHouse;
}

const complete = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };

export const list = (method = 'tools/list'): Json => ({ jsonrpc: '2.0', id: 1, method, params: {} });

/** The entries of the first backend. */
export function ofFirst(where: Where, entries: readonly Json[]): readonly Json[] {
  return where === 'single' ? entries : entries.filter(({ name }) => !name.startsWith('b__'));
}
