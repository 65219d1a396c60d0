/** Decides recorded requests by another policy. */
import type { Principal } from '../identity/principal.ts';
import { isObject } from '../wire/values.ts';
import type { Policy } from './policy.ts';
import type { PolicyQuestion } from './question.ts';
import type { RecordedPrincipal, RecordedRequest } from './recorded-request.ts';
import type { Mode } from './rules.ts';
import { meantBy, type RuledBy, ruledBy } from './ruling.ts';

/** `unsure`: the new rules read arguments that were not recorded, so that the decision may be another one. */
export type RehearsedChange = 'denied' | 'allowed' | 'asked' | 'unsure';

export interface Rehearsed {
  readonly change: RehearsedChange;
  readonly request: RecordedRequest;
  /** The rules that decide now. */
  readonly rules: readonly string[];
}

/** Undefined: the decision stays the same. `policy` is undefined where everything is allowed. */
export function rehearse(
  request: RecordedRequest,
  policy: Policy | undefined,
  reads: ReadonlySet<string>,
): Rehearsed | undefined {
  const verdict = policy?.decide(questionOf(request));
  const { effect, rules } = verdict === undefined ? everything : decidedBy(verdict, policy?.mode);
  const isUnsure = request.without?.some((name) => name === '' || reads.has(name)) === true && reads.size > 0;
  if (isUnsure) return { change: 'unsure', request, rules };
  return effect === request.decision ? undefined : { change: changes[effect], request, rules };
}

const everything: RuledBy = { effect: 'allow', rules: [] };
const changes = { allow: 'allowed', deny: 'denied', approval: 'asked' } as const;

function decidedBy(verdict: ReturnType<Policy['decide']>, mode: Mode | undefined): RuledBy {
  return mode === 'audit' ? meantBy(verdict) : ruledBy(verdict);
}

function questionOf({ principal, row, endpoint, backend, thing, ...late }: RecordedRequest): PolicyQuestion {
  const { arguments: values, annotations } = late;
  return {
    ...{ principal: principalOf(principal), row, endpoint, backend, thing },
    ...(values !== undefined && { arguments: () => values }),
    ...(annotations !== undefined && { annotations: () => annotations }),
  };
}

function principalOf({ scopes, claims, groups, ...named }: RecordedPrincipal): Principal {
  const given = Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined));
  return {
    ...(given as Pick<Principal, 'key' | 'kind'>),
    ...{ claims, groups },
    scopes: scopes === 'all' ? scopes : new Set(scopes),
  };
}

/** Undefined where the line is not a recorded request: a file may end in half a line. */
export function readRecorded(line: string): RecordedRequest | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (!isObject(value) || typeof value.time !== 'number' || !isObject(value.principal) || !isObject(value.row))
    return undefined;
  return value as unknown as RecordedRequest;
}
