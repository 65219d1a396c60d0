/** What cannot be tried, with the reason: printed at the end of every run, and written into the page. */
export interface Reason {
  /** Of a client or a server, as in its table. */
  readonly name: string;
  readonly why: string;
}

export const REASONS: readonly Reason[] = [];
