/** A class of causes: what clients are told, and what operators can do about it. */
export interface FailureKind {
  readonly why: string;
  readonly cure: string;
}
