/** Why a request to an address that a third party named failed. Programs match on `kind`. */

/**
 * - `url_forbidden`: not https, with credentials, with the port of a different protocol, or not a URL.
 * - `address_forbidden`: the host resolves to an internal address.
 * - `address_unreachable`: no such name, no connection, no TLS, or the connection broke.
 * - `redirected`: the response is a redirect, which we do not follow.
 * - `too_large`, `too_slow`: beyond the limits in limits.ts.
 * - `undecodable`: in an unknown content coding, or not in the one that the response names.
 * - `busy`: too many such requests are in flight.
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

/** The message contains no resolved address: the party that named the URL must not learn what our DNS resolves to. */
export class OutwardError extends Error {
  readonly kind: OutwardErrorKind;

  constructor(kind: OutwardErrorKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'OutwardError';
    this.kind = kind;
  }
}
