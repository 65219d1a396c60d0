/**
 * Decides every request, before it reaches a backend. First the profile: no mode and no rule changes what it denies.
 * Then the rules, then the rates. Every decision is recorded. An authorizer belongs to one generation and never
 * changes.
 */

import { Failure } from '../errors/failure.ts';
import type { Endpoint } from '../exchange/arrival.ts';
import type { ServerRequest } from '../exchange/call.ts';
import type { PinGuard } from '../pins/ports.ts';
import type { MethodRow } from '../wire/methods.ts';
import { valueAt } from '../wire/values.ts';
import { askKind, askKinds } from './actions.ts';
import { AuditParts } from './audit-parts.ts';
import type { DecisionTrail } from './audit-trail.ts';
import {
  type Authorization,
  type AuthorizationRequest,
  RequestQuestion,
  WatchedAuthorization,
} from './authorization-request.ts';
import type { AuthorizerParts } from './authorizer-parts.ts';
import { GenerationTrail } from './generation-trail.ts';
import { mint } from './mint.ts';
import { type DecisionPoints, outsideFailure } from './outside.ts';
import type { Permit } from './permit.ts';
import { decide } from './policy.ts';
import { denyAsk, hardDenial } from './profile.ts';
import type { PolicyQuestion } from './question.ts';
import { type Admission, RateExceeded } from './rates.ts';
import { Denied, denied, deniedOutside, limited } from './refusals.ts';
import { ApprovalNeeded, askingToo, Denial, effectOf, type Ruling, withDecisions } from './ruling.ts';
import { type Viewer, Visibility } from './visibility.ts';
import { WithheldAuthorization } from './withheld.ts';

/** A request that the rules and the rates have allowed. */
interface Admitted {
  readonly request: AuthorizationRequest;
  readonly verdict: Permit | ApprovalNeeded;
  readonly ruling: Ruling;
  readonly admission: Admission | undefined;
}

export class Authorizer {
  readonly #parts: AuthorizerParts;
  /** The number of the config. */
  readonly generation: number;
  /** Absent where no call depends on pins. */
  readonly pins: PinGuard | undefined;
  /** True when there is no policy, rate limit, pin or audit: callers can skip building the request. */
  readonly isOpen: boolean;
  /** Absent where no service outside the gateway is asked. */
  readonly decisions: DecisionPoints | undefined;
  /** What lists show. */
  readonly visibility: Visibility;
  /** Records of what is no decision about a request. */
  readonly trail: GenerationTrail;

  constructor(parts: AuthorizerParts) {
    this.#parts = parts;
    this.generation = parts.generation;
    this.pins = parts.pins?.mode === 'hold' ? parts.pins : undefined;
    this.isOpen =
      parts.policy === undefined &&
      parts.rates === undefined &&
      parts.records === undefined &&
      this.pins === undefined &&
      parts.recording === undefined;
    this.decisions = parts.decisions;
    this.visibility = new Visibility(parts);
    this.trail = new GenerationTrail(parts.records, parts.generation);
  }

  /**
   * Whether everything is allowed at the endpoint. Most calls take this path, so it builds nothing that is not used.
   */
  isFree({ profile }: Endpoint): boolean {
    return this.isOpen && profile.toolNames === 'any';
  }

  /** For requests that `isFree` covers. */
  free({ principal, row }: Pick<AuthorizationRequest, 'principal' | 'row'>): Authorization {
    return { permit: mint(principal.key, row.action, this.generation), authorizer: this };
  }

  /**
   * Throws, or rejects with, a Failure where the request is denied. Returns a promise only where a rate is counted over
   * several processes, and they have to be asked. `records`: the parts of one request, where it is decided part by
   * part.
   */
  ask(
    request: AuthorizationRequest,
    records: DecisionTrail | undefined = this.#parts.records,
  ): Authorization | Promise<Authorization> {
    if (this.isFree(request.endpoint)) return this.free(request);
    const admitted = this.#admit(request, records);
    if (admitted instanceof Promise) return admitted.then((known) => this.#granted(known, records));
    return this.#granted(admitted, records);
  }

  /** The same for a request that decision points are asked about, once the rules and the rates have allowed it. */
  async askOutside(
    request: AuthorizationRequest,
    points: DecisionPoints,
    records: DecisionTrail | undefined = this.#parts.records,
  ): Promise<Authorization> {
    const admitted = await this.#admit(request, records);
    const { denial, demand, wouldDeny, wouldAsk, decisions } = await points.decide(request);
    const ruling = withDecisions(admitted.ruling, { wouldDeny, wouldAsk, decisions });
    const verdict = demand === undefined ? admitted.verdict : askingToo(admitted.verdict, demand);
    // A notification waits for no answer, so no one can be asked.
    const isUnasked = verdict instanceof ApprovalNeeded && request.row.kind !== 'request';
    if (denial === undefined && !isUnasked) return this.#granted({ ...admitted, verdict, ruling }, records);
    admitted.admission?.release();
    const failure = denial === undefined ? new Failure('approval_needed') : outsideFailure(denial);
    this.#refused(records, request, { ...ruling, rules: [] }, failure);
    throw deniedOutside(failure, request);
  }

  #admit(request: AuthorizationRequest, records: DecisionTrail | undefined): Admitted | Promise<Admitted> {
    const { thing, endpoint, row } = request;
    const { policy, rates, recording } = this.#parts;
    if (thing?.kind === 'tool' && thing.name !== undefined) {
      const hard = hardDenial(endpoint.profile, { form: 'tool', name: thing.name });
      if (hard !== undefined)
        throw this.#refused(records, request, this.#unruled(), new Denied(hard.reason, { message: hard.message }));
    }
    const question = new RequestQuestion(request);
    const verdict = decide(question, this.generation, policy);
    recording?.(request, effectOf(verdict), verdict.ruling?.rules ?? []);
    if (verdict instanceof Denial && !(verdict instanceof ApprovalNeeded && row.kind === 'request')) {
      this.#refused(records, request, verdict.ruling, verdict.failure);
      throw denied(verdict, request);
    }
    const ruling = verdict.ruling ?? this.#unruled();
    if (request.held !== undefined) throw this.#refused(records, request, ruling, request.held);
    const admitted = (admission: Admission | RateExceeded | undefined): Admitted => {
      if (admission instanceof RateExceeded) throw this.#refused(records, request, ruling, limited(admission));
      return { request, verdict, ruling, admission };
    };
    const admission = rates?.admit(question);
    return admission instanceof Promise ? admission.then(admitted) : admitted(admission);
  }

  /** Throws a Failure where the decision cannot be recorded. */
  #granted({ request, verdict, ruling, admission }: Admitted, records: DecisionTrail | undefined): Authorization {
    if (verdict instanceof ApprovalNeeded) {
      const { records: trail } = this.#parts;
      return new WithheldAuthorization({
        ...{ authorizer: this, request, needed: verdict, ruling, admission },
        records: trail,
      });
    }
    if (records?.reserve() === false) {
      admission?.release();
      throw this.#refused(records, request, ruling, new Denied('audit_unavailable'));
    }
    const record = records?.allowed(request, ruling);
    if (admission === undefined && record === undefined) return { permit: verdict, authorizer: this };
    return new WatchedAuthorization(verdict, this, admission, record);
  }

  /** For a request that is decided part by part and recorded once. */
  recordParts(): AuditParts | undefined {
    const { records } = this.#parts;
    return records && new AuditParts(records);
  }

  /** For what follows from an earlier request. It is not a request of its own, so it is not recorded as one. */
  may(request: AuthorizationRequest): Permit | undefined {
    const verdict = decide(new RequestQuestion(request), this.generation, this.#parts.policy);
    return verdict instanceof Denial ? undefined : verdict;
  }

  /**
   * Why a backend may not make this server request; undefined where it may. A denied one is answered in the client's
   * place, and never reaches the client.
   */
  denyAsk(
    { principal, endpoint }: Viewer,
    backend: string,
    { row, message }: Pick<ServerRequest, 'row' | 'message'>,
  ): Failure | undefined {
    const { policy, records, profiles } = this.#parts;
    const kind = askKind(row.method);
    const profile = profiles.get(backend);
    const request: AuthorizationRequest = {
      principal,
      endpoint,
      row,
      backend,
      revision: undefined,
      ...(kind && { thing: { kind: 'ask', name: kind } }),
    };
    const params = message.params && valueAt(message.bytes, message.params);
    const hard =
      (kind !== undefined && profile !== undefined ? denyAsk(profile, kind) : undefined) ??
      (kind === 'elicitation' ? hardDenial(endpoint.profile, { form: 'elicitation', params }) : undefined);
    if (hard !== undefined) return this.#refused(records, request, this.#unruled(), hard);
    const verdict = decide(new RequestQuestion(request), this.generation, policy);
    if (verdict instanceof Denial) {
      return this.#refused(records, request, verdict.ruling, verdict.failure);
    }
    const ruling = verdict.ruling ?? this.#unruled();
    if (records?.reserve() === false) return this.#refused(records, request, ruling, new Failure('audit_unavailable'));
    records?.allowed(request, ruling).end({ outcome: 'asked' });
    return undefined;
  }

  /** Whether server requests of this backend have to be checked. */
  watchesAsks({ profile }: Endpoint, backend: string): boolean {
    return (
      !this.isOpen ||
      profile.elicitation !== 'any' ||
      (this.#parts.profiles.get(backend)?.asks.length ?? askKinds.length) < askKinds.length
    );
  }

  /** What policy would decide, without the rates, and without a record. */
  wouldDecide(question: PolicyQuestion): Permit | Denial {
    return decide(question, this.generation, this.#parts.policy);
  }

  /** Whether a rule uses the annotations of this backend's tools. */
  readsAnnotations(backend: string, { action }: MethodRow): boolean {
    return (action === 'call' || action === 'task') && this.#parts.policy?.readsAnnotations(backend) === true;
  }

  #unruled(): Ruling {
    return { generation: this.generation, rules: [] };
  }

  #refused<F extends Failure>(
    records: DecisionTrail | undefined,
    request: AuthorizationRequest,
    ruling: Ruling,
    failure: F,
  ): F {
    records?.denied(request, ruling, failure.reason);
    this.#parts.onDenied?.(request, failure, ruling.rules);
    return failure;
  }
}
