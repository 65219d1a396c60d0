/** Reads Cedar text: the policies in it, their names, and their conditions. */
import type { PolicyJson } from '@cedar-policy/cedar-wasm/nodejs';
import type { CedarModule } from './module.ts';
import type { CedarPolicy } from './settings.ts';

export interface ReadPolicies {
  readonly policies: readonly CedarPolicy[];
  readonly problems: readonly string[];
}

/** `source` names policies that have no `@id`. */
export function readPolicies(texts: readonly string[], source: string, cedar: CedarModule): ReadPolicies {
  const problems: string[] = [];
  const parts = texts.flatMap((text) => {
    const read = cedar.policySetTextToParts(text);
    if (read.type === 'failure') {
      problems.push(...read.errors.map(({ message }) => message));
      return [];
    }
    if (read.policy_templates.length > 0) problems.push('templates are not used: there is nothing to link them with');
    return read.policies;
  });
  const policies = parts.map((text, at) => ({ id: idOf(jsonOf(text, cedar)) ?? `${source}#${at}`, text }));
  return { policies, problems };
}

/** The conditions of all policies, in Cedar's JSON form. */
export function conditionsOf(policies: readonly CedarPolicy[], cedar: CedarModule): readonly unknown[] {
  return policies.flatMap(({ text }) => jsonOf(text, cedar)?.conditions.map(({ body }) => body) ?? []);
}

/** Those that deny. */
export function forbidsAmong(policies: readonly CedarPolicy[], cedar: CedarModule): readonly CedarPolicy[] {
  return policies.filter(({ text }) => jsonOf(text, cedar)?.effect === 'forbid');
}

function jsonOf(text: string, cedar: CedarModule): PolicyJson | undefined {
  const read = cedar.policyToJson(text);
  return read.type === 'failure' ? undefined : read.json;
}

function idOf(policy: PolicyJson | undefined): string | undefined {
  return policy?.annotations?.id || undefined;
}
