/** What most folders are handed of the outside: a way to tell people something, and the time of day. */

/** For people who run the gateway. Never a secret, never what a peer sent. */
export type Warn = (text: string, facts: Readonly<Record<string, unknown>>) => void;

export interface WallClock {
  /** Milliseconds since 1970 by the machine's clock as it stands now: expiry is about the time of day, not about intervals. */
  now(): number;
  /** Calls back once after `ms`; returns how to prevent that. */
  after(ms: number, action: () => void): () => void;
}
