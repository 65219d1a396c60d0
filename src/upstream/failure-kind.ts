/** A class of causes: what clients are told of it, and what the people who run the gateway can do about it. */
export interface FailureKind {
  readonly why: string;
  readonly cure: string;
}
