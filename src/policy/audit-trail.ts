/** One record for each decision: a denial is recorded at once, an allowed request when it ends. */
import type { Clock } from '../exchange/clock.ts';
import type { Ending } from '../exchange/exchange.ts';
import type { Principal } from '../identity/principal.ts';
import {
  type Audit,
  type AuditedArguments,
  type AuditedPrincipal,
  type AuditRecord,
  auditedPrincipal,
  type RecordedParts,
  unknownPrincipal,
} from '../observe/audit.ts';
import { type Recorded, recordArguments } from '../observe/audit-redact.ts';
import { methodRow } from '../wire/methods.ts';
import { type AuthorizationRequest, argumentsIn, traceOf } from './authorization-request.ts';
import type { Ruling } from './ruling.ts';

/** A message that was refused before its operation and backend were known. */
export type Unasked = Pick<AuthorizationRequest, 'principal' | 'endpoint' | 'message'>;

/** Where decisions go: each to its own record, or all parts of a request to one record. */
export interface DecisionTrail {
  /** False where the request cannot be recorded, and must be refused for that. */
  reserve(): boolean;
  denied(authorizationRequest: AuthorizationRequest, ruling: Ruling, reason: string): void;
  /** Called after `reserve`. Returns a function to call when the request has ended. */
  allowed(authorizationRequest: AuthorizationRequest, ruling: Ruling): (ending: Ending) => void;
}

export interface EarlyRefusal
  extends Pick<AuditRecord, 'generation' | 'endpoint' | 'address' | 'action' | 'name' | 'traceId'> {
  readonly reason: string;
  /** Absent where the credentials were refused. */
  readonly principal?: Principal | undefined;
}

interface Started {
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

  denied(authorizationRequest: AuthorizationRequest, ruling: Ruling, reason: string): void {
    this.#write(authorizationRequest, ruling, this.#options.timeOfDay(), {
      decision: 'deny',
      reason,
      outcome: 'denied',
    });
  }

  /** Records a message in a form that the profile does not allow, or an unexpected response. */
  refused({ principal, endpoint, message }: Unasked, generation: number, reason: string): void {
    const row = message !== undefined && 'method' in message ? methodRow(message.method) : undefined;
    const action = row?.action;
    this.early({ reason, generation, principal, endpoint: endpoint.path, action, traceId: traceOf(message) });
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

  reserve(): boolean {
    const { isDemanded, audit } = this.#options;
    return !isDemanded || audit.reserve?.() !== false;
  }

  allowed(authorizationRequest: AuthorizationRequest, ruling: Ruling): (ending: Ending) => void {
    const { clock, timeOfDay } = this.#options;
    const began = clock.now();
    const time = timeOfDay();
    return ({ outcome, reason }) => {
      const durationMs = Math.round((clock.now() - began) * 1_000) / 1_000;
      this.#write(authorizationRequest, ruling, time, { decision: 'allow', reason, outcome, durationMs });
    };
  }

  /** For a request that is decided part by part. */
  start(): Started {
    const { clock, timeOfDay } = this.#options;
    return { began: clock.now(), time: timeOfDay() };
  }

  end(
    authorizationRequest: AuthorizationRequest,
    ruling: Ruling,
    { began, time }: Started,
    end: Omit<Ended, 'durationMs'>,
    reserved: boolean,
  ): void {
    const durationMs = Math.round((this.#options.clock.now() - began) * 1_000) / 1_000;
    this.#write(authorizationRequest, ruling, time, end.decision === 'deny' ? end : { ...end, durationMs }, reserved);
  }

  #write(
    authorizationRequest: AuthorizationRequest,
    ruling: Ruling,
    time: number,
    end: Ended,
    reserved = end.decision === 'allow',
  ): void {
    const { isDemanded, audit } = this.#options;
    const { message, thing, backend } = authorizationRequest;
    const given = argumentsIn(authorizationRequest);
    const record: AuditRecord = {
      time: this.#written(time),
      decision: end.decision,
      reason: end.reason,
      rules: ruling.rules,
      wouldDeny: ruling.wouldDeny,
      wouldAllow: ruling.wouldAllow,
      generation: ruling.generation,
      principal: this.#principal(authorizationRequest.principal),
      revision: authorizationRequest.revision,
      endpoint: authorizationRequest.endpoint.path,
      backend: backend === '' ? undefined : backend,
      action: authorizationRequest.row.action,
      name: thing?.name,
      ...end.parts,
      durationMs: end.durationMs,
      outcome: end.outcome,
      traceId: traceOf(message),
      arguments: given && this.#recorded(thing?.name, given),
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

export type Ended = Pick<AuditRecord, 'decision' | 'reason' | 'outcome' | 'durationMs'> & {
  readonly parts?: RecordedParts;
};
