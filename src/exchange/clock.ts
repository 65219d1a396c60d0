/** Time, handed in: exchange/ never reads a clock or sets a timer of its own. */
export interface Clock {
  now(): number;
  /** Calls `action` once after `ms`. Returns a function that prevents it. */
  after(ms: number, action: () => void): () => void;
  /** Calls `action` once the messages that have already arrived are handled. */
  soon(action: () => void): void;
}
