/** `bascule policy check` and `bascule policy test`: what a policy means, before it is in force. */
import { ConfigDocument } from './config/document.ts';
import { type PolicyCase, readCases } from './config/policy-cases.ts';
import { ConfigError } from './config/problems.ts';
import { compilePolicy } from './policy/compile.ts';
import { explain } from './policy/explain.ts';
import type { Policy } from './policy/policy.ts';
import { type Places, review } from './policy/review.ts';
import type { PolicySettings } from './policy/rules.ts';
import { Denial } from './policy/ruling.ts';

export interface PolicyCommand {
  /** Of the config, which was loaded and found sound. */
  readonly policy: PolicySettings | undefined;
  readonly places: Places;
  readonly say: (text: string) => void;
}

const nothing = 'There is no policy: everything is allowed.';

/** The exit code: remarks are no failure. */
export function checkPolicy({ policy, places, say }: PolicyCommand): number {
  if (policy === undefined) {
    say(nothing);
    return 0;
  }
  for (const sentence of explain(policy)) say(sentence);
  for (const { rule, text } of review(policy, places)) say(`warning: ${rule} ${text}`);
  return 0;
}

export interface CasesFile {
  readonly name: string;
  readonly text: string;
}

/** The exit code: 1 where a case came out otherwise, or where the file cannot be used. */
export function testPolicy({ policy, places, say }: PolicyCommand, file: CasesFile): number {
  if (policy === undefined) {
    say(nothing);
    return 1;
  }
  const world = { endpoints: Object.keys(places), backends: [...new Set(Object.values(places).flat())] };
  let cases: readonly PolicyCase[];
  try {
    const document = new ConfigDocument(file.name, file.text, 'yaml');
    cases = readCases(document, world);
    if (document.problems.length > 0) throw new ConfigError(document.problems);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    say(error.format());
    return 1;
  }
  const compiled = compilePolicy(policy, world, 0);
  const failed = cases.flatMap((one) => unexpected(compiled, one));
  for (const line of failed) say(line);
  say(`${cases.length - failed.length} of ${cases.length} cases as expected`);
  return failed.length === 0 ? 0 : 1;
}

function unexpected(policy: Policy, { name, question, expect, rule }: PolicyCase): string[] {
  const verdict = policy.decide(question);
  const { rules = [], wouldDeny } = verdict.ruling ?? {};
  // Cases are about what the rules say, also while they are only being watched.
  const denied = verdict instanceof Denial || (policy.mode === 'audit' && wouldDeny !== undefined);
  const decided = denied && wouldDeny !== undefined ? wouldDeny : rules;
  const came = denied ? 'deny' : 'allow';
  const byRule = rule === undefined || (rule === null ? decided.length === 0 : decided.includes(rule));
  if (came === expect && byRule) return [];
  const wanted = rule === undefined ? expect : `${expect} by ${rule ?? 'no rule'}`;
  return [`${name}: expected ${wanted}, got ${came} by ${decided.join(', ') || 'no rule'}`];
}
