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
  denied(request: AuthorizationRequest, ruling: Ruling, reason: string): void;
  /** Called after `reserve`. Returns a function to call when the request has ended. */
  allowed(request: AuthorizationRequest, ruling: Ruling): (ending: Ending) => void;
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

  denied(request: AuthorizationRequest, ruling: Ruling, reason: string): void {
    const end = { decision: 'deny', reason, outcome: 'denied' } as const;
    this.#write(request, ruling, this.#options.timeOfDay(), end, false);
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

  allowed(request: AuthorizationRequest, ruling: Ruling): (ending: Ending) => void {
    const started = this.start();
    return ({ outcome, reason }) => this.end(request, ruling, started, { decision: 'allow', reason, outcome }, true);
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
    const { message, thing, backend } = request;
    const { parts } = end;
    const given = this.#options.arguments && argumentsIn(request);
    const record: AuditRecord = {
      time: this.#written(time),
      decision: end.decision,
      reason: end.reason,
      rules: ruling.rules,
      wouldDeny: ruling.wouldDeny,
      wouldAllow: ruling.wouldAllow,
      generation: ruling.generation,
      principal: this.#principal(request.principal),
      revision: request.revision,
      endpoint: request.endpoint.path,
      backend: backend === '' ? undefined : backend,
      action: request.row.action,
      name: thing?.name,
      names: parts?.names,
      nameCount: parts?.nameCount,
      deniedNames: parts?.deniedNames,
      deniedCount: parts?.deniedCount,
      durationMs,
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

type Ended = Pick<AuditRecord, 'decision' | 'reason' | 'outcome'> & {
  readonly parts?: RecordedParts;
};

/** A record has to stay small, so it names only the first parts and rules. */
const NAMES = 16;
const RULES = 32;

const nothing = (): void => undefined;

/**
 * The decisions about the parts of one request, as one record: what was allowed, what was denied, and some of the
 * names.
 */
export class AuditParts implements DecisionTrail {
  readonly #records: AuditTrail;
  readonly #started: ReturnType<AuditTrail['start']>;
  readonly #allowed: string[] = [];
  readonly #denied: string[] = [];
  #allowedCount = 0;
  #deniedCount = 0;
  readonly #rules = new Set<string>();
  readonly #wouldDeny = new Set<string>();
  readonly #wouldAllow = new Set<string>();
  /** The backend that all parts are for; empty where there are several. */
  #backend: string | undefined;
  #generation = 0;
  #reserved: boolean | undefined;

  constructor(records: AuditTrail) {
    this.#records = records;
    this.#started = records.start();
  }

  /** One reservation for all parts. */
  reserve(): boolean {
    this.#reserved ??= this.#records.reserve();
    return this.#reserved;
  }

  allowed(request: AuthorizationRequest, ruling: Ruling): (ending: Ending) => void {
    this.#note(request, ruling);
    this.#allowedCount += 1;
    if (this.#allowed.length < NAMES) this.#allowed.push(nameOf(request));
    return nothing;
  }

  denied(request: AuthorizationRequest, ruling: Ruling): void {
    this.#note(request, ruling);
    this.#deniedCount += 1;
    if (this.#denied.length < NAMES) this.#denied.push(nameOf(request));
  }

  /** Writes the record. Must be called once. */
  end(request: Omit<AuthorizationRequest, 'backend'>, decision: 'allow' | 'deny', ending: Ending): void {
    if (this.#allowedCount + this.#deniedCount === 0) return;
    const whole = { ...request, backend: this.#backend ?? '', thing: undefined };
    const wouldDeny = listOf(this.#wouldDeny);
    const wouldAllow = listOf(this.#wouldAllow);
    const ruling: Ruling = {
      generation: this.#generation,
      rules: listOf(this.#rules) ?? [],
      ...(wouldDeny && { wouldDeny }),
      ...(wouldAllow && { wouldAllow }),
    };
    const parts: RecordedParts = {
      ...(this.#allowedCount > 0 && { names: this.#allowed }),
      ...(this.#allowedCount > NAMES && { nameCount: this.#allowedCount }),
      ...(this.#deniedCount > 0 && { deniedNames: this.#denied, deniedCount: this.#deniedCount }),
    };
    const outcome = decision === 'deny' ? 'denied' : ending.outcome;
    const end: Ended = { decision, reason: ending.reason, outcome, parts };
    this.#records.end(whole, ruling, this.#started, end, this.#reserved === true);
  }

  #note({ backend }: AuthorizationRequest, { generation, rules, wouldDeny = [], wouldAllow = [] }: Ruling): void {
    this.#generation = generation;
    this.#backend = this.#backend === undefined || this.#backend === backend ? backend : '';
    for (const rule of rules) this.#rules.add(rule);
    for (const rule of wouldDeny) this.#wouldDeny.add(rule);
    for (const rule of wouldAllow) this.#wouldAllow.add(rule);
  }
}

/** A list change has no name: the method that reads the list stands for it. */
function nameOf({ thing, row }: AuthorizationRequest): string {
  return thing?.name ?? row.method;
}

function listOf(rules: ReadonlySet<string>): readonly string[] | undefined {
  return rules.size === 0 ? undefined : [...rules].slice(0, RULES);
}
