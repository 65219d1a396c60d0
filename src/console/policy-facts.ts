/** The rules with how often they decided, and what they would decide about a hypothetical request. */
import type { Config } from '../config/config.ts';
import { type QuestionFault, questionOf, questionShape } from '../config/policy-cases.ts';
import { shownPrincipal } from '../identity/principal.ts';
import { explainRate, explainRule } from '../policy/explain.ts';
import { located } from '../policy/located.ts';
import type { RuleEffect } from '../policy/rules.ts';
import { ruledBy } from '../policy/ruling.ts';
import { isObject } from '../wire/values.ts';
import { principalFor } from './people.ts';
import { type ConsolePorts, ConsoleRefusal, type Operator } from './ports.ts';

export function policyFacts({ currentGeneration, recorder, timeOfDay, startedAt }: ConsolePorts): object {
  const { policy, rates, generation } = currentGeneration.now.config;
  return {
    now: timeOfDay(),
    /** Hits are counted from here on. */
    since: startedAt,
    generation,
    mode: policy?.mode ?? 'none',
    open: policy?.open ?? [],
    unmatched: recorder.rules.unmatched,
    rules: (policy?.rules ?? []).map((rule) => {
      const { allowed = 0, denied = 0, wouldDeny = 0, lastAt } = recorder.rules.of(rule.id) ?? {};
      const { id, effect, mode } = rule;
      return { id, effect, mode, text: withoutId(explainRule(rule), id), allowed, denied, wouldDeny, lastAt };
    }),
    rates: rates.map((rate) => ({ id: rate.id, text: withoutId(explainRate(rate), rate.id) })),
  };
}

function withoutId(sentence: string, id: string): string {
  return sentence.startsWith(`${id}: `) ? sentence.slice(id.length + 2) : sentence;
}

/** `as` names a principal that has sent a request; `principal` describes one, as in cases of `bascule policy test`. */
export function tryDecision(ports: ConsolePorts, body: unknown, operator: Operator): object {
  const { config, authorizer } = ports.currentGeneration.now;
  const { as, ...draft } = isObject(body) ? body : {};
  const read = questionShape().safeParse(draft);
  if (!read.success) {
    const [issue] = read.error.issues;
    throw new ConsoleRefusal(400, 'invalid_question', `${issue?.path.join('.') || 'The question'}: ${issue?.message}`);
  }
  const world = {
    endpoints: config.endpoints.map(({ path }) => path),
    backends: [...config.backends, ...config.services].map(({ name }) => name),
  };
  const faults: QuestionFault[] = [];
  const asked = questionOf(read.data, world, (fault) => void faults.push(fault));
  const [fault] = faults;
  if (fault !== undefined)
    throw new ConsoleRefusal(400, 'invalid_question', [fault.message, fault.expected].filter(Boolean).join('; '));
  const isDescribed = read.data.principal !== undefined;
  const principal = isDescribed ? asked.principal : principalFor(ports, textOf(as), operator);
  const places = Object.fromEntries(config.endpoints.map(({ path, backends }) => [path, backends]));
  const question = located({ ...asked, principal }, places, ports.digest);
  const verdict = authorizer.wouldDecide(question);
  const { effect, rules } = ruledBy(verdict);
  const { wouldDeny, wouldAllow, wouldAsk } = verdict.ruling ?? {};
  return {
    decision: effect,
    rules,
    why: `${whyOf(effect, rules, config.policy === undefined)}${effect === 'deny' ? '' : unasked(config)}`,
    ...{ wouldDeny, wouldAllow, wouldAsk },
    who: shownPrincipal(principal),
    endpoint: question.endpoint,
    backend: question.backend || undefined,
  };
}

/** Asking them about an imagined request could have effects. */
function unasked({ policy }: Config): string {
  return policy?.decisions === undefined ? '' : ' Decision points were not asked.';
}

const decided = { allow: 'Allowed', deny: 'Denied', approval: 'Needs an approval' } as const;

function whyOf(effect: RuleEffect, rules: readonly string[], isWithoutPolicy: boolean): string {
  if (isWithoutPolicy) return 'There is no policy: everything is allowed.';
  if (rules.length > 0) return `${decided[effect]} by ${rules.join(', ')}.`;
  return effect === 'deny' ? 'No rule allows it.' : 'This action needs no rule, and no rule denies it.';
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
