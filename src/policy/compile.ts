/** Compiles settings into a policy, once per generation. */
import { readyRule, type World } from './match.ts';
import { Policy } from './policy.ts';
import type { PolicySettings } from './rules.ts';
import { encodePlainly } from './spellings.ts';
import { RuleViews } from './views.ts';
import { compileWho, type IsMeant } from './who.ts';

export function compilePolicy(settings: PolicySettings, world: World, generation: number): Policy {
  const { mode, open, groupsClaim, trustAnnotationsOf, rules } = settings;
  const groups = new Map<string, { readonly at: number; readonly isMeant: IsMeant }>();
  const owned = rules.map((rule, order) => {
    const key = JSON.stringify(rule.who);
    const group = groups.get(key) ?? { at: groups.size, isMeant: compileWho(rule.who, groupsClaim) };
    groups.set(key, group);
    return { rule: readyRule(rule, order, world), audited: rule.mode === 'audit', group: group.at };
  });
  const views = new RuleViews(
    owned,
    [...groups.values()].map(({ isMeant }) => isMeant),
  );
  return new Policy({
    generation,
    mode,
    open: new Set(open),
    views,
    groupsClaim,
    trusted: new Set(trustAnnotationsOf),
    encode: world.encode ?? encodePlainly,
    readsAnnotations: rules.some(({ on, when }) => on.annotations !== undefined || when?.reads.has('annotations')),
  });
}
