/**
 * What a policy means, said as slowly and plainly as possible, for comparison. It shares no code with the policy room:
 * no index, no views, no compiled patterns. Names have `*` alone; URIs are in one spelling.
 */
import type { Principal } from '../../src/identity/principal.ts';
import type { ArgumentTest, PolicySettings, Rule } from '../../src/policy/rules.ts';

export interface Case {
  readonly principal: Principal;
  readonly action: string;
  readonly endpoint: string;
  readonly backend: string;
  readonly kind?: string | undefined;
  readonly name?: string | undefined;
  /** Undefined: not known, because a list is being shown. */
  readonly arguments?: Readonly<Record<string, unknown>> | undefined;
  readonly annotations: Readonly<Record<string, unknown>>;
}

export interface Expected {
  readonly allowed: boolean;
  readonly rules: readonly string[];
  readonly wouldDeny?: readonly string[];
  readonly wouldAllow?: readonly string[];
}

type Truth = boolean | 'broken' | 'unknown';

export function expected(settings: PolicySettings, given: Case): Expected {
  // The arguments of a task were judged when it was made.
  const asked = given.action === 'task' ? { ...given, arguments: undefined } : given;
  const real = verdict(settings, asked, false);
  const trial = verdict(settings, asked, true);
  if (settings.mode === 'audit') {
    if (!trial.allowed) return { allowed: true, rules: real.allowed ? real.rules : [], wouldDeny: trial.rules };
    return { allowed: true, rules: real.allowed ? real.rules : trial.rules };
  }
  if (real.allowed && !trial.allowed) return { ...real, wouldDeny: trial.rules };
  if (!real.allowed && trial.allowed) return { ...real, wouldAllow: trial.rules };
  return real;
}

export function verdict(settings: PolicySettings, asked: Case, everyRule: boolean): Expected {
  const first = rulesOnly(settings, asked, everyRule);
  if (!first.allowed || (asked.action !== 'complete' && asked.action !== 'subscribe')) return first;
  if (asked.kind === undefined || asked.name === undefined) return first;
  const use = asked.kind === 'prompt' ? 'get' : 'read';
  const second = rulesOnly(settings, { ...asked, action: use, arguments: undefined }, everyRule);
  return second.allowed ? first : second;
}

function rulesOnly(settings: PolicySettings, asked: Case, everyRule: boolean): Expected {
  const inForce = settings.rules.filter((rule) => rule.mode === 'enforce');
  const onTrial = everyRule ? settings.rules.filter((rule) => rule.mode === 'audit') : [];
  const denying = settings.rules.filter(
    (rule) =>
      (inForce.includes(rule) || onTrial.includes(rule)) && rule.effect === 'deny' && counts(settings, rule, asked),
  );
  if (denying.length > 0) return { allowed: false, rules: denying.map((rule) => rule.id) };
  for (const group of [inForce, onTrial]) {
    const allowing = group.find((rule) => rule.effect === 'allow' && counts(settings, rule, asked));
    if (allowing !== undefined) return { allowed: true, rules: [allowing.id] };
  }
  return { allowed: settings.open.includes(asked.action), rules: [] };
}

function counts(settings: PolicySettings, rule: Rule, asked: Case): boolean {
  const parts = partsOf(settings, rule, asked);
  if (parts.includes(false)) return false;
  if (rule.effect === 'deny') return !parts.includes('unknown');
  return !parts.includes('broken');
}

function partsOf(settings: PolicySettings, rule: Rule, asked: Case): Truth[] {
  const { principal } = asked;
  const { who, what, on } = rule;
  const parts: Truth[] = [];
  if (who.principals) parts.push(who.principals.some((entry) => isPrincipal(entry, principal)));
  if (who.groups)
    parts.push(who.groups.some((group) => listed(principal.claims.groups).some((own) => like(group, own))));
  if (who.scopes) {
    const { scopes } = principal;
    parts.push(scopes === 'all' || who.scopes.some((scope) => [...scopes].some((own) => like(scope, own))));
  }
  for (const [claim, values] of Object.entries(who.claims ?? {})) {
    const own = listed(principal.claims[claim]);
    parts.push(
      values.some((value) => own.some((one) => (typeof value === 'string' ? like(value, one) : value === one))),
    );
  }
  if (who.keys) parts.push(who.keys.some((name) => principal.keyName !== undefined && like(name, principal.keyName)));
  if (what) parts.push(what.includes(asked.action) || (asked.action === 'task' && what.includes('call')));
  if (on.endpoints) parts.push(on.endpoints.some((path) => like(path, asked.endpoint)));
  if (on.backends) parts.push(asked.backend === '' ? 'unknown' : on.backends.some((name) => like(name, asked.backend)));
  const named = { tool: on.tools, prompt: on.prompts, resource: on.uris, ask: on.asks, method: on.methods } as Record<
    string,
    readonly string[]
  >;
  const speaksOfThings = on.tools || on.prompts || on.uris || on.asks || on.methods || on.annotations;
  if (speaksOfThings) {
    const names = named[asked.kind ?? ''] ?? (asked.kind === 'tool' && on.annotations ? ['*'] : undefined);
    if (names === undefined) parts.push(false);
    else if (asked.name === undefined) parts.push('unknown');
    else parts.push(rule.effect === 'deny' ? isMeantBy(names, asked) : isAmong(names, asked));
  }
  if (on.annotations && asked.kind === 'tool') {
    if (asked.name === undefined) parts.push('unknown');
    else {
      const believed = settings.trustAnnotationsOf.includes(asked.backend) ? asked.annotations : {};
      const readsOnly = believed.readOnlyHint === true;
      const destroys = !readsOnly && believed.destructiveHint !== false;
      if (on.annotations.readOnlyHint !== undefined) parts.push(on.annotations.readOnlyHint === readsOnly);
      if (on.annotations.destructiveHint !== undefined) parts.push(on.annotations.destructiveHint === destroys);
    }
  }
  for (const [argument, test] of Object.entries(rule.with)) {
    parts.push(asked.arguments === undefined ? 'unknown' : passes(test, asked.arguments[argument]));
  }
  if (rule.when) parts.push(holds(rule.when.text, asked));
  return parts;
}

function isPrincipal(entry: string, principal: Principal): boolean {
  if (entry === '*') return true;
  if (principal.kind === 'local') return entry === 'local';
  if (principal.kind === 'key') return like(entry, `key:${principal.keyName}`) && entry.startsWith('key:');
  return entry !== 'local' && !entry.startsWith('key:') && like(entry, principal.subject);
}

function listed(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value];
}

/** Addresses that can be read in several ways; in none, where it is open to whom they lead. */
export const spellings: Readonly<Record<string, readonly string[]>> = {
  'FILE:///a/b': ['FILE:///a/b', 'file:///a/b'],
  'file:///%61/b': ['file:///%61/b', 'file:///a/b'],
  'file://localhost/a/b': ['file://localhost/a/b', 'file:///a/b'],
  'file:///c/../a/b': [],
  'file:///a//b': [],
};

/** For a rule that allows: the name that is listed, in all of its spellings. */
function isAmong(patterns: readonly string[], { kind, name = '' }: Case): Truth {
  if (kind !== 'resource') return patterns.some((pattern) => like(pattern, name));
  if (patterns.includes('*')) return true;
  const truths = (spellings[name] ?? [name]).map((one) => patterns.some((pattern) => likePath(pattern, one)));
  return truths.length > 0 && new Set(truths).size === 1 ? truths[0]! : 'broken';
}

/** For a rule that denies: one of the names that the thing has anywhere, in one of its spellings, is enough. */
function isMeantBy(patterns: readonly string[], { kind, name = '', backend }: Case): Truth {
  if (kind !== 'resource') return namesAnywhere(kind, name, backend).some((one) => patterns.some((p) => like(p, one)));
  if (patterns.includes('*')) return true;
  const readings = spellings[name] ?? [name];
  if (readings.length === 0) return 'broken';
  return addressesAnywhere(name, backend).some((one) => patterns.some((pattern) => likePath(pattern, one)));
}

function namesAnywhere(kind: string | undefined, name: string, backend: string): readonly string[] {
  return backend === '' || (kind !== 'tool' && kind !== 'prompt') ? [name] : [name, `${backend}__${name}`];
}

function addressesAnywhere(name: string, backend: string): readonly string[] {
  const readings = (spellings[name] ?? [name]).flatMap((one) => [one, `${one}/`]);
  return backend === '' ? readings : [...readings, ...readings.map((one) => `bascule:${backend}/${one}`)];
}

/** `*` ends at a slash, `**` does not. */
function likePath(pattern: string, text: string): boolean {
  if (pattern === '') return text === '';
  if (!pattern.startsWith('*'))
    return text !== '' && pattern[0] === text[0] && likePath(pattern.slice(1), text.slice(1));
  const stars = pattern.startsWith('**') ? 2 : 1;
  const reach = stars === 2 || !text.includes('/') ? text.length : text.indexOf('/');
  return Array.from({ length: reach + 1 }, (_, at) => text.slice(at)).some((end) =>
    likePath(pattern.slice(stars), end),
  );
}

/** `*` is any text; two of them are one. */
function like(pattern: string, text: unknown): boolean {
  if (typeof text !== 'string') return false;
  if (pattern === '') return text === '';
  if (pattern.startsWith('*')) {
    const rest = pattern.slice(1);
    return Array.from({ length: text.length + 1 }, (_, at) => text.slice(at)).some((end) => like(rest, end));
  }
  return text !== '' && pattern[0] === text[0] && like(pattern.slice(1), text.slice(1));
}

function passes(test: ArgumentTest, value: unknown): Truth {
  if (value === undefined || value === null) {
    return test.present === false || (test.equals?.includes(null) === true && Object.keys(test).length === 1);
  }
  if (test.present === false) return false;
  const each = (one: (item: unknown) => Truth): Truth => {
    if (!Array.isArray(value)) return one(value);
    if (value.length === 0) return false;
    const truths = new Set(value.map(one));
    return truths.size === 1 ? ([...truths][0] as Truth) : 'broken';
  };
  const truths: Truth[] = [];
  const { equals, glob, min, max } = test;
  if (equals)
    truths.push(
      each((item) => {
        if (typeof item === 'object' && item !== null) return 'broken';
        if (equals.includes(item as string)) return true;
        return equals.some((one) => typeof one === typeof item) ? false : 'broken';
      }),
    );
  if (glob)
    truths.push(each((item) => (typeof item === 'string' ? glob.some((pattern) => like(pattern, item)) : 'broken')));
  if (min !== undefined)
    truths.push(each((item) => (typeof item === 'number' ? item >= min && item <= (max ?? item) : 'broken')));
  if (truths.includes(false)) return false;
  return truths.includes('broken') ? 'broken' : true;
}

/** The expressions that the property test knows, in this language. */
export const conditions: Readonly<Record<string, (asked: Case) => Truth>> = {
  'arguments.n < 3': ({ arguments: given }) =>
    given === undefined ? 'unknown' : typeof given.n === 'number' ? given.n < 3 : 'broken',
  "principal.kind == 'key'": ({ principal }) => principal.kind === 'key',
  "name == 'ab'": isAb,
  "name == 'ab' && arguments.n < 3": (asked) => both(isAb(asked), asked),
  "arguments.n < 3 && 'ci' == principal.key && kind == 'tool'": (asked) =>
    both(asked.principal.keyName === 'ci' && asked.kind === 'tool', asked),
  "action == 'call' || name == 'ab'": (asked) => {
    const is = isAb(asked);
    return typeof is === 'string' ? is : is || asked.action === 'call';
  },
  "!(principal.subject == 'alice')": ({ principal }) => principal.subject !== 'alice',
  "endpoint == '/mcp' && action == 'call'": ({ endpoint, action }) => endpoint === '/mcp' && action === 'call',
  "backend == 'files'": ({ backend }) => (backend === '' ? 'unknown' : backend === 'files'),
  'principal.claims.level > 2': ({ principal }) =>
    typeof principal.claims.level === 'number' ? principal.claims.level > 2 : 'broken',
};

/** Of a name that can be read in several ways no condition can say anything. */
function isAb({ kind, name }: Case): Truth {
  if (kind !== undefined && name === undefined) return 'unknown';
  return kind === 'resource' && Object.hasOwn(spellings, name ?? '') ? 'broken' : name === 'ab';
}

/** The first, and that `n` is less than 3. What is not so is not so, whatever is not known yet. */
function both(first: Truth, asked: Case): Truth {
  if (first === false) return false;
  if (asked.arguments === undefined || first === 'unknown') return 'unknown';
  if (first === 'broken') return 'broken';
  return typeof asked.arguments.n === 'number' ? asked.arguments.n < 3 : 'broken';
}

function holds(text: string, asked: Case): Truth {
  const condition = conditions[text];
  if (condition === undefined) throw new Error(`not known here: ${text}`);
  return condition(asked);
}
