/** Finds rules that are valid but cannot be what their author meant. */
import { actions, thingsOf, withArguments } from './actions.ts';
import { PlainDenials } from './covers.ts';
import { type TrustedCredentials, thingsIn } from './match.ts';
import { NameSet } from './names.ts';
import type { PolicySettings, Rule } from './rules.ts';

export interface Remark {
  readonly rule: string;
  readonly text: string;
}

/** Endpoints with their backends. */
export type EndpointBackends = Readonly<Record<string, readonly string[]>>;

export function review(
  settings: PolicySettings,
  places: EndpointBackends,
  callers?: TrustedCredentials,
): readonly Remark[] {
  const denials = new PlainDenials(settings.rules);
  return settings.rules.flatMap((rule) => {
    const remarks = [
      ...[neverMeets(rule, places), pointlessTests(rule), halfDenied(rule), pointlessAllow(rule, settings)],
      neverAsks(rule, settings),
      ...(callers === undefined ? [] : [neverMeant(rule, callers)]),
    ];
    const over = denials.covering(rule);
    if (over !== undefined) {
      const text = `can never ${missed[rule.effect]} anything: \`${over.id}\` denies everything that it matches`;
      remarks.push(text);
    }
    return remarks.flatMap((text) => (text === undefined ? [] : [{ rule: rule.id, text }]));
  });
}

function neverMeets({ what = actions, on }: Rule, places: EndpointBackends): string | undefined {
  const things = thingsIn(on);
  if (things !== undefined && !what.some((action) => thingsOf(action).some((kind) => things.has(kind)))) {
    return `can never match: ${what.join(' or ')} does not apply to anything in \`on\``;
  }
  const backends = on.backends && new NameSet(on.backends, 'name');
  const endpoints = on.endpoints && new NameSet(on.endpoints, 'path');
  const meets = Object.entries(places).some(
    ([path, behind]) =>
      (endpoints === undefined || endpoints.has(path) === 'yes') &&
      (backends === undefined || behind.some((name) => backends.has(name) === 'yes')),
  );
  return meets ? undefined : 'can never match: none of its endpoints has any of its backends';
}

/** Only tokens have claims and issuers; only keys have key names; both can have groups. */
function neverMeant({ who }: Rule, { keys, issuers, groups, keyNames }: TrustedCredentials): string | undefined {
  if (who.groups !== undefined && issuers === 0 && !keys)
    return 'can never match: `who.groups` is about keys and tokens, and `identity` has neither';
  const noGroup = groups === undefined ? undefined : unmatched(who.groups, groups);
  if (noGroup !== undefined) return `can never match: no key and no user has the group ${noGroup}`;
  const noKey = keyNames === undefined ? undefined : unmatched(who.keys, keyNames);
  if (noKey !== undefined) return `can never match: no key has the name ${noKey}`;
  const ofTokens = (['claims', 'issuers'] as const).find((part) => who[part] !== undefined);
  if (ofTokens !== undefined && issuers === 0) {
    return `can never match: \`who.${ofTokens}\` is about tokens, and \`identity\` trusts no issuer`;
  }
  const isKey = (entry: string) => entry.startsWith('key:');
  if (!keys && (who.keys !== undefined || who.principals?.every(isKey))) {
    return 'can never match: it is about keys, and `identity` has no `keys`';
  }
  if (who.keys !== undefined && ofTokens !== undefined) {
    return `can never match: keys have no ${ofTokens}`;
  }
  return undefined;
}

/** What was written, where none of it matches. */
function unmatched(written: readonly string[] | undefined, known: readonly string[]): string | undefined {
  if (written === undefined) return undefined;
  const patterns = new NameSet(written, 'name');
  return known.some((name) => patterns.has(name) === 'yes')
    ? undefined
    : written.map((one) => `\`${one}\``).join(' or ');
}

function pointlessTests({ what = actions, with: tests }: Rule): string | undefined {
  if (Object.keys(tests).length === 0 || what.some((action) => withArguments.includes(action))) return undefined;
  return `tests arguments, which only ${withArguments.join(', ')} have`;
}

/** What a rule does not do where another denies everything that it matches. */
const missed = { allow: 'allow', deny: 'add', approval: 'ask about' } as const;

/** It only asks about what is allowed. */
function neverAsks({ effect, what = actions }: Rule, { rules, open }: PolicySettings): string | undefined {
  if (effect !== 'approval' || what.some((action) => open.includes(action))) return undefined;
  const isAllowed = (action: string) =>
    rules.some((rule) => rule.effect === 'allow' && (rule.what ?? actions).includes(action));
  return what.some(isAllowed)
    ? undefined
    : `can never ask: no rule allows ${what.join(' or ')}, and it allows nothing itself`;
}

function halfDenied({ effect, on }: Rule): string | undefined {
  const short = effect === 'allow' ? undefined : on.uris?.find((uri) => uri !== '*' && /(?:^|[^*\\])\*$/.test(uri));
  return (
    short &&
    `${effect === 'deny' ? 'denies' : 'asks about'} \`${short}\` up to the next slash only; \`${short}*\` is everything below`
  );
}

function pointlessAllow({ effect, what }: Rule, { open }: PolicySettings): string | undefined {
  if (effect !== 'allow' || what === undefined || !what.every((action) => open.includes(action))) return undefined;
  return `allows what needs no rule: ${what.join(', ')} ${what.length === 1 ? 'is' : 'are'} \`open\``;
}
