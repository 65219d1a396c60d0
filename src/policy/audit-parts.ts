/** The decisions about the parts of one request, as one record. */
import type { Ending } from '../exchange/exchange.ts';
import type { RecordedDecision, RecordedParts } from '../observe/audit.ts';
import type { AuditTrail, DecisionTrail, Ended, Started } from './audit-trail.ts';
import type { AuthorizationRequest } from './authorization-request.ts';
import type { Ruling } from './ruling.ts';

/** A record has to stay small, so it names only the first parts and rules. */
const NAMES = 16;
const RULES = 32;

/** What was allowed, what was denied, and some of the names. */
export class AuditParts implements DecisionTrail {
  readonly #records: AuditTrail;
  readonly #started: Started;
  readonly #allowed: string[] = [];
  readonly #denied: string[] = [];
  #allowedCount = 0;
  #deniedCount = 0;
  readonly #rules = new Set<string>();
  readonly #wouldDeny = new Set<string>();
  readonly #wouldAllow = new Set<string>();
  readonly #decisions: RecordedDecision[] = [];
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

  allowed(request: AuthorizationRequest, ruling: Ruling): undefined {
    this.#note(request, ruling);
    this.#allowedCount += 1;
    if (this.#allowed.length < NAMES) this.#allowed.push(nameOf(request));
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
      ...(this.#decisions.length > 0 && { decisions: this.#decisions }),
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

  #note({ backend }: AuthorizationRequest, ruling: Ruling): void {
    const { generation, rules, wouldDeny = [], wouldAllow = [], decisions = [] } = ruling;
    this.#generation = generation;
    this.#backend = this.#backend === undefined || this.#backend === backend ? backend : '';
    for (const rule of rules) this.#rules.add(rule);
    for (const rule of wouldDeny) this.#wouldDeny.add(rule);
    for (const rule of wouldAllow) this.#wouldAllow.add(rule);
    if (this.#decisions.length < NAMES) this.#decisions.push(...decisions);
  }
}

/** A list change has no name: the method that reads the list stands for it. */
function nameOf({ thing, row }: AuthorizationRequest): string {
  return thing?.name ?? row.method;
}

function listOf(rules: ReadonlySet<string>): readonly string[] | undefined {
  return rules.size === 0 ? undefined : [...rules].slice(0, RULES);
}
