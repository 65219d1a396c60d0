/** The local users while the gateway runs, and their file. */
import { type FileWatch, WatchedFile } from '../../identity/watched-file.ts';
import type { Directory } from './directory.ts';
import { authServerLimits } from './limits.ts';
import { readUserFile, type User } from './user-file.ts';

export class Users implements Directory {
  readonly #watched: WatchedFile;
  #byName: ReadonlyMap<string, User> = new Map();

  constructor(watch: FileWatch) {
    this.#watched = new WatchedFile(watch, {
      pollMs: authServerLimits.userFileMs,
      take: (text) => {
        this.#byName = new Map(text === undefined ? [] : readUserFile(text).users.map((user) => [user.name, user]));
      },
      missing: 'there is no user file yet: no user can sign in until `bascule user add <name>` creates it',
      gone: 'the user file was removed: no user can sign in',
      unreadable: 'the user file cannot be read: the users from the last successful read can still sign in',
    });
    this.#watched.watch();
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

  mayRefresh(name: string, sinceSeconds: number | undefined): boolean {
    return this.isCurrent(name, sinceSeconds);
  }

  groupsOf(name: string): readonly string[] {
    return this.find(name)?.groups ?? [];
  }

  shownAs(name: string): string {
    return name;
  }

  close(): void {
    this.#watched.close();
  }

  reload(): void {
    this.#watched.reload();
  }
}
