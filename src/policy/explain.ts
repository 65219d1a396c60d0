/** Explains a policy in sentences, so that its author can check what was understood. */
import type { CedarSettings } from '../decisions/cedar/settings.ts';
import type { DecisionPointSettings } from '../decisions/settings.ts';
import type { RateSettings } from './rates.ts';
import type { ArgumentTest, On, PolicySettings, Rule, Who } from './rules.ts';

export function explain(settings: PolicySettings): readonly string[] {
  const { mode, open, rules } = settings;
  return [
    mode === 'enforce'
      ? 'The policy is enforced: everything that no rule allows is denied.'
      : 'The policy is in audit mode: nothing is denied; denials are only recorded.',
    open.length === 0 ? 'Every action needs a rule.' : `These actions need no rule: ${open.join(', ')}.`,
    ...rules.map(explainRule),
    ...(settings.cedar === undefined ? [] : [explainCedar(settings.cedar)]),
    ...(settings.decisions ?? []).map(explainDecisions),
  ];
}

function explainCedar({ policies }: CedarSettings): string {
  const count = policies.length === 1 ? '1 Cedar policy decides' : `${policies.length} Cedar policies decide`;
  return `${count} about tools, prompts and resources that the rules allow.`;
}

function explainDecisions({ name, protocol, what, mode, onFailure, lists, approval }: DecisionPointSettings): string {
  const parts = [
    `${name}: ${protocolNames[protocol.kind]} at ${protocol.url} is asked about ${listed(what)}, once the rules allow it`,
    lists ? 'it filters lists' : 'lists are not filtered by it',
    ...(approval === undefined
      ? []
      : [`it can have ${approval.by === 'caller' ? 'the caller' : 'another person'} asked`]),
    onFailure === 'deny' ? 'without its answer the request is denied' : 'without its answer the request is allowed',
  ];
  return `${parts.join('; ')}.${mode === 'audit' ? ' (Recorded only.)' : ''}`;
}

const protocolNames = { authzen: 'an AuthZEN service', opa: 'OPA', webhook: 'a webhook' } as const;

export function explainRule(rule: Rule): string {
  const { id, effect, mode, who, what, on, when } = rule;
  const may = effect === 'allow' ? 'may' : effect === 'deny' ? 'must not' : explainApproval(rule);
  const parts = [
    `${explainWho(who)} ${may} ${what === undefined ? 'do anything' : listed(what)}`,
    ...object(on),
    ...Object.entries(rule.with).map(([name, test]) => `where the argument ${name} ${tested(test)}`),
    ...(when === undefined ? [] : [`when ${when.text}`]),
  ];
  return `${id}: ${parts.join(', ')}.${mode === 'audit' ? ' (Recorded only.)' : ''}`;
}

function explainApproval({ approval }: Rule): string {
  const minutes = approval?.forMs === undefined ? undefined : approval.forMs / 60_000;
  const times = minutes === undefined ? 'each time' : `which holds for ${minutes} min`;
  return `needs the approval of ${approval?.by === 'caller' ? 'the person at the client' : 'another person'}, ${times}, to`;
}

export function explainRate({ id, per, who, what, on, perSecond, burst, concurrent }: RateSettings): string {
  const amounts = [
    perSecond === undefined ? undefined : `${perSecond} a second`,
    burst === undefined ? undefined : `${burst} at once`,
    concurrent === undefined ? undefined : `${concurrent} at the same time`,
  ].filter((part) => part !== undefined);
  const parts = [
    `${explainWho(who)} may ${what === undefined ? 'do anything' : listed(what)}`,
    ...object(on),
    `${amounts.join(', ')} ${per.length === 0 ? 'for all together' : `for each ${per.join(' and ')}`}`,
  ];
  return `${id}: ${parts.join(', ')}.`;
}

export function explainWho({ principals, issuers, scopes, claims, groups, keys }: Who): string {
  const parts = [
    named('', principals),
    named('of the issuer ', issuers),
    named('with the scope ', scopes),
    ...Object.entries(claims ?? {}).map(([claim, values]) => `with ${claim} ${listed(values.map(String))}`),
    named('of the group ', groups),
    named('with the key ', keys),
  ].filter((part) => part !== undefined);
  const everybody = principals === undefined || principals.includes('*') ? ['everybody'] : [];
  return [...everybody, ...parts.filter((part) => part !== '*')].join(' ');
}

function object({ endpoints, backends, tools, prompts, uris, asks, methods, annotations }: On): string[] {
  const hints = Object.entries(annotations ?? {}).map(([name, value]) => `${name}: ${value}`);
  return [
    named('tools ', tools),
    named('prompts ', prompts),
    named('resources ', uris),
    named('asks for ', asks),
    named('methods ', methods),
    hints.length === 0 ? undefined : `tools annotated with ${hints.join(' and ')}`,
    named('of the backend ', backends),
    named('at ', endpoints),
  ].filter((part) => part !== undefined);
}

function tested(test: ArgumentTest): string {
  const { equals, glob, min, max, minBytes, maxBytes, present } = test;
  const parts = [
    equals && `is ${listed(equals.map((value) => JSON.stringify(value)))}`,
    glob && `is like ${listed(glob)}`,
    min === undefined ? undefined : `is at least ${min}`,
    max === undefined ? undefined : `is at most ${max}`,
    minBytes === undefined ? undefined : `has at least ${minBytes} bytes`,
    maxBytes === undefined ? undefined : `has at most ${maxBytes} bytes`,
    present === undefined ? undefined : present ? 'is there' : 'is not there',
  ];
  return parts.filter((part) => part !== undefined).join(' and ');
}

function named(before: string, names: readonly string[] | undefined): string | undefined {
  return names === undefined ? undefined : `${before}${listed(names)}`;
}

function listed(items: readonly string[]): string {
  return items.length < 2 ? items.join('') : `${items.slice(0, -1).join(', ')} or ${items.at(-1)}`;
}
