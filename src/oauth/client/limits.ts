/** The limits of this room and their reasons. */

const KiB = 1024;
const s = 1000;
const min = 60 * s;

export const credentialLimits = {
  // Requests to authorization servers and for metadata
  /** A call waits for it. */
  requestMs: 10 * s,
  /** Metadata documents are a few KB; token answers too, even with large tokens in them. */
  answerBytes: 256 * KiB,
  /** What an authorization server says to an error, for a person to read. */
  wordsChars: 200,
  /** Scopes in one request. Lists that are longer are cut: what is asked for stands in an address. */
  scopes: 100,
  /** Authorization servers that one backend may name; the rest is not looked at. */
  servers: 10,
  /** What was found serves all who are refused with the same token, for so long: a hundred calls need one discovery. */
  discoveryMs: 10 * s,

  // Tokens
  /** So long before its end a token counts as over: it has a way to go, and clocks differ. */
  expiryMarginMs: 30 * s,
  /** Of tokens that live for a minute, half a minute would be half: a tenth of the life at most. */
  expiryMarginShare: 0.1,
  /** RFC 6749, 5.1 lets an answer say nothing; then the backend says when it is over. What it may say at most. */
  lifetimeMs: 10 * 365 * 24 * 60 * min,
  /** A token of such an age that is refused was never good: to fetch another one like it would be a circle. */
  freshMs: 60 * s,

  /**
   * What was made of a caller's token is kept as long as that token is good, and so long where nobody said how long that is:
   * each token has a record of its own. Then the exchange is made anew.
   */
  derivedMs: 24 * 60 * min,

  // Registrations
  /**
   * Then we register anew. A server that lost its clients says so to the person alone, on its own page, and nobody else could
   * find out. Tokens keep the client that got them, so that nothing is lost by it.
   */
  registrationMs: 30 * 24 * 60 * min,

  // One at a time
  /** Above `requestMs` twice, for whoever holds it registers and asks; what is left when a process dies in the middle. */
  leaseMs: 25 * s,
  /** How long one waits for the holder. A little longer than the lease, so that a dead holder can be succeeded. */
  leaseWaitMs: 30 * s,
  /** The bus tells when it is done; a message may be lost, and this is how long that matters. */
  leasePollMs: 250,

  // Consents
  /** A person reads a message, opens a link, signs in, and finds the second factor. */
  consentMs: 15 * min,
  /** One with less time left is not shown to anybody any more. */
  consentLeastMs: 3 * min,
  /** How it ended is known for so long, to calls that wait for it. */
  outcomeMs: 15 * min,
  /** As with leases: how long it matters that a message was lost. */
  consentPollMs: 2 * s,

  // Failures
  /** Failures in a row, and refused tokens that were replaced within `refusalsMs`, before the backend is left alone for a while. */
  failures: 3,
  refusalsMs: 5 * min,
  /** For how long. Long enough to be no burden to anybody, short enough to be waited for. */
  disabledMs: 60 * s,

  /** Principals times backends in memory, 1 KB each. The oldest goes; what it had is in the store. */
  accounts: 10_000,
} as const;
