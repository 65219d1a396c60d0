/** Why a request to an address that somebody else has named came to nothing. Programs match on `kind`. */

/**
 * - `url_forbidden`: not https, with credentials, with a port that is another protocol's, or no URL at all.
 * - `address_forbidden`: it leads to an address inside.
 * - `address_unreachable`: no such name, no connection, no TLS, or the connection broke.
 * - `redirected`: it answered with another address, which we do not follow.
 * - `too_large`, `too_slow`: beyond the limits in limits.ts.
 * - `undecodable`: in a content coding that we do not know, or not in the one that it says.
 * - `busy`: too many such requests are under way.
 */
export type OutwardErrorKind =
  | 'url_forbidden'
  | 'address_forbidden'
  | 'address_unreachable'
  | 'redirected'
  | 'too_large'
  | 'too_slow'
  | 'undecodable'
  | 'busy';

/** The message has no address that was resolved: who named the URL must not learn what our names lead to. */
export class OutwardError extends Error {
  readonly kind: OutwardErrorKind;

  constructor(kind: OutwardErrorKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'OutwardError';
    this.kind = kind;
  }
}
