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
import { conditionsOf } from './policies.ts';
import { PreparedPolicies } from './prepared.ts';
import type { CedarSettings } from './settings.ts';
import { isWellFormed } from './values.ts';

/** Entries of lists whose decision is kept for a principal: more than any list that a person or a model reads. */
const KEPT_DECISIONS = 2_048;
/** A call with more arguments, or longer names, is judged by nobody: each becomes two attributes. */
const MOST_ARGUMENTS = 256;
const NAME_CHARACTERS = 256;

const judgedActions: ReadonlySet<string> = new Set(['call', 'get', 'read', 'subscribe', 'complete']);

interface KnownPrincipal {
  /** Undefined where Cedar has no name for it. */
  readonly principal: CedarPrincipal | undefined;
  readonly decisions: BoundedMap<SecondVerdict>;
}

/** Cedar cannot judge it. */
const denied: SecondVerdict = { allowed: false, rules: ['cedar'] };
/** No policy applies. */
const unpermitted: SecondVerdict = { ...denied };

export class CedarJudge implements SecondJudge {
  readonly readsAnnotations: boolean;
  readonly #settings: CedarSettings;
  readonly #policies: PreparedPolicies;
  readonly #store: EntityStore;
  readonly #isDecimal: (attribute: string) => boolean;
  readonly #principals = new WeakMap<Principal, KnownPrincipal>();

  constructor(settings: CedarSettings, cedar: CedarModule) {
    const attributes = attributesIn(conditionsOf(settings.policies, cedar));
    this.#settings = settings;
    this.#policies = new PreparedPolicies(settings.policies, cedar);
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

  /** Permits are for the name that the endpoint lists; a forbid also counts for the backend's own name. */
  #judgeNames(evaluation: Evaluation, known: KnownPrincipal, principal: CedarPrincipal): SecondVerdict {
    const { name, also, own } = evaluation;
    if (name === undefined) return denied;
    const verdict = this.#judgeName(evaluation, name, known, principal);
    if (!verdict.allowed) return verdict;
    if (also !== undefined && also !== name) {
      const other = this.#judgeName(evaluation, also, known, principal);
      if (!other.allowed) return other;
    }
    const ofOwn = own === undefined || own === name ? verdict : this.#judgeName(evaluation, own, known, principal);
    return ofOwn.allowed || ofOwn === unpermitted ? verdict : ofOwn;
  }

  /** While a list is shown, there are no arguments: the decision depends on little, and is kept. */
  #judgeName(
    evaluation: Evaluation,
    name: string,
    { decisions }: KnownPrincipal,
    principal: CedarPrincipal,
  ): SecondVerdict {
    if (!isWellFormed(name)) return denied;
    const hints = this.readsAnnotations ? hintAttributes(evaluation.trustedAnnotations) : {};
    if (evaluation.complete) return this.#evaluate(evaluation, name, principal, hints);
    const key = JSON.stringify([evaluation.kind, evaluation.backend, name, hints]);
    const kept = decisions.get(key) ?? this.#evaluate(evaluation, name, principal, hints);
    decisions.set(key, kept);
    return kept;
  }

  #evaluate(
    evaluation: Evaluation,
    name: string,
    { entity, claims }: CedarPrincipal,
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
      this.#policies.decide({
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
    const made = {
      principal: cedarPrincipal(principal, this.#settings, this.#isDecimal),
      decisions: new BoundedMap<SecondVerdict>(KEPT_DECISIONS),
    };
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
