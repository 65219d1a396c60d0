/** What the console keeps of one message of a client. No header, no credential, and of the message only its name. */
import type { Era, Revision } from '../wire/revisions.ts';

/**
 * `error`: the backend, or the way to it, failed. `denied`: by a rule, a rate or a profile. `refused`: the gateway did
 * not accept the request. `tool-error`: a result that says `isError`. `asked`: input is required, a round follows.
 */
export const callOutcomes = ['ok', 'tool-error', 'error', 'denied', 'refused', 'asked', 'cancelled'] as const;
export type RecordedOutcome = (typeof callOutcomes)[number];

/** A request to a backend that the message led to. */
export interface BackendTiming {
  readonly backend: string;
  /** On the clock of the gateway. */
  readonly startedAt: number;
  /** Absent while it runs. */
  ms?: number;
  /** The error code of the backend's response. */
  code?: number;
}

/** Redacted, and cut: only with `console.record: bodies`. */
export interface RecordedBodies {
  readonly request: string | undefined;
  readonly response: string | undefined;
}

/** What a message says of itself and of its sender. */
export interface RecordedFacts {
  /** The key of the principal: never shown. */
  readonly principalKey: string;
  readonly who: string;
  /** The id of the legacy session: never shown. */
  readonly sessionId: string | undefined;
  readonly client: string | undefined;
  readonly era: Era;
  readonly revision: Revision | undefined;
  readonly endpoint: string;
  readonly method: string;
  /** As the client named it. */
  readonly name: string | undefined;
  readonly backend: string | undefined;
  readonly generation: number;
}

export interface RecordedCall {
  /** Apart, because one object with all of this would take the engine ten times the memory. */
  readonly facts: RecordedFacts;
  /** When it arrived, in milliseconds since 1970. */
  readonly at: number;
  /** The same, on the clock of the gateway. */
  readonly startedAt: number;
  readonly ms: number;
  readonly outcome: RecordedOutcome;
  /** The reason in the table of failures, where the gateway itself failed the request. */
  readonly reason: string | undefined;
  /** The rules that decided. */
  readonly rules: readonly string[];
  /** Rules in audit mode, which would have denied it. */
  readonly wouldDeny: readonly string[] | undefined;
  readonly backendCalls: readonly BackendTiming[];
  bodies: RecordedBodies | undefined;
}
