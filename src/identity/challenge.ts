/**
 * The HTTP response to an authentication failure: status, headers, and whether an id is echoed. The JSON-RPC codes are
 * those of the failure's row.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#error-handling
 */
import type { Failure, Reason } from '../errors/failure.ts';
import type { GuardedAuth } from './auth-metadata.ts';
import { metadataUrl, type UsedAddress } from './metadata.ts';
import type { AuthContext } from './principal.ts';

/** RFC 6750, 3.1. A request without credentials gets no error code (3: SHOULD NOT). */
type ErrorCode = 'invalid_request' | 'invalid_token' | 'insufficient_scope';

const errorCodes = {
  credentials_missing: undefined,
  credentials_ambiguous: 'invalid_request',
  token_invalid: 'invalid_token',
  token_expired: 'invalid_token',
  audience_missing: 'invalid_token',
  audience_mismatch: 'invalid_token',
  key_unknown: 'invalid_token',
  key_expired: 'invalid_token',
  scope_insufficient: 'insufficient_scope',
} as const satisfies Partial<Record<Reason, ErrorCode | undefined>>;

type Challenged = keyof typeof errorCodes;

/** The request that was refused. */
export type RefusedRequest = AuthContext & UsedAddress;

export interface AuthRefusal {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** `null`: without an id to echo, the response has `"id": null`, as users of that style expect; else it has no id. */
  readonly withoutId: 'absent' | 'null';
}

/** In seconds: as soon as an issuer is contacted again. */
const RETRY_AFTER = '5';

export function refusalOf(failure: Failure, guard: GuardedAuth, refused: RefusedRequest): AuthRefusal {
  const { status } = failure.row;
  if (!isChallenged(failure.reason)) {
    return { status, headers: status === 503 ? { 'Retry-After': RETRY_AFTER } : {}, withoutId: 'absent' };
  }
  if (guard.style === 'envelope' && refused.kind !== 'other') return { status: 200, headers: {}, withoutId: 'null' };
  const headers = { 'WWW-Authenticate': challengeFor(failure, failure.reason, guard, refused) };
  return { status, headers, withoutId: 'absent' };
}

function isChallenged(reason: Reason): reason is Challenged {
  return Object.hasOwn(errorCodes, reason);
}

function challengeFor(failure: Failure, reason: Challenged, guard: GuardedAuth, refused: RefusedRequest): string {
  const error = errorCodes[reason];
  const scope = guard.scopes.needed(refused.operation).join(' ');
  return challenge({
    ...(error === undefined ? {} : { error, error_description: failure.message }),
    resource_metadata: metadataUrl(guard, refused),
    scope: scope === '' ? undefined : scope,
  });
}

/** RFC 6750, 3: the scheme must have at least one parameter. */
export function challenge(parameters: Readonly<Record<string, string | undefined>>): string {
  const written = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${quoted(value)}`],
  );
  return `Bearer ${written.length === 0 ? 'realm="mcp"' : written.join(', ')}`;
}

/** RFC 9110, 5.6.4. A character that is not allowed in a header becomes a question mark. */
function quoted(text: string): string {
  return `"${text.replaceAll(/[^\t\x20-\x7e]/g, '?').replaceAll(/["\\]/g, '\\$&')}"`;
}
