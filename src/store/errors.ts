/** Errors of a store. Each message tells an operator what happened and what to do. */

/**
 * - `too_large`: the key or value is beyond the limits in limits.ts, or is not text that can be stored unchanged.
 * - `full`: there is no room, on the disk or within the store's own limit.
 * - `unusable`: the directory or a file in it cannot be read or written.
 * - `foreign`: the file at the store's path is not ours, or is damaged.
 * - `exposed`: other users of this machine can read a secret.
 * - `unavailable`: a package that the store needs is missing.
 * - `closed`: the store is closed.
 * - `away`: a server cannot be reached, or has too many commands waiting for it.
 * - `slow`: a server did not answer in time. It may have executed the command.
 * - `read_only`: a server accepts no writes.
 * - `denied`: a server refuses the user, the password, or a command of this user.
 */
export type StoreErrorKind =
  | ('too_large' | 'full' | 'unusable' | 'foreign' | 'exposed' | 'unavailable' | 'closed')
  | ('away' | 'slow' | 'read_only' | 'denied');

export class StoreError extends Error {
  readonly kind: StoreErrorKind;

  constructor(kind: StoreErrorKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'StoreError';
    this.kind = kind;
  }
}

export function fullDisk(path: string, cause: unknown): StoreError {
  return new StoreError('full', `there is no space left for ${path}: free some space on its disk`, cause);
}

/** `done`: what cannot be done with it: created, opened or written. */
export function unusable(path: string, done: string, cause: unknown, cure: string): StoreError {
  const { code } = cause as NodeJS.ErrnoException;
  return new StoreError('unusable', `${path} cannot be ${done} (${code}): ${cure}`, cause);
}

/** Reports what fails in the background, to operators. */
export type StoreWarn = (text: string, facts: Readonly<Record<string, unknown>>) => void;
