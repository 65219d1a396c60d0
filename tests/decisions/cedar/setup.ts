/** Cedar policies from texts, read as a config reads them. */
import { ConfigDocument } from '../../../src/config/document.ts';
import { readPolicy } from '../../../src/config/policy.ts';
import { ConfigError } from '../../../src/config/problems.ts';
import { CedarJudge } from '../../../src/decisions/cedar/judge.ts';
import { loadCedar } from '../../../src/decisions/cedar/module.ts';
import { Policy } from '../../../src/policy/policy.ts';
import type { PolicySettings } from '../../../src/policy/rules.ts';
import { Denial } from '../../../src/policy/ruling.ts';
import type { MethodRow } from '../../../src/wire/methods.ts';
import { methodRow } from '../../../src/wire/methods.ts';
import { token, world } from '../../policy/setup.ts';

export type Files = Readonly<Record<string, string>>;

/** `cedar` as in a config, with these files beside it. */
export function cedarSettings(
  files: Files,
  cedar: object = { policies: Object.keys(files) },
  more = {},
): PolicySettings {
  const document = new ConfigDocument('bascule.yaml', JSON.stringify({ policy: { cedar, ...more } }), 'yaml');
  const settings = readPolicy(document, { env: {}, predefined: {}, readFile: (path) => files[path] }, world);
  if (document.problems.length > 0) throw new ConfigError(document.problems);
  if (settings === undefined) throw new Error('there is no policy in it');
  return settings;
}

export function cedarPolicy(settings: PolicySettings, cedar = loadCedar()): Policy {
  if (settings.cedar === undefined) throw new Error('there is no Cedar in it');
  return new Policy(settings, world, 7, new CedarJudge(settings.cedar, cedar));
}

export function policyOfText(text: string, more = {}): Policy {
  return cedarPolicy(cedarSettings({ 'p.cedar': text }, { policies: ['p.cedar'], ...more }));
}

export interface Asked {
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly tool?: string;
  readonly prompt?: string;
  readonly uri?: string;
  readonly backend?: string;
  readonly arguments?: unknown;
  readonly annotations?: unknown;
}

const uses = { tool: 'tools/call', prompt: 'prompts/get', uri: 'resources/read' } as const;

/** The rules that decided, after `allow` or `deny`. */
export function decided(policy: Policy, given: Asked): readonly string[] {
  const use = (['tool', 'prompt', 'uri'] as const).find((one) => given[one] !== undefined) ?? 'tool';
  const verdict = policy.decide({
    principal: token({ sub: 'ann', ...given.claims }),
    endpoint: '/mcp',
    backend: given.backend ?? 'files',
    row: methodRow(uses[use]) as MethodRow,
    thing: { kind: use === 'uri' ? 'resource' : use, name: given[use] ?? '' },
    arguments: () => given.arguments,
    annotations: () => given.annotations,
  });
  return [verdict instanceof Denial ? 'deny' : 'allow', ...(verdict.ruling?.rules ?? [])];
}

export function effect(policy: Policy, given: Asked): string {
  return decided(policy, given)[0] ?? '';
}
