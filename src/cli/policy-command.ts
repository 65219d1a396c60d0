/** `bascule policy check` and `bascule policy test`: show what a policy means before it is in force. */

import { digest } from '../app/digest.ts';
import { createNames } from '../catalog/names.ts';
import { ConfigDocument } from '../config/document.ts';
import { type PolicyCase, readCases } from '../config/policy-cases.ts';
import { ConfigError } from '../config/problems.ts';
import { CedarJudge } from '../decisions/cedar/judge.ts';
import { loadCedar } from '../decisions/cedar/module.ts';
import { reviewCedar } from '../decisions/cedar/schema.ts';
import { explain } from '../policy/explain.ts';
import { located } from '../policy/located.ts';
import type { TrustedCredentials } from '../policy/match.ts';
import { Policy } from '../policy/policy.ts';
import { type EndpointBackends, type Remark, review } from '../policy/review.ts';
import type { PolicySettings } from '../policy/rules.ts';
import { meantBy, ruledBy } from '../policy/ruling.ts';

export interface PolicyCommand {
  /** The policy of the config, which is valid. */
  readonly policy: PolicySettings | undefined;
  readonly places: EndpointBackends;
  /** Absent where they are not known. */
  readonly callers?: TrustedCredentials | undefined;
  readonly say: (text: string) => void;
}

const nothing = 'There is no policy: everything is allowed.';

/** Returns the exit code: remarks are not failures. */
export function checkPolicy({ policy, places, callers, say }: PolicyCommand): number {
  if (policy === undefined) {
    say(nothing);
    return 0;
  }
  for (const sentence of explain(policy)) say(sentence);
  for (const { rule, text } of remarksOf(policy, places, callers)) say(`warning: ${rule} ${text}`);
  return 0;
}

/** What is valid, and cannot be what its author meant: in rules, and in Cedar policies. */
export function remarksOf(
  policy: PolicySettings,
  places: EndpointBackends,
  callers: TrustedCredentials | undefined,
): readonly Remark[] {
  const { cedar } = policy;
  const ofCedar = cedar === undefined ? [] : reviewCedar(cedar, loadCedar(), (callers?.issuers ?? 0) > 1);
  return [
    ...review(policy, places, callers),
    ...ofCedar.map(({ policy: id, text }) => ({ rule: `cedar:${id}`, text })),
  ];
}

export interface CasesFile {
  readonly name: string;
  readonly text: string;
}

/** Returns the exit code: 1 where a case has an unexpected decision, or where the file cannot be used. */
export function testPolicy({ policy, places, say }: PolicyCommand, file: CasesFile): number {
  if (policy === undefined) {
    say(nothing);
    return 1;
  }
  const backends = [...new Set(Object.values(places).flat())];
  const { encode } = createNames(backends, digest);
  const world = { endpoints: Object.keys(places), backends, encode };
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
  const cedar = policy.cedar && new CedarJudge(policy.cedar, loadCedar());
  const compiled = new Policy(policy, world, 0, cedar);
  if (policy.decisions !== undefined) say('Decision points are not asked: the cases test rules and Cedar policies.');
  const failed = cases.flatMap((one) =>
    unexpected(compiled, { ...one, question: located(one.question, places, digest) }),
  );
  for (const line of failed) say(line);
  say(`${cases.length - failed.length} of ${cases.length} cases as expected`);
  return failed.length === 0 ? 0 : 1;
}

function unexpected(policy: Policy, { name, question, expect, rule }: PolicyCase): string[] {
  const verdict = policy.decide(question);
  // Cases test what the rules say, also in audit mode, where the rules are not enforced.
  const { effect: came, rules: decided } = policy.mode === 'audit' ? meantBy(verdict) : ruledBy(verdict);
  const byRule = rule === undefined || (rule === null ? decided.length === 0 : decided.includes(rule));
  if (came === expect && byRule) return [];
  const wanted = rule === undefined ? expect : `${expect} by ${rule ?? 'no rule'}`;
  return [`${name}: expected ${wanted}, got ${came} by ${decided.join(', ') || 'no rule'}`];
}
