/**
 * Decides by Cedar policies. A permit is needed, a forbid overrides it, and any error denies: Cedar itself skips a
 * policy whose condition fails, also a forbid.
 */
import type { AuthorizationAnswer } from '@cedar-policy/cedar-wasm/nodejs';
import { BoundedMap } from '../../exchange/bounded-map.ts';
import type { Principal } from '../../identity/principal.ts';
import type { Evaluation } from '../../policy/question.ts';
import type { SecondJudge, SecondVerdict } from '../../policy/second-judge.ts';
import { isObject } from '../../wire/values.ts';
import { type Attributes, attributesIn, variables } from './attributes.ts';
import {
  argumentAttributes,
  type CedarPrincipal,
  cedarPrincipal,
  EntityStore,
  hintAttributes,
  resourceEntity,
  targetOf,
} from './entities.ts';
import type { CedarModule } from './module.ts';
import { conditionsOf, forbidsAmong } from './policies.ts';
import { PreparedPolicies } from './prepared.ts';
import type { CedarSettings } from './settings.ts';
import { isWellFormed } from './values.ts';

/** For a principal: of 2,048 entries of lists, more than a person or a model reads, each under two names. */
const KEPT_DECISIONS = 4_096;
/** Those that are asking: a token is verified again every few minutes. */
const KEPT_PRINCIPALS = 64;
/** A call with more arguments, or longer names, is denied without a decision: each becomes two attributes. */
const MOST_ARGUMENTS = 256;
const NAME_CHARACTERS = 256;

const judgedActions: ReadonlySet<string> = new Set(['call', 'get', 'read', 'subscribe', 'complete']);

interface KnownPrincipal {
  /** Undefined where Cedar has no name for it. */
  readonly principal: CedarPrincipal | undefined;
  readonly decisions: BoundedMap<SecondVerdict>;
}

/** One name of the target, and the policies to judge it by. */
interface NamedEvaluation {
  readonly evaluation: Evaluation;
  readonly policies: PreparedPolicies;
  readonly name: string;
  readonly principal: CedarPrincipal;
}

/** Cedar cannot judge it. */
const denied: SecondVerdict = { allowed: false, rules: ['cedar'] };
/** No policy applies. */
const unpermitted: SecondVerdict = { ...denied };

export class CedarJudge implements SecondJudge {
  readonly readsAnnotations: boolean;
  readonly #settings: CedarSettings;
  readonly #policies: PreparedPolicies;
  /** Undefined where there are none. */
  readonly #forbids: PreparedPolicies | undefined;
  readonly #store: EntityStore;
  readonly #isDecimal: (attribute: string) => boolean;
  readonly #principals = new WeakMap<Principal, KnownPrincipal>();
  /** By all that Cedar is told: a token that is verified again is a new principal with the same decisions. */
  readonly #byContent = new BoundedMap<KnownPrincipal>(KEPT_PRINCIPALS);

  constructor(settings: CedarSettings, cedar: CedarModule) {
    const attributes = attributesIn(conditionsOf(settings.policies, cedar));
    this.#settings = settings;
    this.#policies = new PreparedPolicies(settings.policies, cedar);
    const forbids = forbidsAmong(settings.policies, cedar);
    this.#forbids = forbids.length === 0 ? undefined : new PreparedPolicies(forbids, cedar);
    this.#store = new EntityStore(settings.entities);
    this.#isDecimal = (name) => isDecimalIn(attributes, name);
    this.readsAnnotations = settings.policies.some(({ text }) => text.includes('Hint'));
  }

  judge(evaluation: Evaluation): SecondVerdict | undefined {
    const { action, kind, whole } = evaluation;
    // A template in a list stands for many resources: each of them is judged when it is read.
    if (!judgedActions.has(action) || targetOf(kind) === undefined || (kind === 'template' && !whole)) return undefined;
    const known = this.#known(evaluation.principal);
    if (known.principal === undefined) return denied;
    try {
      return this.#judgeNames(evaluation, known, known.principal);
    } catch {
      return denied;
    }
  }

  /**
   * A permit is needed for the name that the endpoint lists, and for every reading of it: a backend may decode a URI,
   * and resolve its dots. A forbid counts for all names of the target.
   */
  #judgeNames(evaluation: Evaluation, known: KnownPrincipal, principal: CedarPrincipal): SecondVerdict {
    if (evaluation.name === undefined) return denied;
    const listed = evaluation.spelled('allow');
    if (listed.isAmbiguous) return denied;
    const judgeBy = (policies: PreparedPolicies) => (name: string) =>
      this.#judgeName({ evaluation, policies, name, principal }, known);
    const verdicts = listed.names.map(judgeBy(this.#policies));
    const refusing = verdicts.find(({ allowed }) => !allowed);
    if (refusing !== undefined || this.#forbids === undefined) return refusing ?? verdicts[0] ?? denied;
    const others = evaluation.spelled('deny').names.filter((name) => !listed.names.includes(name));
    const forbidding = others.map(judgeBy(this.#forbids)).find((verdict) => verdict !== unpermitted);
    return forbidding ?? verdicts[0] ?? denied;
  }

  /** While a list is shown, there are no arguments: the decision depends on little, and is kept. */
  #judgeName(named: NamedEvaluation, { decisions }: KnownPrincipal): SecondVerdict {
    const { evaluation, policies, name } = named;
    if (!isWellFormed(name)) return denied;
    const hints = this.readsAnnotations ? hintAttributes(evaluation.trustedAnnotations) : {};
    if (evaluation.complete) return this.#evaluate(named, hints);
    const key = JSON.stringify([policies === this.#forbids, evaluation.kind, evaluation.backend, name, hints]);
    const kept = decisions.get(key) ?? this.#evaluate(named, hints);
    decisions.set(key, kept);
    return kept;
  }

  #evaluate(
    { evaluation, policies, name, principal: { entity, claims } }: NamedEvaluation,
    hints: Readonly<Record<string, unknown>>,
  ): SecondVerdict {
    const { kind, backend, complete } = evaluation;
    const target = targetOf(kind);
    const given = complete ? evaluation.arguments : {};
    if (target === undefined || !isObject(given) || !isNamedShortly(given)) return denied;
    const args = argumentAttributes(given, this.#isDecimal);
    if (args === undefined) return denied;
    const resource = resourceEntity(target, name, backend, { ...hints, ...args });
    return verdictOf(
      policies.decide({
        principal: entity.uid,
        action: { type: 'Action', id: target.action },
        resource: resource.uid,
        context: { ...claims, ...args },
        entities: this.#store.with([entity, resource]),
      }),
    );
  }

  #known(principal: Principal): KnownPrincipal {
    const known = this.#principals.get(principal);
    if (known !== undefined) return known;
    const told = cedarPrincipal(principal, this.#settings, this.#isDecimal);
    const content = JSON.stringify(told?.entity ?? null);
    const made = this.#byContent.get(content) ?? {
      principal: told,
      decisions: new BoundedMap<SecondVerdict>(KEPT_DECISIONS),
    };
    this.#byContent.set(content, made);
    this.#principals.set(principal, made);
    return made;
  }
}

function verdictOf(answer: AuthorizationAnswer): SecondVerdict {
  if (answer.type === 'failure') return denied;
  const { decision, diagnostics } = answer.response;
  if (diagnostics.errors.length > 0)
    return { allowed: false, rules: named(diagnostics.errors.map((one) => one.policyId)) };
  if (decision === 'deny' && diagnostics.reason.length === 0) return unpermitted;
  return { allowed: decision === 'allow', rules: named(diagnostics.reason) };
}

function named(ids: readonly string[]): readonly string[] {
  return [...ids].sort().map((id) => `cedar:${id}`);
}

function isNamedShortly(given: Readonly<Record<string, unknown>>): boolean {
  const names = Object.keys(given);
  return names.length <= MOST_ARGUMENTS && names.every((name) => name.length <= NAME_CHARACTERS && isWellFormed(name));
}

function isDecimalIn(attributes: Attributes, name: string): boolean {
  return variables.some((variable) => {
    const type = attributes.get(variable)?.get(name);
    return type?.type === 'Extension' && type.name === 'decimal';
  });
}
