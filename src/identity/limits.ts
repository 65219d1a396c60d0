/** The limits of this folder and their reasons. */

const KiB = 1024;
const s = 1000;
const min = 60 * s;

export const identityLimits = {
  // Tokens
  /** How long a verified signature is cached: a key that the issuer withdrew is accepted this long. */
  verifiedMs: 5 * min,
  /** The same for introspected tokens: a token that the issuer revoked is accepted this long. */
  introspectedMs: 30 * s,
  /** A client that repeats a bad token is refused without work; a token that becomes valid does not wait long. */
  refusedMs: 5 * s,
  /** A token in use costs some 2 KB: 20 MB. The least recently used is evicted. */
  verifiedTokens: 10_000,
  /** Separate from the valid tokens, so that garbage cannot evict them. */
  refusedTokens: 1_000,
  /** Concurrent introspections. Beyond this the issuer is not asked, or clients could use us to flood it. */
  introspections: 64,
  /** Keys that are tried for a token that names none. Issuers have two or three. */
  keysTried: 8,

  // Issuers
  /** How old an issuer's keys get before they are fetched again: a withdrawn key is gone after this. */
  issuerKeysMs: 10 * min,
  /**
   * How long old keys are used while the issuer cannot be reached. An outage of an hour should not lock everybody out.
   */
  issuerOutageMs: 60 * min,
  /** Between two fetches because of an unknown `kid`, which anybody can make up. */
  unknownKidMs: 30 * s,
  /** Between two attempts at an issuer that cannot be reached. */
  issuerRetryMs: 5 * s,
  /** For one request to an issuer. A client waits for it. */
  issuerMs: 5 * s,
  /** Size of an issuer's document. Ten keys with their certificates are 40 KB. */
  issuerBytes: 256 * KiB,

  // Keys
  /** How often the key file is checked: a revoked key is refused after this. */
  keyFileMs: 2 * s,
  keyFileChars: 4096 * KiB,
  keys: 10_000,
} as const;
