/** What policy is asked, and what it looks up of it: each thing once, and only if a rule wants to know. */
import type { Principal } from '../identity/principal.ts';
import type { MethodRow } from '../wire/methods.ts';
import { isObject } from '../wire/values.ts';
import { askKind, type ThingKind } from './actions.ts';
import { bounded, principalFacts, unseen } from './facts.ts';
import { type FullHints, fullHints } from './hints.ts';
import type { Effect, FactName, Need } from './rules.ts';
import { type Encode, type Spelled, spelledAsListed, spelledInEveryWay, templateAsListed } from './spellings.ts';

export interface Thing {
  readonly kind: ThingKind;
  /** As the catalog lists it to clients of the endpoint, however this client spelled it. Absent: any of the kind. */
  readonly name?: string | undefined;
  /** Another name that it may be listed by, where that could not be found out: rules that allow must hold for both, rules that deny for one. */
  readonly also?: string | undefined;
  /** What its backend calls it, where that is not `name`. Rules that deny hold for it as well, rules that allow do not look at it. */
  readonly own?: string | undefined;
}

/** What is done, as far as policy looks at it. */
export type Operation = Pick<MethodRow, 'method' | 'kind' | 'action' | 'list'>;

export interface PolicyQuestion extends Circumstances {
  readonly row: Operation;
  /** The value of `params.arguments`, or of a JSON-RPC service's `params`; called at most once, and only where a rule looks at it. */
  readonly arguments?: (() => unknown) | undefined;
}

export interface Circumstances {
  readonly principal: Principal;
  /** Its path. */
  readonly endpoint: string;
  /** Empty where none is meant, or where it is not known yet. */
  readonly backend: string;
  /** What it is done to; an ask is found by its method. */
  readonly thing?: Thing | undefined;
  /** The tool's `annotations` as the backend gave them. */
  readonly annotations?: (() => unknown) | undefined;
}

export interface Looking {
  readonly groupsClaim: string;
  readonly trusted: ReadonlySet<string>;
  readonly encode: Encode;
}

/**
 * How much of it is fixed. `all`: it is about to be done. `thing`: it is done to this very thing, with whatever arguments.
 * `entry`: a list is being shown, and what cannot be said yet is left open.
 */
export type Fixed = 'all' | 'thing' | 'entry';

export class Evaluation {
  readonly action: string;
  readonly kind: ThingKind | undefined;
  readonly name: string | undefined;
  readonly also: string | undefined;
  readonly own: string | undefined;
  readonly endpoint: string;
  readonly backend: string;
  readonly principal: Principal;
  /** Whether the arguments are known: they are not while a list is being shown. */
  readonly complete: boolean;
  /** Whether it is done to all that the thing may stand for. */
  readonly whole: boolean;
  readonly #asked: Circumstances & Pick<PolicyQuestion, 'arguments'>;
  readonly #looking: Looking;
  #arguments: { readonly value: unknown } | undefined;
  #visible: unknown;
  #person: ReadonlyMap<string, unknown> | undefined;
  #hints: FullHints | undefined;
  #listed: Spelled | undefined;
  #every: Spelled | undefined;
  /** By which name a condition is being asked about it. */
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

  /** Undefined where it is not known. */
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

  /** The names that a rule of this effect is held against. */
  spelled(effect: Effect): Spelled {
    if (effect === 'allow') {
      this.#listed ??= spelledAsListed(this);
      return this.#listed;
    }
    this.#every ??= spelledInEveryWay(this, this.#looking.encode);
    return this.#every;
  }

  /** The names that a condition is asked about; undefined where the name is not known, or can be read in several ways. */
  namesFor(effect: Effect): readonly string[] | undefined {
    if (this.kind !== undefined && this.name === undefined) return undefined;
    const listed = this.kind === 'template' ? templateAsListed(this) : this.spelled('allow');
    return listed.isAmbiguous || listed.names.length > 1 ? undefined : this.spelled(effect).names;
  }

  /** Facts about the thing under one of its names. */
  called(name: string): (fact: FactName) => unknown {
    this.#calledNow = name;
    return this.fact;
  }

  get arguments(): unknown {
    this.#arguments ??= { value: this.#asked.arguments?.() ?? {} };
    return this.#arguments.value;
  }

  get hints(): FullHints {
    this.#hints ??= fullHints(this.#looking.trusted.has(this.backend) ? this.#asked.annotations?.() : undefined);
    return this.#hints;
  }

  readonly fact = (name: FactName): unknown => {
    switch (name) {
      case 'principal':
        this.#person ??= principalFacts(this.principal, this.#looking.groupsClaim);
        return this.#person;
      case 'arguments':
        // By position nobody can say which is which.
        this.#visible ??= isObject(this.arguments) ? bounded(this.arguments) : unseen;
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
  };
}

function thingOf(row: Operation | undefined): Thing | undefined {
  if (row === undefined) return undefined;
  const ask = row.action === 'ask' ? askKind(row.method) : undefined;
  if (ask !== undefined) return { kind: 'ask', name: ask };
  if (row.list !== undefined) return { kind: listed[row.list] };
  return undefined;
}

const listed = { tools: 'tool', prompts: 'prompt', resources: 'resource', resourceTemplates: 'template' } as const;
