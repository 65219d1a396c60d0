/** Policy's names for operations: the actions of the methods table, and the kinds of target each of them has. */
import { methods } from '../wire/methods.ts';

/** A call of a method of a JSON-RPC service that is not MCP. */
export const RPC = 'rpc';

/** A search over the tools of an endpoint that has a budget. */
export const FIND = 'find';

export const actions: readonly string[] = [...new Set(methods.map(({ action }) => action)), FIND, RPC];

/** A template stands for every URI that it may expand to. */
export type ThingKind = 'tool' | 'prompt' | 'resource' | 'template' | 'ask' | 'method';

/** The kind of entries in each list, and the member that clients refer to them by. */
export const listed = {
  tools: { kind: 'tool', key: 'name' },
  prompts: { kind: 'prompt', key: 'name' },
  resources: { kind: 'resource', key: 'uri' },
  resourceTemplates: { kind: 'template', key: 'uriTemplate' },
  skills: { kind: 'resource', key: 'uri' },
} as const;

export const askKinds = ['sampling', 'elicitation', 'roots'] as const;
export type AskKind = (typeof askKinds)[number];

const asksByMethod: Readonly<Record<string, AskKind>> = {
  'sampling/createMessage': 'sampling',
  'elicitation/create': 'elicitation',
  'roots/list': 'roots',
};

export function askKind(method: string): AskKind | undefined {
  return Object.hasOwn(asksByMethod, method) ? asksByMethod[method] : undefined;
}

/** The kinds of target that an action can have. Actions that are not listed have no named target. */
const things: Readonly<Record<string, readonly ThingKind[]>> = {
  call: ['tool'],
  get: ['prompt'],
  read: ['resource', 'template'],
  subscribe: ['resource', 'template'],
  complete: ['prompt', 'resource', 'template'],
  list: ['tool', 'prompt', 'resource', 'template'],
  ask: ['ask'],
  task: ['tool'],
  [RPC]: ['method'],
};

export function thingsOf(action: string): readonly ThingKind[] {
  return Object.hasOwn(things, action) ? (things[action] ?? []) : [];
}

/** The only actions that carry arguments. */
export const withArguments: readonly string[] = ['call', 'get', RPC];

/**
 * The main use of each kind. A principal that may not do this sees neither the entry, its completions nor its changes.
 */
export const useOf = {
  tool: 'call',
  prompt: 'get',
  resource: 'read',
  template: 'read',
  ask: 'ask',
  method: RPC,
} as const;

/**
 * Actions that are allowed without a rule, unless the policy says otherwise: they carry no data from a backend to a
 * client. Lists and searches contain only what the client may use, and the client answers server requests itself. Rules
 * can deny all of them.
 */
export const openByDefault: readonly string[] = [
  'connect',
  'ping',
  'cancel',
  'progress',
  'notify',
  'list',
  'find',
  'ask',
];
