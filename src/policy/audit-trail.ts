/** One record for each decision: a denial is recorded at once, an allowed request when it ends. */
import type { Clock } from '../exchange/clock.ts';
import type { Ending } from '../exchange/exchange.ts';
import type { Principal } from '../identity/principal.ts';
import {
  type Audit,
  type AuditedArguments,
  type AuditedPrincipal,
  type AuditedSender,
  type AuditRecord,
  auditedPrincipal,
  gatewayItself,
  type RecordedApproval,
  type RecordedDecision,
  type RecordedParts,
  unknownPrincipal,
} from '../observe/audit.ts';
import { type Recorded, recordArguments } from '../observe/audit-redact.ts';
import { methodRow } from '../wire/methods.ts';
import { type AuthorizationRequest, argumentsOf, traceOf } from './authorization-request.ts';
import type { Ruling } from './ruling.ts';

/** A message that was refused before its operation and backend were known. */
export type Unasked = Pick<AuthorizationRequest, 'principal' | 'endpoint' | 'message' | 'sender'>;

/** Where decisions go: each to its own record, or all parts of a request to one record. */
export interface DecisionTrail {
  /** False where the request cannot be recorded, and must be refused for that. */
  reserve(): boolean;
  denied(request: AuthorizationRequest, ruling: Ruling, reason: string): void;
  /** Called after `reserve`. Returns the record that waits for the end of the request, if it is to be told. */
  allowed(request: AuthorizationRequest, ruling: Ruling): OpenRecord | undefined;
}

export interface EarlyRefusal
  extends Pick<AuditRecord, 'generation' | 'endpoint' | 'action' | 'name' | 'traceId' | keyof RecordedSender> {
  readonly reason: string;
  /** Absent where the credentials were refused. */
  readonly principal?: Principal | undefined;
}

/** What an operator did at the console, or what became of a session without a rule being asked. */
export interface RecordedAct extends Pick<AuditRecord, 'generation' | 'endpoint' | 'address' | 'name' | 'session'> {
  readonly principal: Principal;
  readonly action: 'revoke' | 'continue';
}

export interface AnsweredApproval
  extends Pick<AuditRecord, 'generation' | 'endpoint' | 'backend' | 'address' | 'name' | 'rules' | 'reason'> {
  /** Absent where the time was over. */
  readonly principal?: Principal | undefined;
  readonly approval: RecordedApproval;
}

/** A change that pins found. No request is the cause: lists are read for many principals. */
export interface PinRecord extends Pick<AuditRecord, 'generation' | 'backend' | 'name'> {
  readonly isHeld: boolean;
}

type RecordedSender = Pick<AuditRecord, 'address' | 'client' | 'session' | 'requestId'>;

function from(sender: AuditedSender | undefined): RecordedSender {
  if (sender === undefined) return {};
  const { address, clientName: client, sessionTag: session, requestId } = sender;
  return { address, client, session, requestId };
}

export interface Started {
  readonly began: number;
  readonly time: number;
}

export interface AuditTrailOptions {
  readonly audit: Audit;
  /** Whether a request that cannot be recorded is refused. */
  readonly isDemanded: boolean;
  readonly arguments: AuditedArguments | undefined;
  readonly clock: Clock;
  /** Milliseconds since 1970. */
  readonly timeOfDay: () => number;
}

export class AuditTrail implements DecisionTrail {
  readonly #options: AuditTrailOptions;
  readonly #recorded: Recorded;
  readonly #principals = new WeakMap<Principal, AuditedPrincipal>();
  #lastTime = Number.NaN;
  #lastText = '';

  constructor(options: AuditTrailOptions) {
    this.#options = options;
    this.#recorded = recordArguments(options.arguments);
  }

  denied(request: AuthorizationRequest, ruling: Ruling, reason: string): void {
    const end = { decision: 'deny', reason, outcome: 'denied' } as const;
    this.#write(request, ruling, this.#options.timeOfDay(), end, false);
  }

  /** Records a message in a form that the profile does not allow, or an unexpected response. */
  refused({ principal, endpoint, message, sender }: Unasked, generation: number, reason: string): void {
    const row = message !== undefined && 'method' in message ? methodRow(message.method) : undefined;
    const action = row?.action;
    const traceId = traceOf(message, sender);
    this.early({ reason, generation, principal, endpoint: endpoint.path, action, traceId, ...from(sender) });
  }

  /** Records what was refused before policy was asked. */
  early({ principal, ...refused }: EarlyRefusal): void {
    this.#options.audit.write({
      time: this.#written(this.#options.timeOfDay()),
      decision: 'deny',
      rules: [],
      ...refused,
      principal: principal === undefined ? unknownPrincipal : this.#principal(principal),
      outcome: 'denied',
    });
  }

  pinChange({ isHeld, ...found }: PinRecord): void {
    this.#options.audit.write({
      time: this.#written(this.#options.timeOfDay()),
      decision: isHeld ? 'deny' : 'allow',
      reason: 'pinned_changed',
      rules: [],
      ...found,
      principal: gatewayItself,
      endpoint: '*',
      action: 'pin',
      outcome: isHeld ? 'denied' : 'result',
    });
  }

  /** Not reserved: an act that takes access away must not fail because the disk is full. */
  acted({ principal, ...act }: RecordedAct): void {
    this.#options.audit.write({
      time: this.#written(this.#options.timeOfDay()),
      decision: 'allow',
      rules: [],
      ...act,
      principal: this.#principal(principal),
      outcome: 'result',
    });
  }

  /** A person was asked to approve the request; or the request was approved, and is sent now. */
  approval(request: AuthorizationRequest, ruling: Ruling, step: 'asked' | 'executed'): void {
    const end =
      step === 'asked'
        ? ({ decision: 'deny', reason: 'approval_needed', outcome: 'asked' } as const)
        : ({ decision: 'allow', outcome: 'sent' } as const);
    this.#write(request, ruling, this.#options.timeOfDay(), end, true);
  }

  /** What a person answered; or no one did, in time. Not reserved: the call itself is. */
  answered({ principal, reason, ...answer }: AnsweredApproval): void {
    const isApproved = answer.approval.answer === 'approved';
    this.#options.audit.write({
      time: this.#written(this.#options.timeOfDay()),
      decision: isApproved ? 'allow' : 'deny',
      reason,
      ...answer,
      principal: principal === undefined ? gatewayItself : this.#principal(principal),
      action: 'approve',
      outcome: isApproved ? 'result' : 'denied',
    });
  }

  reserve(): boolean {
    const { isDemanded, audit } = this.#options;
    return !isDemanded || audit.reserve?.() !== false;
  }

  allowed(request: AuthorizationRequest, ruling: Ruling): OpenRecord {
    const { clock, timeOfDay } = this.#options;
    return new OpenRecord(this, request, ruling, clock.now(), timeOfDay());
  }

  /** When a request began. */
  start(): Started {
    const { clock, timeOfDay } = this.#options;
    return { began: clock.now(), time: timeOfDay() };
  }

  end(request: AuthorizationRequest, ruling: Ruling, { began, time }: Started, end: Ended, reserved: boolean): void {
    const durationMs = Math.round((this.#options.clock.now() - began) * 1_000) / 1_000;
    this.#write(request, ruling, time, end, reserved, end.decision === 'deny' ? undefined : durationMs);
  }

  #write(
    request: AuthorizationRequest,
    ruling: Ruling,
    time: number,
    end: Ended,
    reserved: boolean,
    durationMs?: number,
  ): void {
    const { isDemanded, audit } = this.#options;
    const { message, thing, backend, sender } = request;
    const { parts } = end;
    const record: AuditRecord = {
      time: this.#written(time),
      decision: end.decision,
      reason: end.reason,
      rules: ruling.rules,
      wouldDeny: ruling.wouldDeny,
      wouldAllow: ruling.wouldAllow,
      wouldAsk: ruling.wouldAsk,
      approval: ruling.approval,
      decisions: ruling.decisions,
      generation: ruling.generation,
      principal: this.#principal(request.principal),
      revision: request.revision,
      endpoint: request.endpoint.path,
      ...from(sender),
      backend: backend === '' ? undefined : backend,
      action: request.row.action,
      name: thing?.name,
      names: parts?.names,
      nameCount: parts?.nameCount,
      deniedNames: parts?.deniedNames,
      deniedCount: parts?.deniedCount,
      durationMs,
      outcome: end.outcome,
      traceId: traceOf(message, sender),
      arguments: this.#options.arguments && this.#recorded(thing?.name, () => argumentsOf(request)),
    };
    audit.write(record, isDemanded && reserved);
  }

  /** Cached, because many records share a millisecond. */
  #written(time: number): string {
    if (time !== this.#lastTime) {
      this.#lastTime = time;
      this.#lastText = new Date(time).toISOString();
    }
    return this.#lastText;
  }

  #principal(principal: Principal): AuditedPrincipal {
    const known = this.#principals.get(principal);
    if (known !== undefined) return known;
    const audited = auditedPrincipal(principal);
    this.#principals.set(principal, audited);
    return audited;
  }
}

/** The record of a request that is allowed and has not ended. */
export class OpenRecord implements Started {
  readonly began: number;
  readonly time: number;
  readonly #records: AuditTrail;
  readonly #request: AuthorizationRequest;
  #ruling: Ruling;

  constructor(records: AuditTrail, request: AuthorizationRequest, ruling: Ruling, began: number, time: number) {
    this.#records = records;
    this.#request = request;
    this.#ruling = ruling;
    this.began = began;
    this.time = time;
  }

  /** Adds what decision points answered since the request was allowed. */
  decided(decisions: readonly RecordedDecision[]): void {
    this.#ruling = { ...this.#ruling, decisions: [...(this.#ruling.decisions ?? []), ...decisions] };
  }

  /** Must be called once. */
  end({ outcome, reason }: Ending): void {
    this.#records.end(this.#request, this.#ruling, this, { decision: 'allow', reason, outcome }, true);
  }
}

/** How a request ended, or was denied. */
export type Ended = Pick<AuditRecord, 'decision' | 'reason' | 'outcome'> & {
  readonly parts?: RecordedParts;
};
