/** One record for each decision. It contains what a client sent only if the config says so, and only redacted. */
import type { Principal } from '../identity/principal.ts';

export interface AuditRecord extends RecordedParts {
  /** ISO 8601. */
  readonly time: string;
  readonly decision: 'allow' | 'deny';
  /** A reason of the failure table, if the request was denied or failed. */
  readonly reason?: string | undefined;
  readonly rules: readonly string[];
  /** It passed only because of audit mode. */
  readonly wouldDeny?: readonly string[] | undefined;
  readonly wouldAllow?: readonly string[] | undefined;
  readonly wouldAsk?: readonly string[] | undefined;
  /** Absent where no person was asked. */
  readonly approval?: RecordedApproval | undefined;
  /** What services outside the gateway decided. Absent where none was asked. */
  readonly decisions?: readonly RecordedDecision[] | undefined;
  readonly generation: number;
  readonly principal: AuditedPrincipal;
  readonly revision?: string | undefined;
  readonly endpoint: string;
  /** The client's address. */
  readonly address?: string | undefined;
  /** How the client names itself: `name/version`. */
  readonly client?: string | undefined;
  /** A legacy session, by a part of its id: the whole id would let a reader of the records use the session. */
  readonly session?: string | undefined;
  /** `X-Request-Id`. */
  readonly requestId?: string | undefined;
  readonly backend?: string | undefined;
  /** Undefined if the request was refused before its action was known. */
  readonly action?: string | undefined;
  /** The name of the tool, prompt, resource or server request. */
  readonly name?: string | undefined;
  readonly durationMs?: number | undefined;
  readonly outcome?: AuditOutcome | undefined;
  readonly traceId?: string | undefined;
  readonly arguments?: unknown;
}

/** The decision of one decision point. */
export interface RecordedDecision {
  readonly point: string;
  /** Absent where it could not decide. */
  readonly effect?: string | undefined;
  /** The id that the decision point knows it by. */
  readonly id?: string | undefined;
  readonly ms: number;
  /** Why it could not decide. */
  readonly fault?: string | undefined;
}

/** A person is asked, answers, the call is sent, and ends: a record for each. */
export interface RecordedApproval {
  /** The same in all of its records. */
  readonly id: string;
  readonly step: 'asked' | 'answered' | 'executed' | 'outcome';
  /** Who has to agree: the caller, or another person. */
  readonly by: 'caller' | 'other';
  readonly answer?: ApprovalAnswer | undefined;
}

export type ApprovalAnswer = 'approved' | 'denied' | 'expired';

/** 48 bits tell sessions apart, and do not help to guess the rest. */
const SESSION_TAG_CHARACTERS = 8;

export function sessionTag(id: string): string {
  return id.slice(-SESSION_TAG_CHARACTERS);
}

/** Where a request came from. Members are read when the record is written. */
export interface AuditedSender {
  /** Absent where traces are not configured. */
  readonly trace?: { readonly traceId: string } | undefined;
  readonly address: string | undefined;
  readonly clientName: string | undefined;
  readonly sessionTag: string | undefined;
  readonly requestId: string | undefined;
  /** The HTTP header, which counts where the message itself has none. */
  readonly traceparent: string | undefined;
}

/** For a request with many targets, which still has only one record. Lists contain the first few. */
export interface RecordedParts {
  readonly names?: readonly string[] | undefined;
  /** The number of names, if `names` does not have all of them. */
  readonly nameCount?: number | undefined;
  readonly deniedNames?: readonly string[] | undefined;
  readonly deniedCount?: number | undefined;
}

/** `asked`: input is required, and another round follows. `sent`: how it ends is in a later record. */
export type AuditOutcome = 'result' | 'error' | 'cancelled' | 'asked' | 'denied' | 'sent';

export interface AuditedPrincipal {
  readonly kind: string;
  readonly issuer?: string | undefined;
  readonly subject?: string | undefined;
  readonly clientId?: string | undefined;
  readonly key?: string | undefined;
}

/** For refused credentials. */
export const unknownPrincipal: AuditedPrincipal = { kind: 'unknown' };

/** For what no request caused. */
export const gatewayItself: AuditedPrincipal = { kind: 'gateway' };

type NamedPrincipal = Pick<Principal, 'kind' | 'issuer' | 'subject' | 'clientId' | 'keyName'>;

/** Members are copied one by one: claims may contain data that does not belong in a file. */
export function auditedPrincipal({ kind, issuer, subject, clientId, keyName }: NamedPrincipal): AuditedPrincipal {
  return { kind, issuer, subject, clientId, key: keyName };
}

/** The destination of records. Calls return at once and never throw. */
export interface Audit {
  /** `reserved`: uses the space that `reserve` reserved. */
  write(record: AuditRecord, reserved?: boolean): void;
  /** Reserves space for one record. False if, as far as is known, it could not be written. */
  reserve?(): boolean;
  /** Resolves when all records are written, or the time is over. */
  close(withinMs: number): Promise<void>;
}

/** What happens to requests that cannot be recorded. */
export const auditFailures = ['allow', 'deny'] as const;

export interface AuditSettings {
  readonly to: AuditTarget;
  readonly onFailure: (typeof auditFailures)[number];
  readonly arguments?: AuditedArguments | undefined;
}

export type AuditTarget =
  | { readonly kind: 'stderr' | 'stdout' }
  /** `path` is absolute; `keep` older files are kept beside it. */
  | { readonly kind: 'file'; readonly path: string; readonly maxBytes: number; readonly keep: number };

export interface AuditedArguments {
  /** Names of tools and prompts whose arguments are recorded. */
  readonly of: readonly string[];
  /** Paths of the values to redact. */
  readonly redact: readonly string[];
  readonly maxBytes: number;
}
