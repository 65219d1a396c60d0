/** Policies, principals and questions, as a test wants them. */

import { findToolsRow } from '../../src/budget/find-tools.ts';
import { ConfigDocument } from '../../src/config/document.ts';
import { readPolicy } from '../../src/config/policy.ts';
import { ConfigError } from '../../src/config/problems.ts';
import { keyPrincipal, localPrincipal, type Principal, tokenPrincipal } from '../../src/identity/principal.ts';
import { FIND, RPC } from '../../src/policy/actions.ts';
import { scalarAt } from '../../src/policy/facts.ts';
import type { World } from '../../src/policy/match.ts';
import { Policy } from '../../src/policy/policy.ts';
import type { PolicyQuestion, Thing } from '../../src/policy/question.ts';
import type { FactName, Facts } from '../../src/policy/rules.ts';
import { Denial } from '../../src/policy/ruling.ts';
import { type MethodRow, methodRow, methods } from '../../src/wire/methods.ts';

export const world: World = { endpoints: ['/mcp', '/team/mcp'], backends: ['files', 'search', 'mail'] };

export function settingsOf(text: string, known: World = world) {
  const document = new ConfigDocument('bascule.yaml', text, 'yaml');
  const settings = readPolicy(document, { env: {}, predefined: {} }, known);
  if (document.problems.length > 0) throw new ConfigError(document.problems);
  if (settings === undefined) throw new Error('there is no policy in it');
  return settings;
}

export function policyOf(text: string, known: World = world): Policy {
  return new Policy(settingsOf(text, known), known, 7);
}

/** The rules alone, as a YAML list. */
export function policyWith(rules: string, more = ''): Policy {
  return policyOf(`policy:\n${more}  rules:\n${rules.replaceAll(/^/gm, '    ')}\n`);
}

/** `fact` gives bounded values. */
export function factsFrom(fact: (name: FactName) => unknown): Facts {
  return { fact, argument: (steps) => scalarAt(fact('arguments'), steps) };
}

export const local = localPrincipal();

export function key(name: string, scopes: readonly string[] = []): Principal {
  return keyPrincipal({ id: 'k1', name, scopes });
}

export function token(claims: Readonly<Record<string, unknown>>, issuer = 'https://login.example'): Principal {
  const principal = tokenPrincipal({ issuer, claims });
  if (principal === undefined) throw new Error('a token that speaks of nobody');
  return principal;
}

const rowsByAction: Readonly<Record<string, string>> = {
  call: 'tools/call',
  get: 'prompts/get',
  read: 'resources/read',
  subscribe: 'resources/subscribe',
  complete: 'completion/complete',
  connect: 'initialize',
};

/** A row with this action, or of this method. */
export function rowOf(actionOrMethod: string): MethodRow {
  const row =
    methodRow(rowsByAction[actionOrMethod] ?? actionOrMethod) ??
    methods.find(({ action }) => action === actionOrMethod);
  if (row === undefined) throw new Error(`no such action: ${actionOrMethod}`);
  return row;
}

/** The same for what is not of MCP, too. */
export function deedOf(actionOrMethod: string): PolicyQuestion['row'] {
  if (actionOrMethod === FIND) return findToolsRow;
  return actionOrMethod === RPC ? { method: '', kind: 'request', action: RPC } : rowOf(actionOrMethod);
}

export interface Asked {
  readonly principal?: Principal;
  readonly endpoint?: string;
  readonly backend?: string;
  readonly thing?: Thing;
  readonly arguments?: unknown;
  readonly annotations?: unknown;
}

export function question(action: string, asked: Asked = {}): PolicyQuestion {
  return {
    principal: asked.principal ?? local,
    row: deedOf(action),
    endpoint: asked.endpoint ?? '/mcp',
    backend: asked.backend ?? 'files',
    thing: asked.thing,
    arguments: () => asked.arguments,
    annotations: () => asked.annotations,
  };
}

export function call(tool: string, asked: Asked = {}): PolicyQuestion {
  return question('call', { ...asked, thing: { kind: 'tool', name: tool } });
}

export function read(uri: string, asked: Asked = {}): PolicyQuestion {
  return question('read', { ...asked, thing: { kind: 'resource', name: uri } });
}

/** `allow` or `deny`, and the rules that decided. */
export function told(policy: Policy, asked: PolicyQuestion): string {
  const verdict = policy.decide(asked);
  const rules = verdict.ruling?.rules ?? [];
  return [verdict instanceof Denial ? 'deny' : 'allow', ...rules].join(' ');
}
