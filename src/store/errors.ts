/** What can go wrong with a store, for people: each message says what happened and what to do. */

/**
 * - `too_large`: the caller's key or value is beyond the limits in limits.ts, or no text that can be kept unchanged.
 * - `full`: there is no room, on the disk or within the store's own limit.
 * - `unusable`: the directory or a file in it cannot be read or written.
 * - `foreign`: a file stands in the store's place that is none of ours, or is damaged.
 * - `exposed`: somebody else on this machine can read what must be secret.
 * - `unavailable`: the program lacks what the store is built on.
 * - `closed`: the store was closed before.
 */
export type StoreErrorKind = 'too_large' | 'full' | 'unusable' | 'foreign' | 'exposed' | 'unavailable' | 'closed';

export class StoreError extends Error {
  readonly kind: StoreErrorKind;

  constructor(kind: StoreErrorKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'StoreError';
    this.kind = kind;
  }
}
