import { claimAt } from '../identity/claim-at.ts';
/**
 * The facts of a decided request that are recorded for rehearsals of another policy. What a client sent is recorded
 * only as far as rules read it: single arguments that are named in a rule, and claims that are. Nothing with the usual
 * name of a secret is recorded.
 */
import { isSecretName } from '../observe/audit-redact.ts';
import { isObject } from '../wire/values.ts';
import { type AuthorizationRequest, argumentsOf } from './authorization-request.ts';
import type { Operation, Thing } from './question.ts';
import type { PolicySettings, RuleEffect } from './rules.ts';
import { groupsOf } from './who.ts';

export interface RecordingSettings {
  /** The absolute path. */
  readonly path: string;
  readonly maxBytes: number;
  /** Older files that are kept beside it. */
  readonly keep: number;
}

export interface RecordedRequest {
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly decision: RuleEffect;
  readonly rules: readonly string[];
  readonly principal: RecordedPrincipal;
  readonly row: Operation;
  readonly endpoint: string;
  readonly backend: string;
  readonly thing?: Thing | undefined;
  readonly annotations?: unknown;
  /** Arguments that rules read. Others may have been there. */
  readonly arguments?: Readonly<Record<string, unknown>> | undefined;
  /** The names of those that were left out, because no rule reads them or they may be secrets or too long. */
  readonly without?: readonly string[] | undefined;
}

export interface RecordedPrincipal {
  readonly kind: 'local' | 'key' | 'token';
  readonly key: string;
  readonly issuer?: string | undefined;
  readonly subject?: string | undefined;
  readonly clientId?: string | undefined;
  readonly keyName?: string | undefined;
  readonly scopes: readonly string[] | 'all';
  readonly groups: readonly string[];
  readonly claims: Readonly<Record<string, unknown>>;
}

/** Longer texts are documents. */
const TEXT = 256;
/** Names of arguments that were left out. A client chooses them. */
const NAMES = 32;

/** What the rules of a policy read of what clients send. */
export interface ReadByRules {
  readonly arguments: ReadonlySet<string>;
  readonly claims: ReadonlySet<string>;
  readonly groupsClaim: string;
}

export function readByRules(policy: PolicySettings | undefined): ReadByRules {
  const rules = policy?.rules ?? [];
  return {
    arguments: new Set(
      rules.flatMap(({ with: tests, when }) => [
        ...Object.keys(tests).map((path) => path.split('.', 1)[0] ?? path),
        ...(when?.arguments.paths ?? []).flatMap(({ steps: [first] }) => (typeof first === 'string' ? [first] : [])),
      ]),
    ),
    claims: new Set(rules.flatMap(({ who }) => Object.keys(who.claims ?? {}))),
    groupsClaim: policy?.groupsClaim ?? 'groups',
  };
}

export function recordedRequest(
  request: AuthorizationRequest,
  decided: Pick<RecordedRequest, 'time' | 'decision' | 'rules'>,
  read: ReadByRules,
): RecordedRequest {
  const { principal, row, endpoint, backend, thing, annotations } = request;
  const { key, kind, issuer, subject, clientId, keyName, scopes } = principal;
  const { method, kind: messageKind, action, list } = row;
  const claims = [...read.claims].map((name) => [name, claimAt(principal.claims, name)] as const);
  return {
    ...decided,
    principal: {
      ...{ kind, key, issuer, subject, clientId, keyName },
      scopes: scopes === 'all' ? scopes : [...scopes],
      groups: groupsOf(principal, read.groupsClaim),
      claims: Object.fromEntries(claims.filter(([name, value]) => isRecordable(name, value))),
    },
    row: { method, kind: messageKind, action, ...(list !== undefined && { list }) },
    ...{ endpoint: endpoint.path, backend, thing: thing && shortThing(thing), annotations: annotations?.() },
    ...recordedArguments(argumentsOf(request), read),
  };
}

/** A name that was cut matches nothing that it did not match. */
function shortThing({ kind, name, also, own }: Thing): Thing {
  return { kind, name: name?.slice(0, 1024), also: also?.slice(0, 1024), own: own?.slice(0, 1024) };
}

function recordedArguments(values: unknown, read: ReadByRules): Pick<RecordedRequest, 'arguments' | 'without'> {
  if (!isObject(values)) return values === undefined ? {} : { without: [''] };
  const all = Object.entries(values);
  const kept = all.filter(([name, value]) => read.arguments.has(name) && isRecordable(name, value));
  const names = new Set(kept.map(([name]) => name));
  const without = all.flatMap(([name]) => (names.has(name) ? [] : [name.slice(0, TEXT)]));
  return {
    arguments: Object.fromEntries(kept),
    ...(without.length > 0 && { without: without.length > NAMES ? [''] : without }),
  };
}

/** Single values only: in a list or an object nothing says what is a secret. */
function isRecordable(name: string, value: unknown): boolean {
  if (isSecretName(name)) return false;
  if (typeof value === 'string') return value.length <= TEXT;
  return typeof value === 'number' || typeof value === 'boolean' || value === null;
}
