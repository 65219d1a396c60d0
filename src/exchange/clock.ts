/** Time, handed in: this room never reads a clock or sets a timer of its own. */
export interface Clock {
  now(): number;
  /** Calls back once after `ms`; returns how to prevent that. */
  after(ms: number, action: () => void): () => void;
  /** Calls back once the messages that have already arrived were handled. */
  soon(action: () => void): void;
}
