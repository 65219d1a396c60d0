import type { Failure } from '../errors/failure.ts';

/** What the transports noticed and survived, for logs and counters. */
export interface IngressNotes {
  /** A reader was too slow for a message that may be left out. */
  dropped(urgency: 'progress' | 'log'): void;
  /** A reader took nothing for so long that its connection was cut. */
  cutOff(): void;
  /** A `Host` that is none of ours: behind a proxy, mostly a setting that is missing. */
  hostRefused(host: string): void;
  /** A page of another origin. */
  originRefused(origin: string, failure: Failure, address: string | undefined): void;
  /** There are more connections than there may be. */
  connectionRefused(): void;
  /** A fault of ours. Answers how the log names it, for `data.logId`. */
  fault(error: unknown): string | undefined;
}
