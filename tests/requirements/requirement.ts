/** The shape of one requirement, and the words in which the rows of the catalogue are written. */
import type { Era, Revision } from '../../src/wire/revisions.ts';

/**
 * Work that is still to come. A requirement may be deferred to one of these and to nothing else, so that none is
 * deferred to never.
 */
export const pieces = {
  bridge: 'Full translation between the eras: all 25 pairs of revisions, subscriptions across eras',
  catalog: 'Many backends behind one endpoint',
  identity: 'Who is calling: the gateway as a resource server',
  policy: 'Rules, limits and the audit trail',
  oauth: 'OAuth towards backends, and the bundled authorization server',
  tasks: 'Tasks, in both eras, as a whole',
} as const;

export type Piece = keyof typeof pieces;

/**
 * Where a requirement comes from: a section of the specification, without the address in front of it; `sdk` where the
 * specification is silent but the suites of the official SDKs agree; `gateway` where the rule is our own.
 */
export type Source = `${Revision}/${string}` | 'sdk' | 'gateway';

/** For which revisions it is asked. An array where the eras are too coarse. */
export type Revisions = 'all' | Era | readonly Revision[];

export type Status =
  | { readonly kind: 'held' }
  /** We do otherwise, on purpose. A test pins what we do instead. */
  | { readonly kind: 'divergent'; readonly reason: string }
  | { readonly kind: 'deferred'; readonly to: Piece }
  /** Asked of a client or a server, and nothing that a gateway could keep or break. */
  | { readonly kind: 'not-applicable'; readonly reason: string };

export type StatusKind = Status['kind'];

/** In the order in which people want to read them. */
export const statusKinds = ['held', 'divergent', 'deferred', 'not-applicable'] as const satisfies readonly StatusKind[];

export interface Requirement {
  readonly spec: Source;
  readonly revisions: Revisions;
  /** One sentence: how a gateway shows it. Where it does not hold, what would be asked. */
  readonly behaviour: string;
  readonly status: Status;
}

/** Keyed by id. */
export type Catalogue = Readonly<Record<string, Requirement>>;

interface Facts {
  readonly spec: Source;
  readonly behaviour: string;
  /** Every revision unless it says otherwise. */
  readonly revisions?: Revisions;
}

function row(facts: Facts, status: Status): Requirement {
  return { spec: facts.spec, revisions: facts.revisions ?? 'all', behaviour: facts.behaviour, status };
}

export function held(facts: Facts): Requirement {
  return row(facts, { kind: 'held' });
}

export function divergent(facts: Facts & { readonly reason: string }): Requirement {
  return row(facts, { kind: 'divergent', reason: facts.reason });
}

export function deferred(to: Piece, facts: Facts): Requirement {
  return row(facts, { kind: 'deferred', to });
}

export function notApplicable(reason: string, facts: Facts): Requirement {
  return row(facts, { kind: 'not-applicable', reason });
}
