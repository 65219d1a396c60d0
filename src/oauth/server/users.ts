/** The local users while the gateway runs. Reads the user file, and reads it again when it changes. */

import type { WallClock, Warn } from '../../observe/ports.ts';
import { authServerLimits } from './limits.ts';
import type { UserFilePort } from './ports.ts';
import { readUserFile, type User, UserFileError } from './user-file.ts';

export interface UsersOptions {
  readonly file: UserFilePort;
  readonly time: WallClock;
  readonly warn: Warn;
}

export class Users {
  readonly #options: UsersOptions;
  #byName: ReadonlyMap<string, User> = new Map();
  /** The stamp of the file as last read, so that the same mistake is reported once. */
  #stamp: string | undefined;
  #told: string | undefined;
  #stop: (() => void) | undefined;

  /** Reads the file. A missing file is not an error: the first user may still be added. */
  constructor(options: UsersOptions) {
    this.#options = options;
    this.reload();
    if (this.#stamp === undefined) {
      options.warn('there is no file of users yet: nobody can sign in (bascule user add <name>)', {});
    }
    this.#watch();
  }

  find(name: string): User | undefined {
    return this.#byName.get(name);
  }

  /**
   * Whether a session or token issued at that time is still valid: not if the user is removed or the password is newer.
   * In whole seconds, like the timestamps of tokens and sessions.
   */
  isCurrent(name: string, sinceSeconds: number | undefined): boolean {
    const user = this.find(name);
    if (user === undefined) return false;
    return sinceSeconds === undefined || sinceSeconds >= Math.floor(Date.parse(user.changed) / 1000);
  }

  close(): void {
    this.#stop?.();
    this.#stop = undefined;
  }

  #watch(): void {
    this.#stop = this.#options.time.after(authServerLimits.userFileMs, () => {
      this.reload();
      this.#watch();
    });
  }

  reload(): void {
    const { file, warn } = this.#options;
    let text: string | undefined;
    try {
      // Read the stamp before the text: a change in between is then seen next time.
      const stamp = file.stamp();
      if (stamp === this.#stamp) return;
      text = stamp === undefined ? undefined : file.read();
      this.#stamp = stamp;
      this.#byName = new Map(text === undefined ? [] : readUserFile(text).users.map((user) => [user.name, user]));
      this.#told = undefined;
      if (text === undefined) warn('the file of users is gone: nobody can sign in', {});
    } catch (error) {
      const why = error instanceof UserFileError ? error.message : codeOf(error);
      if (why === this.#told) return;
      this.#told = why;
      warn('the file of users cannot be read: the users stay as they were', { why });
    }
  }
}

/** Only the code: the system's message may contain more than the log should hold. */
function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
}
