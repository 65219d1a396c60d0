/** What policy calls the things that happen: the actions of the methods table, and what each of them is done to. */
import { methods } from '../wire/methods.ts';

/** A method of a JSON-RPC service that is not MCP is called. */
export const RPC = 'rpc';

export const actions: readonly string[] = [...new Set(methods.map(({ action }) => action)), RPC];

/** A template stands for every URI that may come out of it. */
export type ThingKind = 'tool' | 'prompt' | 'resource' | 'template' | 'ask' | 'method';

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

/** What an action can be done to. What is not here is done to nothing that has a name. */
const things: Readonly<Record<string, readonly ThingKind[]>> = {
  call: ['tool'],
  get: ['prompt'],
  read: ['resource', 'template'],
  subscribe: ['resource', 'template'],
  complete: ['prompt', 'resource', 'template'],
  list: ['tool', 'prompt', 'resource', 'template'],
  ask: ['ask'],
  [RPC]: ['method'],
};

export function thingsOf(action: string): readonly ThingKind[] {
  return Object.hasOwn(things, action) ? (things[action] ?? []) : [];
}

/** The only actions that carry arguments. */
export const withArguments: readonly string[] = ['call', 'get', RPC];

/** For what a thing is there. Whoever may not do this does not see the thing, nor its completions, nor its changes. */
export const useOf = {
  tool: 'call',
  prompt: 'get',
  resource: 'read',
  template: 'read',
  ask: 'ask',
  method: RPC,
} as const;

/**
 * What needs no rule that allows it, unless the policy says otherwise: it carries nothing of a backend's to a client. Lists
 * hold only what the client may use, and a backend's ask is the client's to answer. Rules can deny all of it.
 */
export const openByDefault: readonly string[] = ['connect', 'ping', 'cancel', 'progress', 'notify', 'list', 'ask'];
