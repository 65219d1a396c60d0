/**
 * What rules have to say about a question before its arguments are looked at. Clients ask the same again and again with
 * other arguments, so this is remembered.
 */
import { BoundedMap } from '../exchange/bounded-map.ts';
import type { ThingKind } from './actions.ts';
import { type Candidate, candidateOf } from './match.ts';
import type { Evaluation } from './question.ts';
import type { RuleTable } from './table.ts';

/** The rules of a principal, by what they do. */
export interface RuleTables {
  readonly deny: RuleTable;
  readonly allow: RuleTable;
  readonly auditedDeny: RuleTable;
  readonly auditedAllow: RuleTable;
  readonly approval: RuleTable;
  readonly auditedApproval: RuleTable;
}

/** The rules that may apply to a question, each once, in their order. */
export class Case {
  readonly deny: readonly Candidate[];
  readonly allow: readonly Candidate[];
  readonly auditedDeny: readonly Candidate[];
  readonly auditedAllow: readonly Candidate[];
  readonly approval: readonly Candidate[];
  readonly auditedApproval: readonly Candidate[];
  readonly #action: string;
  readonly #name: string | undefined;
  readonly #kind: ThingKind | undefined;
  readonly #also: string | undefined;
  readonly #own: string | undefined;
  readonly #endpoint: string;
  readonly #backend: string;

  constructor(tables: RuleTables, evaluation: Evaluation) {
    this.deny = candidatesIn(tables.deny, evaluation);
    this.allow = candidatesIn(tables.allow, evaluation);
    this.auditedDeny = candidatesIn(tables.auditedDeny, evaluation);
    this.auditedAllow = candidatesIn(tables.auditedAllow, evaluation);
    this.approval = candidatesIn(tables.approval, evaluation);
    this.auditedApproval = candidatesIn(tables.auditedApproval, evaluation);
    this.#action = evaluation.action;
    this.#name = evaluation.name;
    this.#kind = evaluation.kind;
    this.#also = evaluation.also;
    this.#own = evaluation.own;
    this.#endpoint = evaluation.endpoint;
    this.#backend = evaluation.backend;
  }

  get size(): number {
    const { deny, allow, auditedDeny, auditedAllow, approval, auditedApproval } = this;
    return [deny, allow, auditedDeny, auditedAllow, approval, auditedApproval].reduce(
      (sum, { length }) => sum + length,
      0,
    );
  }

  /** Whether it is about the same question, apart from the arguments. */
  covers({ action, name, kind, also, own, endpoint, backend }: Evaluation): boolean {
    return (
      action === this.#action &&
      name === this.#name &&
      kind === this.#kind &&
      also === this.#also &&
      own === this.#own &&
      endpoint === this.#endpoint &&
      backend === this.#backend
    );
  }
}

const none: readonly Candidate[] = [];

function candidatesIn(table: RuleTable, evaluation: Evaluation): readonly Candidate[] {
  const rules = table.candidates(evaluation);
  if (rules.length === 0) return none;
  const ordered = [...new Set(rules)].sort((a, b) => a.order - b.order);
  return ordered.flatMap((rule) => candidateOf(rule, evaluation) ?? []);
}

/** Names are the clients' choice. Longer ones are not remembered, nor those that very many rules may apply to. */
const NAMES = 1_024;
const CASES_OF_NAME = 64;
const NAME_LENGTH = 256;
const CANDIDATES = 64;

export class KnownCases {
  readonly #tables: RuleTables;
  readonly #byName = new BoundedMap<Case[]>(NAMES);

  constructor(tables: RuleTables) {
    this.#tables = tables;
  }

  /** For a question whose arguments are known; what its rules say may not depend on the principal. */
  of(evaluation: Evaluation): Case {
    const { name = '' } = evaluation;
    const cases = this.#byName.get(name);
    if (cases !== undefined) for (const known of cases) if (known.covers(evaluation)) return known;
    const found = this.make(evaluation);
    const isSmall = found.size <= CANDIDATES && [name, evaluation.also, evaluation.own].every(isShort);
    if (isSmall) this.#remember(name, cases, found);
    return found;
  }

  make(evaluation: Evaluation): Case {
    return new Case(this.#tables, evaluation);
  }

  #remember(name: string, cases: Case[] | undefined, found: Case): void {
    if (cases === undefined) this.#byName.set(name, [found]);
    else {
      if (cases.length >= CASES_OF_NAME) cases.length = 0;
      cases.push(found);
    }
  }
}

function isShort(name: string | undefined): boolean {
  return name === undefined || name.length <= NAME_LENGTH;
}
