/** Finds rules that are valid but cannot be what their author meant. */
import { actions, thingsOf, withArguments } from './actions.ts';
import { compileGlob, type GlobStyle } from './glob.ts';
import { type TrustedCredentials, thingsIn } from './match.ts';
import { NameSet } from './names.ts';
import type { On, PolicySettings, Rule, Who } from './rules.ts';

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
  const denials = settings.rules.filter((rule) => rule.effect === 'deny' && rule.mode === 'enforce' && isPlain(rule));
  return settings.rules.flatMap((rule) => {
    const remarks = [
      ...[neverMeets(rule, places), pointlessTests(rule), halfDenied(rule), pointlessAllow(rule, settings)],
      ...(callers === undefined ? [] : [neverMeant(rule, callers)]),
    ];
    const over = denials.find((denial) => denial.id !== rule.id && covers(denial, rule));
    if (over !== undefined) {
      const text = `can never ${rule.effect === 'allow' ? 'allow' : 'add'} anything: \`${over.id}\` denies everything that it matches`;
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

/** Only tokens have groups, claims and issuers; only keys have key names. */
function neverMeant({ who }: Rule, { keys, issuers }: TrustedCredentials): string | undefined {
  const ofTokens = (['groups', 'claims', 'issuers'] as const).find((part) => who[part] !== undefined);
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

function pointlessTests({ what = actions, with: tests }: Rule): string | undefined {
  if (Object.keys(tests).length === 0 || what.some((action) => withArguments.includes(action))) return undefined;
  return `tests arguments, which only ${withArguments.join(', ')} have`;
}

function halfDenied({ effect, on }: Rule): string | undefined {
  const short = effect === 'deny' ? on.uris?.find((uri) => uri !== '*' && /(?:^|[^*\\])\*$/.test(uri)) : undefined;
  return short && `denies \`${short}\` up to the next slash only; \`${short}*\` is everything below`;
}

function pointlessAllow({ effect, what }: Rule, { open }: PolicySettings): string | undefined {
  if (effect !== 'allow' || what === undefined || !what.every((action) => open.includes(action))) return undefined;
  return `allows what needs no rule: ${what.join(', ')} ${what.length === 1 ? 'is' : 'are'} \`open\``;
}

/** Whether the rule denies everything that it covers, unconditionally. */
function isPlain({ with: tests, when, on }: Rule): boolean {
  return Object.keys(tests).length === 0 && when === undefined && on.annotations === undefined;
}

function covers(wide: Rule, narrow: Rule): boolean {
  return (
    (wide.what === undefined || (narrow.what ?? actions).every((action) => wide.what?.includes(action))) &&
    coversWho(wide.who, narrow.who) &&
    coversList(wide.on.endpoints, narrow.on.endpoints, 'path') &&
    coversList(wide.on.backends, narrow.on.backends, 'name') &&
    coversThings(wide.on, narrow)
  );
}

function coversThings(wide: On, { on, what = actions }: Rule): boolean {
  if (thingsIn(wide) === undefined) return true;
  const narrow = thingsIn(on);
  // A rule without targets also covers operations without a named target.
  if (narrow === undefined || what.some((action) => thingsOf(action).length === 0)) return false;
  const lists = { tools: 'name', prompts: 'name', uris: 'path', asks: 'name', methods: 'name' } as const;
  return (Object.keys(lists) as (keyof typeof lists)[]).every((list) => {
    const named = list === 'tools' && on.annotations !== undefined ? (on.tools ?? ['*']) : on[list];
    return named === undefined || (wide[list] !== undefined && coversList(wide[list], named, lists[list]));
  });
}

function coversWho(wide: Who, narrow: Who): boolean {
  const lists = (['principals', 'issuers', 'scopes', 'groups', 'keys'] as const).every((list) =>
    coversList(wide[list], narrow[list], 'name'),
  );
  return (
    lists &&
    Object.entries(wide.claims ?? {}).every(([claim, values]) => {
      const given = narrow.claims?.[claim];
      return given?.every((value) => values.includes(value)) ?? false;
    })
  );
}

/** Undefined covers everything. */
function coversList(
  wide: readonly string[] | undefined,
  narrow: readonly string[] | undefined,
  style: GlobStyle,
): boolean {
  if (wide === undefined) return true;
  return (narrow ?? ['*']).every((pattern) => wide.some((other) => coversPattern(other, pattern, style)));
}

/** Only certain cases: where it is not certain, nothing is reported. */
function coversPattern(wide: string, narrow: string, style: GlobStyle): boolean {
  if (wide === narrow) return true;
  const outer = compileGlob(wide, style);
  const inner = compileGlob(narrow, style);
  if (typeof outer === 'string' || typeof inner === 'string') return false;
  if (outer.form === 'all') return true;
  if (inner.form === 'exact') return outer.matches(inner.prefix) === true;
  if (outer.form === 'prefix') return inner.prefix.startsWith(outer.prefix);
  return outer.form === 'suffix' && inner.suffix.endsWith(outer.suffix);
}
