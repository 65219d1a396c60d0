/** A question to policy, and its facts: each is computed once, and only if a rule reads it. */
import type { Principal } from '../identity/principal.ts';
import type { MethodRow } from '../wire/methods.ts';
import { isObject } from '../wire/values.ts';
import { askKind, listed, type ThingKind } from './actions.ts';
import { bounded, type FullHints, fullHints, isSmall, principalFacts, scalarAt, tooLarge } from './facts.ts';
import type { Effect, FactName, Facts, Need } from './rules.ts';
import { type Encode, type Spelled, spelledAsListed, spelledInEveryWay, templateAsListed } from './spellings.ts';

export interface Thing {
  readonly kind: ThingKind;
  /** As the catalog lists it to the endpoint's clients, however this client spelled it. Undefined: any of the kind. */
  readonly name?: string | undefined;
  /**
   * A second name by which it may be listed, if the listed name is unknown: an allow rule must hold for both, a deny
   * rule for one.
   */
  readonly also?: string | undefined;
  /** Its backend's own name, if different from `name`. Deny rules apply to it too; allow rules ignore it. */
  readonly own?: string | undefined;
}

/** The parts of a method's row that policy reads. */
export type Operation = Pick<MethodRow, 'method' | 'kind' | 'action' | 'list'>;

export interface PolicyQuestion extends Circumstances {
  readonly row: Operation;
  /**
   * The value of `params.arguments`, or of a JSON-RPC service's `params`. Called at most once, and only if a rule reads
   * it.
   */
  readonly arguments?: (() => unknown) | undefined;
}

export interface Circumstances {
  readonly principal: Principal;
  /** The endpoint's path. */
  readonly endpoint: string;
  /** Empty if there is none, or if it is not known yet. */
  readonly backend: string;
  /** The target. For a server request, it follows from the method. */
  readonly thing?: Thing | undefined;
  /** The tool's `annotations` as the backend sent them. */
  readonly annotations?: (() => unknown) | undefined;
}

export interface Looking {
  readonly groupsClaim: string;
  readonly trusted: ReadonlySet<string>;
  readonly encode: Encode;
}

/**
 * How much of the question is known. `all`: the operation is about to happen. `thing`: the target is known, the
 * arguments are not. `entry`: a list is being shown, and what is unknown stays open.
 */
export type Fixed = 'all' | 'thing' | 'entry';

export class Evaluation implements Facts {
  readonly action: string;
  readonly kind: ThingKind | undefined;
  readonly name: string | undefined;
  readonly also: string | undefined;
  readonly own: string | undefined;
  readonly endpoint: string;
  readonly backend: string;
  readonly principal: Principal;
  /** Whether the arguments are known: while a list is shown they are not. */
  readonly complete: boolean;
  /** Whether the operation concerns everything that the target may stand for. */
  readonly whole: boolean;
  readonly #asked: Circumstances & Pick<PolicyQuestion, 'arguments'>;
  readonly #looking: Looking;
  /** Undefined until a rule reads them. */
  #arguments: unknown;
  #isSmall: boolean | undefined;
  #visible: unknown;
  #person: ReadonlyMap<string, unknown> | undefined;
  #hints: FullHints | undefined;
  #listed: Spelled | undefined;
  #every: Spelled | undefined;
  /** The name under which a condition is being evaluated. */
  #calledNow: string | undefined;

  constructor(action: string, asked: Circumstances & Partial<PolicyQuestion>, fixed: Fixed, looking: Looking) {
    this.action = action;
    const thing = asked.thing ?? thingOf(asked.row);
    this.kind = thing?.kind;
    this.name = thing?.name;
    this.also = thing?.also;
    this.own = thing?.own;
    this.endpoint = asked.endpoint;
    this.backend = asked.backend;
    this.principal = asked.principal;
    this.complete = fixed === 'all';
    this.whole = fixed !== 'entry';
    this.#asked = asked;
    this.#looking = looking;
  }

  /** Undefined if it is unknown. */
  known({ fact, member }: { readonly fact: Exclude<Need['fact'], 'name'>; readonly member?: Need['member'] }) {
    switch (fact) {
      case 'principal': {
        const { principal } = this;
        return (member === 'key' ? principal.keyName : principal[member ?? 'kind']) ?? '';
      }
      case 'backend':
        return this.backend === '' ? undefined : this.backend;
      case 'kind':
        return this.kind ?? '';
      default:
        return this[fact];
    }
  }

  /** The names that a rule with this effect is compared with. */
  spelled(effect: Effect): Spelled {
    if (effect === 'allow') {
      this.#listed ??= spelledAsListed(this);
      return this.#listed;
    }
    this.#every ??= spelledInEveryWay(this, this.#looking.encode);
    return this.#every;
  }

  /** The names that a condition is evaluated for; undefined if the name is unknown or ambiguous. */
  namesFor(effect: Effect): readonly string[] | undefined {
    if (this.kind !== undefined && this.name === undefined) return undefined;
    const listed = this.kind === 'template' ? templateAsListed(this) : this.spelled('allow');
    return listed.isAmbiguous || listed.names.length > 1 ? undefined : this.spelled(effect).names;
  }

  /** Facts about the target under one of its names. */
  called(name: string): this {
    this.#calledNow = name;
    return this;
  }

  get arguments(): unknown {
    this.#arguments ??= this.#asked.arguments?.() ?? {};
    return this.#arguments;
  }

  get hints(): FullHints {
    this.#hints ??= fullHints(this.trustedAnnotations);
    return this.#hints;
  }

  /** As the backend gave them; undefined where it is not trusted. */
  get trustedAnnotations(): unknown {
    return this.#looking.trusted.has(this.backend) ? this.#asked.annotations?.() : undefined;
  }

  fact(name: FactName): unknown {
    switch (name) {
      case 'principal':
        this.#person ??= principalFacts(this.principal, this.#looking.groupsClaim);
        return this.#person;
      case 'arguments':
        // Positional arguments have no names to read them by.
        this.#visible ??= isObject(this.arguments) ? bounded(this.arguments) : tooLarge;
        return this.#visible;
      case 'annotations':
        return new Map(Object.entries(this.hints));
      case 'kind':
        return this.kind ?? '';
      case 'name':
        return this.#calledNow ?? this.name ?? '';
      default:
        return this[name];
    }
  }

  argument(steps: readonly string[]): unknown {
    this.#isSmall ??= isSmall(this.arguments);
    return scalarAt(this.#isSmall ? this.arguments : this.fact('arguments'), steps);
  }
}

function thingOf(row: Operation | undefined): Thing | undefined {
  if (row === undefined) return undefined;
  const ask = row.action === 'ask' ? askKind(row.method) : undefined;
  if (ask !== undefined) return { kind: 'ask', name: ask };
  if (row.list !== undefined) return { kind: listed[row.list].kind };
  return undefined;
}
