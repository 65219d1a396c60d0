/** A request that is allowed as soon as a person approves it. */
import type { Ending } from '../exchange/exchange.ts';
import type { ApprovalAnswer } from '../observe/audit.ts';
import type { ApprovalDemand, GivenApproval } from './approval.ts';
import type { AuditTrail } from './audit-trail.ts';
import { type Authorization, type AuthorizationRequest, WatchedAuthorization } from './authorization-request.ts';
import type { Authorizer } from './authorizer.ts';
import type { Permit } from './permit.ts';
import type { Admission } from './rates.ts';
import { Denied } from './refusals.ts';
import type { ApprovalNeeded, Ruling } from './ruling.ts';

interface WithheldParts {
  readonly authorizer: Authorizer;
  readonly request: AuthorizationRequest;
  readonly needed: ApprovalNeeded;
  readonly ruling: Ruling;
  readonly admission: Admission | undefined;
  readonly records: AuditTrail | undefined;
}

export class WithheldAuthorization implements Authorization {
  readonly #parts: WithheldParts;
  #admission: Admission | undefined;

  constructor(parts: WithheldParts) {
    this.#parts = parts;
    this.#admission = parts.admission;
  }

  get withheld(): this {
    return this;
  }

  /** Whatever forgets the question fails here. */
  get permit(): never {
    throw new TypeError('the request is not approved');
  }

  get authorizer(): Authorizer {
    return this.#parts.authorizer;
  }

  get request(): AuthorizationRequest {
    return this.#parts.request;
  }

  get demand(): ApprovalDemand {
    return this.#parts.needed.demand;
  }

  get ruling(): Ruling {
    return this.#parts.ruling;
  }

  /** Records the question. Who waits for a person takes no place of the rates. Throws where it cannot be recorded. */
  asked(id: string): void {
    this.over();
    const { records, request } = this.#parts;
    this.#reserve();
    records?.approval(request, this.#ruled(id, 'asked'), 'asked');
  }

  /** Records what the caller answered; `expired`: nothing, in time. */
  answered(id: string, answer: ApprovalAnswer): void {
    const { records, request, ruling } = this.#parts;
    const { principal, endpoint, backend, thing, sender } = request;
    records?.answered({
      ...{ principal: answer === 'expired' ? undefined : principal, generation: ruling.generation, backend },
      ...{ endpoint: endpoint.path, address: sender?.address, name: thing?.name, rules: this.demand.rules },
      reason: answer === 'approved' ? undefined : `approval_${answer}`,
      approval: { id, step: 'answered', by: this.demand.by, answer },
    });
  }

  /** Throws where it cannot be recorded, and where the approval is of another demand. */
  approved(approval: GivenApproval): Authorization {
    const { needed, records, request, authorizer } = this.#parts;
    const permit = needed.permitFor(approval);
    this.#reserve();
    records?.approval(request, this.#ruled(approval.id, 'executed'), 'executed');
    this.#reserve();
    const record = records?.allowed(request, this.#ruled(approval.id, 'outcome'));
    const admission = this.#admission;
    this.#admission = undefined;
    return new ApprovedAuthorization(permit, authorizer, admission, record, approval);
  }

  /** Gives the place in the rates back. */
  over(_ending?: Ending): void {
    this.#admission?.release();
    this.#admission = undefined;
  }

  #ruled(id: string, step: 'asked' | 'executed' | 'outcome'): Ruling {
    return { ...this.#parts.ruling, approval: { id, step, by: this.demand.by } };
  }

  #reserve(): void {
    if (this.#parts.records?.reserve() !== false) return;
    this.over();
    throw new Denied('audit_unavailable');
  }
}

/** The authorization with an approval that was given before. Throws where the rules demand another one now. */
export function approvedBy(decided: Authorization, approval: GivenApproval | undefined): Authorization {
  const { withheld } = decided;
  if (withheld === undefined) return decided;
  if (approval?.text === withheld.demand.text) return withheld.approved(approval);
  withheld.over();
  const message = 'The policy has changed meanwhile: the call has to be approved anew';
  throw new Denied('approval_needed', { message, data: { rules: withheld.demand.rules } });
}

class ApprovedAuthorization extends WatchedAuthorization {
  readonly approval: GivenApproval;

  constructor(
    permit: Permit,
    authorizer: Authorizer,
    admission: Admission | undefined,
    record: ReturnType<AuditTrail['allowed']> | undefined,
    approval: GivenApproval,
  ) {
    super(permit, authorizer, admission, record);
    this.approval = approval;
  }
}
