/** What decides about requests in one generation. */
import type { Failure } from '../errors/failure.ts';
import type { PinGuard } from '../pins/ports.ts';
import type { AuditTrail } from './audit-trail.ts';
import type { AuthorizationRequest } from './authorization-request.ts';
import type { DecisionPoints } from './outside.ts';
import type { Policy } from './policy.ts';
import type { BackendProfile } from './profile.ts';
import type { Rates } from './rates.ts';
import type { RuleEffect } from './rules.ts';
import type { UnmatchedNames } from './unmatched-names.ts';

export interface AuthorizerParts {
  /** Absent: everything is allowed. */
  readonly policy: Policy | undefined;
  /** Absent: no rate limits. */
  readonly rates: Rates | undefined;
  /** Absent: no service outside is asked. */
  readonly decisions?: DecisionPoints | undefined;
  /** Absent: nothing is recorded. */
  readonly records: AuditTrail | undefined;
  /** Is told of every decision, for rehearsals. Absent: nothing is recorded for them. */
  readonly recording?: RequestRecorder | undefined;
  /** Absent: nothing is pinned. */
  readonly pins?: PinGuard | undefined;
  readonly generation: number;
  /** Profiles of backends that are restricted. */
  readonly profiles: ReadonlyMap<string, BackendProfile>;
  /** Absent: no rule names anything. */
  readonly unmatched?: UnmatchedNames | undefined;
  /** Is told of denials, for the log and the metrics. */
  readonly onDenied?: ((request: AuthorizationRequest, failure: Failure, rules: readonly string[]) => void) | undefined;
}

/** Records what the rules decided, without rates and pins. */
export type RequestRecorder = (request: AuthorizationRequest, decision: RuleEffect, rules: readonly string[]) => void;
