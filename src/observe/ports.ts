/** Ports that most folders need: warnings for operators, and the time of day. */

/** For operators. Never contains a secret or what a peer sent. */
export type Warn = (text: string, facts: Readonly<Record<string, unknown>>) => void;

export interface WallClock {
  /** Milliseconds since 1970 by the machine's current clock: expiry depends on the time of day, not on intervals. */
  now(): number;
  /** Calls back once after `ms`; returns a function that cancels it. */
  after(ms: number, action: () => void): () => void;
}
