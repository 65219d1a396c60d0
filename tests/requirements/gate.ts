/**
 * The gate: holds the catalogue against what tests have shown. Pure: the caller reads the reports and the files.
 * Every rule here has a test that breaks it.
 */
import { familyOf } from './families.ts';
import type { Catalogue, StatusKind } from './requirement.ts';
import { statusKinds } from './requirement.ts';

/** One test of one run. */
export interface Evidence {
  /** Relative to the root of the project, with forward slashes. */
  readonly file: string;
  readonly title: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  readonly verifies: readonly string[];
  readonly diverges: readonly string[];
}

/** What can be wrong, and what to do about it. */
export const rules = {
  unverified: 'held, but no passing test verifies it',
  failing: 'held, but a test that verifies it fails',
  unpinned: 'divergent, but no passing test pins what is done instead: declare it with diverges()',
  'stale-divergence': 'divergent, but tests say otherwise: it is held now, or the pin is broken',
  'unrecorded-divergence': 'a test pins a divergence that the catalogue does not record',
  'outdated-status': 'deferred or not applicable, but a passing test verifies it: mark it held',
  'put-off': 'deferred, in a family where nothing may be put off',
  'unknown-id': 'declared by a test, but not in the catalogue',
  'untagged-test': 'a test where every test must declare what it verifies',
} as const;

export type Rule = keyof typeof rules;

export interface Violation<R extends string = Rule> {
  readonly rule: R;
  /** An id, or a test. */
  readonly subject: string;
  readonly detail?: string;
}

export interface Demands {
  /** Families in which nothing may be deferred. */
  readonly settled: ReadonlySet<string>;
  /** Folders in which every test declares an id. */
  readonly tagged: readonly string[];
}

export function judge(catalogue: Catalogue, evidence: readonly Evidence[], demands: Demands): Violation[] {
  return [
    ...judgeRequirements(catalogue, evidence),
    ...judgeTests(catalogue, evidence, demands.tagged),
    ...Object.entries(catalogue)
      .filter(([id, { status }]) => status.kind === 'deferred' && demands.settled.has(familyOf(id)))
      .map(([id]): Violation => ({ rule: 'put-off', subject: id })),
  ];
}

interface Witnesses {
  readonly verifying: Evidence[];
  readonly pinning: Evidence[];
}

function judgeRequirements(catalogue: Catalogue, evidence: readonly Evidence[]): Violation[] {
  const witnesses = new Map<string, Witnesses>();
  const of = (id: string): Witnesses => {
    const known = witnesses.get(id) ?? { verifying: [], pinning: [] };
    witnesses.set(id, known);
    return known;
  };
  for (const test of evidence) {
    for (const id of test.verifies) of(id).verifying.push(test);
    for (const id of test.diverges) of(id).pinning.push(test);
  }
  return Object.entries(catalogue).flatMap(([id, { status }]) => judgeOne(id, status.kind, of(id)));
}

function judgeOne(id: string, kind: StatusKind, { verifying, pinning }: Witnesses): Violation[] {
  const found: Violation[] = [];
  const say = (rule: Rule, test?: Evidence) =>
    found.push({ rule, subject: id, ...(test === undefined ? {} : { detail: nameOf(test) }) });
  const verified = verifying.find(passed);
  const pinned = pinning.find(passed);
  if (kind === 'held') {
    if (verified === undefined) say('unverified');
    for (const test of verifying.filter(failed)) say('failing', test);
  }
  if (kind === 'divergent') {
    if (pinned === undefined) say('unpinned');
    if (verified !== undefined) say('stale-divergence', verified);
    for (const test of pinning.filter(failed)) say('stale-divergence', test);
  } else if (pinned !== undefined) {
    say('unrecorded-divergence', pinned);
  }
  if ((kind === 'deferred' || kind === 'not-applicable') && verified !== undefined) say('outdated-status', verified);
  return found;
}

function judgeTests(catalogue: Catalogue, evidence: readonly Evidence[], tagged: readonly string[]): Violation[] {
  const found: Violation[] = [];
  for (const test of evidence) {
    const declared = [...test.verifies, ...test.diverges];
    for (const id of declared) {
      if (!Object.hasOwn(catalogue, id)) found.push({ rule: 'unknown-id', subject: id, detail: nameOf(test) });
    }
    if (declared.length === 0 && tagged.some((folder) => test.file.startsWith(`${folder}/`))) {
      found.push({ rule: 'untagged-test', subject: nameOf(test) });
    }
  }
  return found;
}

const passed = (test: Evidence): boolean => test.outcome === 'passed';
const failed = (test: Evidence): boolean => test.outcome === 'failed';
const nameOf = (test: Evidence): string => `${test.file} > ${test.title}`;

export interface Tally {
  readonly family: string;
  readonly counts: Readonly<Record<StatusKind, number>>;
}

/** How many of each family stand where, in the order of the catalogue; the last row is the sum. */
export function tally(catalogue: Catalogue): Tally[] {
  const families = new Map<string, Record<StatusKind, number>>();
  const sum = none();
  for (const [id, { status }] of Object.entries(catalogue)) {
    const family = familyOf(id);
    const counts = families.get(family) ?? none();
    families.set(family, counts);
    counts[status.kind] += 1;
    sum[status.kind] += 1;
  }
  return [...Array.from(families, ([family, counts]) => ({ family, counts })), { family: 'all', counts: sum }];
}

function none(): Record<StatusKind, number> {
  return Object.fromEntries(statusKinds.map((kind) => [kind, 0])) as Record<StatusKind, number>;
}
