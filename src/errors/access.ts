/** Failures of authentication and authorization. */
import { type FailureRow, INTERNAL, INVALID_REQUEST, row, UNAUTHORIZED } from './row.ts';

export const access = {
  // Authentication: why the credentials are refused. `WWW-Authenticate` says the same to clients that read it.
  credentials_missing: row(
    'client',
    401,
    UNAUTHORIZED,
    'Authentication required',
    'Neither a token nor a key came with the request. Where an authorization server is configured, `resource_metadata` in `WWW-Authenticate` leads to it.',
  ),
  credentials_ambiguous: row(
    'client',
    400,
    { legacy: INVALID_REQUEST, modern: INVALID_REQUEST },
    'Credentials came in more than one way',
    'A repeated header, or two of `Authorization`, the key header and the key parameter at once. Nobody guesses which one is meant.',
  ),
  token_invalid: row(
    'client',
    401,
    UNAUTHORIZED,
    'The token is not valid',
    'Malformed, of an issuer that is not configured, not signed by it, or not active. The message says which.',
  ),
  token_expired: row(
    'client',
    401,
    UNAUTHORIZED,
    'The token has expired',
    'Get a new one; clients refresh by themselves.',
  ),
  audience_missing: row(
    'client',
    401,
    UNAUTHORIZED,
    'The token names no audience',
    'A token for anybody is a token for nobody. Have the issuer put the address of the endpoint into `aud`; where it checks that itself and cannot show it, `audienceCheckedByVerifier: true`.',
  ),
  audience_mismatch: row(
    'client',
    401,
    UNAUTHORIZED,
    'The token is for another audience',
    'None of the audiences of the token is the address of this endpoint, or one of `identity.audiences`.',
  ),
  key_unknown: row(
    'client',
    401,
    UNAUTHORIZED,
    'The key is not known',
    'It was never made here, or it was revoked. `bascule key list` shows those that there are.',
  ),
  key_expired: row('client', 401, UNAUTHORIZED, 'The key has expired', '`bascule key new` makes another.'),
  scope_insufficient: row(
    'client',
    403,
    403,
    'More scopes are needed',
    'The credentials are good but do not cover this operation; `data.required` has all that it needs, `data.missing` what is lacking.',
  ),
  issuer_unavailable: row(
    'backend',
    503,
    INTERNAL,
    'The token cannot be checked at the moment',
    'The issuer’s keys, or its introspection, cannot be reached. The token may be good: try again.',
  ),

  // Policy. The codes are HTTP's on purpose: outside the range that JSON-RPC reserves.
  policy_denied: row(
    'client',
    200,
    403,
    'Denied by policy',
    'A rule, or the absence of one, denies it; `data.rules` has the ids of the rules that decided. Notifications are answered with HTTP 403, and so is everything where the endpoint says `denials: http403`.',
  ),
  rate_limited: row(
    'client',
    429,
    429,
    'Rate limited',
    'More requests a second, or more at the same time, than `rates` allows; `data.limit` names the limit, and `Retry-After` says when to come back.',
  ),
  audit_unavailable: row(
    'gateway',
    503,
    INTERNAL,
    'The request cannot be recorded',
    'The audit trail cannot be written, or its queue is full, and `audit.onFailure` is `deny`. The log says why; nothing was sent to a backend.',
  ),
} as const satisfies Record<string, FailureRow>;
