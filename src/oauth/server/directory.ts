/** The people who can sign in: those of the user file, or those of the company's provider. */
export interface Directory {
  /** Whether a session or token from then is still valid. In whole seconds, like the timestamps of tokens. */
  isCurrent(name: string, sinceSeconds: number | undefined): boolean | Promise<boolean>;
  /** The same before a refresh token is used. Rejects where that cannot be found out now. */
  mayRefresh(name: string, sinceSeconds: number | undefined): boolean | Promise<boolean>;
  groupsOf(name: string): readonly string[] | Promise<readonly string[]>;
  /** For pages. */
  shownAs(name: string): string | Promise<string>;
  close(): void;
}
