/** The limits of this room and their reasons. */

const KiB = 1024;
const s = 1000;
const min = 60 * s;

export const identityLimits = {
  // Tokens
  /** How long a signature that was good is not checked again: what a key that the issuer withdrew can still open. */
  verifiedMs: 5 * min,
  /** The same for tokens that the issuer was asked about: what a token that it revoked can still open. */
  introspectedMs: 30 * s,
  /** A client that repeats a bad token is told so without any work; a token that becomes good is not kept waiting. */
  refusedMs: 5 * s,
  /** A token in use costs some 2 KB: 20 MB. The oldest one goes. */
  verifiedTokens: 10_000,
  /** Apart from the good ones, so that garbage cannot push them out. */
  refusedTokens: 1_000,
  /** Questions to an issuer at once; beyond them it is not asked, or we would be the means to flood it. */
  introspections: 64,
  /** Keys that are tried for a token that names none. Issuers have two or three. */
  keysTried: 8,

  // Issuers
  /** How old an issuer's keys get before they are fetched again: a key that it withdrew is gone after this. */
  issuerKeysMs: 10 * min,
  /** How long old keys serve while the issuer cannot be reached. An outage of an hour should not lock everybody out. */
  issuerOutageMs: 60 * min,
  /** Between two fetches for the sake of an unknown `kid`, which anybody can make up. */
  unknownKidMs: 30 * s,
  /** Between two attempts at an issuer that cannot be reached. */
  issuerRetryMs: 5 * s,
  /** For one request to an issuer. A client waits for it. */
  issuerMs: 5 * s,
  /** Documents of issuers. Ten keys with their certificates are 40 KB. */
  issuerBytes: 256 * KiB,

  // Keys
  /** How often the key file is looked at: a revoked key is dead after this. */
  keyFileMs: 2 * s,
  keyFileChars: 4096 * KiB,
  keys: 10_000,
} as const;

export type IdentityLimits = { readonly [Name in keyof typeof identityLimits]: number };
