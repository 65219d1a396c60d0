/** The port of a second policy language in the same process. It decides about what the rules have allowed. */
import type { Evaluation } from './question.ts';

export interface SecondVerdict {
  readonly allowed: boolean;
  /** What decided, in the words of audit records: `cedar:<id>`. */
  readonly rules: readonly string[];
}

export interface SecondJudge {
  /** Undefined where it has no say in such a request. Never throws. */
  judge(evaluation: Evaluation): SecondVerdict | undefined;
  /** Whether its policies read the annotations of tools. */
  readonly readsAnnotations: boolean;
}
