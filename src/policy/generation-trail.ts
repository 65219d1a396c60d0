/** Records of what happens beside the decisions about requests, under the number of the config that is in force. */
import type { Failure } from '../errors/failure.ts';
import type { AnsweredApproval, AuditTrail, EarlyRefusal, PinRecord, RecordedAct, Unasked } from './audit-trail.ts';
import { isForm } from './profile.ts';
import { Denied } from './refusals.ts';

export class GenerationTrail {
  /** Absent: nothing is recorded. */
  readonly #records: AuditTrail | undefined;
  readonly #generation: number;

  constructor(records: AuditTrail | undefined, generation: number) {
    this.#records = records;
    this.#generation = generation;
  }

  /** What the profile refused before the authorizer was asked: it is in the audit trail like every denial. */
  refused(unasked: Unasked, failure: Failure): void {
    if (failure instanceof Denied || !isForm(failure)) return;
    this.#records?.refused(unasked, this.#generation, failure.reason);
  }

  /** A response that no server request waits for. It is dropped. */
  dropped(unasked: Unasked): void {
    this.#records?.refused(unasked, this.#generation, 'unasked_response');
  }

  /** What was refused before policy was asked: credentials, and names that no backend has. */
  early(refusal: Omit<EarlyRefusal, 'generation'>): void {
    this.#records?.early({ ...refusal, generation: this.#generation });
  }

  /** What a person answered who was asked to approve a request; or that no one did, in time. */
  answered(answer: Omit<AnsweredApproval, 'generation'>): void {
    this.#records?.answered({ ...answer, generation: this.#generation });
  }

  /** What an operator did. */
  acted(act: Omit<RecordedAct, 'generation'>): void {
    this.#records?.acted({ ...act, generation: this.#generation });
  }

  /** That a backend offers something that is not as it was pinned. */
  pinChanged(change: Omit<PinRecord, 'generation'>): void {
    this.#records?.pinChange({ ...change, generation: this.#generation });
  }
}
