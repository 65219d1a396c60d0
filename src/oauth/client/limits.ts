/** Limits of the OAuth client, with their reasons. */

const KiB = 1024;
const s = 1000;
const min = 60 * s;

export const credentialLimits = {
  // Requests to authorization servers and for metadata
  /** A call waits for the response. */
  requestMs: 10 * s,
  /** Metadata documents are a few KB; so are token responses, even with large tokens. */
  answerBytes: 256 * KiB,
  /** The error description of an authorization server, for people to read. */
  wordsChars: 200,
  /** Scopes in one request. Longer lists are cut: the scopes are part of a URL. */
  scopes: 100,
  /** Authorization servers that one backend may name; the rest are ignored. */
  servers: 10,
  /** How long a result is reused for refusals of the same token: a hundred calls need one discovery. */
  discoveryMs: 10 * s,

  // Tokens
  /** A token counts as expired this long before its end: a request takes time to arrive, and clocks differ. */
  expiryMarginMs: 30 * s,
  /** The margin is at most this share of the lifetime: half a minute is too much for a token that lives for one. */
  expiryMarginShare: 0.1,
  /**
   * The longest lifetime that a response may state. RFC 6749, 5.1 makes it optional; without it, the backend's refusal
   * marks the end.
   */
  lifetimeMs: 10 * 365 * 24 * 60 * min,
  /** A younger token that is refused was never valid: fetching a similar one would be a loop. */
  freshMs: 60 * s,

  /**
   * A token derived from a caller's token is kept until that token expires, or for this long if its expiry is unknown:
   * each caller's token has its own record. After that the exchange is repeated.
   */
  derivedMs: 24 * 60 * min,

  // Registrations
  /**
   * After this we register again. A server that lost its clients only tells the person, on its own page, so we could
   * not find out. Tokens keep the client that obtained them, so nothing is lost.
   */
  registrationMs: 30 * 24 * 60 * min,

  // Single flight
  /**
   * More than twice `requestMs`, since the holder registers and then requests a token. A lease is held for this long
   * after its process dies.
   */
  leaseMs: 25 * s,
  /** How long to wait for the holder. A little longer than the lease, so that a dead holder can be replaced. */
  leaseWaitMs: 30 * s,
  /** The bus tells when the holder is done. This bounds the delay if its message is lost. */
  leasePollMs: 250,

  // Consents
  /** A person reads a message, opens a link, signs in, and finds the second factor. */
  consentMs: 15 * min,
  /** A consent with less time left is not offered any more. */
  consentLeastMs: 3 * min,
  /** How long the outcome is kept for calls that wait for it. */
  outcomeMs: 15 * min,
  /** Bounds the delay if the bus loses a message, as with leases. */
  consentPollMs: 2 * s,

  // Failures
  /**
   * Failures in a row, or replacements of refused tokens within `refusalsMs`, before authorization at the backend stops
   * for a while.
   */
  failures: 3,
  refusalsMs: 5 * min,
  /** How long it stops. Long enough to relieve the servers, short enough for a person to wait. */
  disabledMs: 60 * s,

  /**
   * Accounts (principal and backend) in memory, 1 KB each. The least recently used is dropped; its tokens are in the
   * store.
   */
  accounts: 10_000,
} as const;
