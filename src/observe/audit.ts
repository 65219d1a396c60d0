/** One record for each decision. What a client sent is in it only where the config says so, and only redacted. */

export interface AuditRecord extends RecordedParts {
  /** ISO 8601. */
  readonly time: string;
  readonly decision: 'allow' | 'deny';
  /** Of the failure table, where it is a no or went wrong. */
  readonly reason?: string | undefined;
  readonly rules: readonly string[];
  /** It passed because of audit mode. */
  readonly wouldDeny?: readonly string[] | undefined;
  readonly wouldAllow?: readonly string[] | undefined;
  readonly generation: number;
  readonly principal: AuditedPrincipal;
  readonly revision?: string | undefined;
  readonly endpoint: string;
  /** Of the client, where it is not known who it is. */
  readonly address?: string | undefined;
  readonly backend?: string | undefined;
  /** Absent where it was refused before anybody knew what it was. */
  readonly action?: string | undefined;
  /** Of the tool, prompt, resource or ask. */
  readonly name?: string | undefined;
  readonly durationMs?: number | undefined;
  readonly outcome?: AuditOutcome | undefined;
  readonly traceId?: string | undefined;
  readonly arguments?: unknown;
}

/** Of a request that names many things, which is one record all the same. Lists are the first few. */
export interface RecordedParts {
  readonly names?: readonly string[] | undefined;
  /** How many there were, where `names` is not all of them. */
  readonly nameCount?: number | undefined;
  readonly deniedNames?: readonly string[] | undefined;
  readonly deniedCount?: number | undefined;
}

/** `asked`: it needs input, and another round follows. */
export type AuditOutcome = 'result' | 'error' | 'cancelled' | 'asked' | 'denied';

export interface AuditedPrincipal {
  readonly kind: string;
  readonly issuer?: string | undefined;
  readonly subject?: string | undefined;
  readonly clientId?: string | undefined;
  readonly key?: string | undefined;
}

/** Credentials were refused. */
export const unknownPrincipal: AuditedPrincipal = { kind: 'unknown' };

/** Named one by one: claims may hold what nobody wants in a file. */
export function auditedPrincipal(principal: {
  readonly kind: string;
  readonly issuer?: string;
  readonly subject?: string;
  readonly clientId?: string;
  readonly keyName?: string;
}): AuditedPrincipal {
  const { kind, issuer, subject, clientId, keyName } = principal;
  return { kind, issuer, subject, clientId, key: keyName };
}

/** Where records go. Returns at once and never throws. */
export interface Audit {
  /** `reserved`: it has the room that `reserve` promised. */
  write(record: AuditRecord, reserved?: boolean): void;
  /** Promises room for one record that follows. False where it could not be written, as far as is known. */
  reserve?(): boolean;
  /** After what was written is where it belongs, or the time is over. */
  close(withinMs: number): Promise<void>;
}

/** What becomes of requests that cannot be recorded. */
export const auditFailures = ['allow', 'deny'] as const;

export interface AuditSettings {
  readonly to: AuditTarget;
  readonly onFailure: (typeof auditFailures)[number];
  readonly arguments?: AuditedArguments | undefined;
}

export type AuditTarget =
  | { readonly kind: 'stderr' | 'stdout' }
  /** `path` is absolute; `keep` older files stand beside it. */
  | { readonly kind: 'file'; readonly path: string; readonly maxBytes: number; readonly keep: number };

export interface AuditedArguments {
  /** Names of tools and prompts whose arguments are recorded. */
  readonly of: readonly string[];
  /** Paths of what is starred out. */
  readonly redact: readonly string[];
  readonly maxBytes: number;
}
