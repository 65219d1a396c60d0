/** The limits of the pages and their reasons. */

const s = 1000;
const min = 60 * s;

export const pageLimits = {
  /** From leaving for another server until coming back: somebody may have to find a second device, or make an account. */
  awayMs: 30 * min,
  /** Wrong keys for one link. A key is pasted, not remembered: who misses five times has not got it. */
  wrongKeys: 5,
  /** After this the tries count from none again. */
  wrongKeysMs: 10 * min,
  /** Links of which wrong tries are remembered, some 100 bytes each. The oldest goes: only a link that exists gets in here. */
  triedLinks: 10_000,
  /** Of `id`, as ours are made; longer ones are looked up nowhere. */
  idChars: 128,
  /** What an authorization server says of an error is shown so far. */
  shownChars: 500,
  /** Scopes that are listed one by one. A longer list is told by its number: nobody reads it. */
  shownScopes: 50,
  /** An issuer's metadata is read again after this. */
  issuerMs: 10 * min,
  /** For one request to an issuer. A person waits for it. */
  requestMs: 10 * s,
} as const;
