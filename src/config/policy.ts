/** Reads and checks `policy`. If there is one, whatever no rule allows is denied. */
import { compileGlob, type GlobStyle } from '../policy/glob.ts';
import type { World } from '../policy/match.ts';
import type { Condition, PolicySettings, Rule } from '../policy/rules.ts';
import { isObject } from '../wire/values.ts';
import type { ConfigDocument, Path } from './document.ts';
import type { Variables } from './expand.ts';
import { check } from './issues.ts';
import { readTerms } from './policy-approval.ts';
import { readCedar } from './policy-cedar.ts';
import { compileCondition } from './policy-condition.ts';
import { readDecisions } from './policy-decisions.ts';
import { policyShape, type RuleDraft, ruleShape } from './policy-shapes.ts';

const here: Path = ['policy'];

/** Undefined if absent, or invalid and reported: the gateway then does not start. */
export function readPolicy(document: ConfigDocument, variables: Variables, world: World): PolicySettings | undefined {
  const value = document.read(here, variables);
  if (value === undefined) return undefined;
  const draft = check(document, here, value, policyShape());
  const items = rulesIn(value);
  const trusted = draft?.trustAnnotationsOf ?? [];
  checkKnown(document, [...here, 'trustAnnotationsOf'], trusted, { known: world.backends, what: 'backend' });
  const ids = new Set<string>();
  const rules = items.flatMap((item, at): Rule[] => {
    const path = [...here, 'rules', at];
    const rule = check(document, path, item, ruleShape());
    if (rule === undefined) return [];
    if (ids.has(rule.id)) {
      const message = `another rule has the id \`${rule.id}\` already`;
      document.report([...path, 'id'], { message, expected: 'a unique id: audit records and errors refer to it' });
    }
    ids.add(rule.id);
    checkPlaces(document, path, rule, world);
    checkWho(document, path, rule, world);
    if (rule.on.annotations !== undefined && trusted.length === 0) {
      document.reportKey([...path, 'on', 'annotations'], {
        message: 'a rule uses annotations, but the annotations of no backend are trusted',
        expected: '`trustAnnotationsOf` under `policy`, with the backends to trust',
      });
    }
    const when = readCondition(document, [...path, 'when'], rule.when);
    const { by: _by, for: _for, ...rest } = rule;
    const own = { what: undefined, ...rest, with: rule.with?.arguments ?? {}, when };
    return [{ ...own, ...readTerms(document, path, rule) }];
  });
  const { decisions: points, cedar: files } = isObject(value) ? value : {};
  const decisions = readDecisions(document, [...here, 'decisions'], points);
  const cedar = readCedar(document, [...here, 'cedar'], files, variables);
  if (draft === undefined) return undefined;
  // A decision point in audit mode decides nothing.
  const deciding = (decisions ?? []).filter(({ mode }) => mode === 'enforce' || draft.mode === 'audit');
  const isWatchedOnly = decisions !== undefined && decisions.length > 0 && deciding.length === 0;
  if (draft.rules === undefined && files === undefined && (points === undefined || isWatchedOnly))
    document.reportKey(here, {
      message: isWatchedOnly ? '`rules` is missing, and no decision point enforces' : '`rules` is missing',
      expected: 'a list of rules; an empty one denies everything',
    });
  // Without rules of its own, a policy leaves to the others what they decide.
  const left = [...deciding.flatMap(({ what }) => what), ...(cedar === undefined ? [] : cedarActions), 'log'];
  const open = draft.rules === undefined ? [...new Set([...draft.open, ...left])] : draft.open;
  return {
    ...{ mode: draft.mode, groupsClaim: draft.groupsClaim, open, rules },
    trustAnnotationsOf: resolved(trusted, world.backends),
    ...(decisions && { decisions }),
    ...(cedar && { cedar }),
  };
}

/** What Cedar policies decide about. */
const cedarActions = ['call', 'get', 'read', 'subscribe', 'complete'];

/** The rules, even if other parts of the policy are invalid. */
function rulesIn(value: unknown): readonly unknown[] {
  if (typeof value !== 'object' || value === null || !('rules' in value)) return [];
  return Array.isArray(value.rules) ? value.rules : [];
}

function readCondition(document: ConfigDocument, path: Path, text: string | undefined): Condition | undefined {
  if (text === undefined) return undefined;
  const condition = compileCondition(text);
  if (!('problem' in condition)) return condition;
  document.report(path, { message: `\`when\` can't be used: ${condition.problem}`, expected: condition.expected });
  return undefined;
}

export function checkPlaces(
  document: ConfigDocument,
  path: Path,
  { on }: Pick<RuleDraft, 'on'>,
  { endpoints, backends }: World,
): void {
  checkKnown(document, [...path, 'on', 'endpoints'], on.endpoints ?? [], {
    known: endpoints,
    what: 'endpoint',
    style: 'path',
  });
  checkKnown(document, [...path, 'on', 'backends'], on.backends ?? [], { known: backends, what: 'backend' });
}

/** A subject is a name at its issuer: the same subject of a different issuer is a different person. */
export function checkWho(document: ConfigDocument, path: Path, { who }: Pick<RuleDraft, 'who'>, world: World): void {
  const { principals = [], issuers } = who;
  if (issuers !== undefined || (world.callers?.issuers ?? 0) < 2) return;
  const named = principals.find((one) => one !== '*' && one !== 'local' && !one.startsWith('key:'));
  if (named === undefined) return;
  document.report([...path, 'who', 'principals'], {
    message: `\`${named}\` could be a subject of any of the ${world.callers?.issuers} trusted issuers`,
    expected: '`issuers` beside it, with the issuer of that subject',
  });
}

interface KnownNames {
  readonly known: readonly string[];
  readonly what: string;
  readonly style?: GlobStyle;
}

/**
 * All endpoints and backends are in this file, so a pattern without a match is a mistake: the rule would never apply.
 */
function checkKnown(document: ConfigDocument, path: Path, given: readonly string[], place: KnownNames): void {
  const { known, what, style = 'name' } = place;
  given.forEach((pattern, at) => {
    if (resolved([pattern], known, style).length > 0) return;
    const message = `there is no ${what} \`${pattern}\``;
    const expected = known.length === 0 ? `the ${what}s of this file` : `one of: ${known.join(', ')}`;
    document.report([...path, at], { message, expected, candidates: known, wrong: pattern });
  });
}

function resolved(patterns: readonly string[], known: readonly string[], style: GlobStyle = 'name'): readonly string[] {
  const globs = patterns.map((pattern) => compileGlob(pattern, style));
  return known.filter((name) => globs.some((glob) => typeof glob !== 'string' && glob.matches(name) === true));
}
