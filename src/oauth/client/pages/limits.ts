/** Limits of the pages, with their reasons. */

const s = 1000;
const min = 60 * s;

export const pageLimits = {
  /** Wrong keys for one link. People paste a key rather than type it: after five misses they do not have it. */
  wrongKeys: 5,
  /** After this the count starts again. */
  wrongKeysMs: 10 * min,
  /**
   * Links whose wrong attempts are counted, some 100 bytes each. The oldest is dropped. Only existing links are
   * counted.
   */
  triedLinks: 10_000,
  /** Longer ids are not looked up: ours are shorter. */
  idChars: 128,
  /** Length at which an authorization server's error text is cut. */
  shownChars: 500,
  /** Scopes that are listed one by one. For the rest the page shows only the number. */
  shownScopes: 50,
} as const;

/** How wrong keys are counted. */
export const keyAttempts = {
  most: pageLimits.wrongKeys,
  withinMs: pageLimits.wrongKeysMs,
  names: pageLimits.triedLinks,
} as const;
