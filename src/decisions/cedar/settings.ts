/** What a config says of Cedar policies: the files are read already. */
export interface CedarPolicy {
  /** From `@id("...")`, or the name of the file and the number of the policy in it. */
  readonly id: string;
  readonly text: string;
}

export interface CedarUid {
  readonly type: string;
  readonly id: string;
}

export interface CedarEntity {
  readonly uid: CedarUid;
  readonly attrs: Readonly<Record<string, unknown>>;
  readonly parents: readonly CedarUid[];
}

export interface CedarSettings {
  readonly policies: readonly CedarPolicy[];
  readonly entities: readonly CedarEntity[];
  /** The claim that holds groups. Absent: the first that is there of `groups`, `roles` and `cognito:groups`. */
  readonly groupClaim?: string | undefined;
  /** A second claim that holds groups. */
  readonly roleClaim?: string | undefined;
  readonly groupType: string;
  /** Claims that are a set in `claimset_<name>`, and one text in `claim_<name>`. */
  readonly setClaims: readonly string[];
}
