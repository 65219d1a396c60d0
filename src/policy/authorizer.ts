/**
 * The one place where leave is given. Every way in comes here before a backend hears anything: first what the profile does not
 * admit, which no mode and no rule changes, then the rules, then the rates; and every decision is recorded. One of these
 * belongs to one generation of the config, and never changes.
 */

import { Failure } from '../errors/failure.ts';
import type { Endpoint } from '../exchange/arrival.ts';
import type { ServerRequest } from '../exchange/call.ts';
import type { Principal } from '../identity/principal.ts';
import type { MethodRow } from '../wire/methods.ts';
import { valueAt } from '../wire/values.ts';
import { askKind, askKinds } from './actions.ts';
import { AuditParts } from './audit-parts.ts';
import type { AuditTrail, DecisionTrail, EarlyRefusal, Unasked } from './audit-trail.ts';
import { type Authorization, type AuthorizationRequest, policyQuestionOf } from './authorization-request.ts';
import { decide } from './decide.ts';
import type { Permit } from './permit.ts';
import type { Policy } from './policy.ts';
import { type BackendProfile, denyAsk, hardDenial, isForm, isNameAdmitted } from './profile.ts';
import type { Thing } from './question.ts';
import { RateExceeded, type Rates } from './rates.ts';
import { Denied, denied, limited } from './refusals.ts';
import { Denial, type Ruling } from './ruling.ts';
import type { UnmatchedNames } from './unmatched-names.ts';

export interface AuthorizerParts {
  /** Absent: everything is allowed. */
  readonly policy: Policy | undefined;
  /** Absent: as much as anybody likes. */
  readonly rates: Rates | undefined;
  /** Absent: nothing is recorded. */
  readonly records: AuditTrail | undefined;
  /** Of the config. */
  readonly generation: number;
  /** Of backends that may not do everything. */
  readonly profiles: ReadonlyMap<string, BackendProfile>;
  /** Absent: no rule names anything. */
  readonly unmatched?: UnmatchedNames | undefined;
  /** For the log. */
  readonly onDenied?: ((authorizationRequest: AuthorizationRequest, failure: Failure) => void) | undefined;
}

/** Whom something is shown to, and where. */
export interface Viewer {
  readonly principal: Principal;
  readonly endpoint: Endpoint;
}

export class Authorizer {
  readonly #parts: AuthorizerParts;
  /** Of the config. */
  readonly generation: number;
  /** Nobody looks at what is wanted, so that nobody has to find it out. */
  readonly isOpen: boolean;

  constructor(parts: AuthorizerParts) {
    this.#parts = parts;
    this.generation = parts.generation;
    this.isOpen = parts.policy === undefined && parts.rates === undefined && parts.records === undefined;
  }

  /** Whether everything may be done there by anybody: the way of most calls, on which nothing is made that nobody looks at. */
  isFree({ profile }: Endpoint): boolean {
    return this.isOpen && profile.toolNames === 'any';
  }

  /** For what `isFree` says that nobody looks at. */
  free(
    { principal, row, endpoint }: Pick<AuthorizationRequest, 'principal' | 'row' | 'endpoint'>,
    backend: string,
  ): Authorization {
    return { permit: decide({ principal, row, endpoint: endpoint.path, backend }, this.generation), authorizer: this };
  }

  /** Throws a Failure where it is a no. `records`: of the parts of one request, where it is decided part by part. */
  ask(
    authorizationRequest: AuthorizationRequest,
    records: DecisionTrail | undefined = this.#parts.records,
  ): Authorization {
    const { thing, endpoint } = authorizationRequest;
    if (this.isFree(endpoint)) return this.free(authorizationRequest, authorizationRequest.backend);
    const { policy, rates } = this.#parts;
    if (thing?.kind === 'tool' && thing.name !== undefined) {
      const hard = hardDenial(endpoint.profile, { form: 'tool', name: thing.name });
      if (hard !== undefined)
        throw this.#refused(
          records,
          authorizationRequest,
          this.#unruled(),
          new Denied(hard.reason, { message: hard.message }),
        );
    }
    const question = policyQuestionOf(authorizationRequest);
    const verdict = decide(question, this.generation, policy);
    if (verdict instanceof Denial) {
      this.#refused(records, authorizationRequest, verdict.ruling, verdict.failure);
      throw denied(verdict, authorizationRequest);
    }
    const ruling = verdict.ruling ?? this.#unruled();
    const admission = rates?.admit(question);
    if (admission instanceof RateExceeded)
      throw this.#refused(records, authorizationRequest, ruling, limited(admission));
    if (records?.reserve() === false) {
      admission?.release();
      throw this.#refused(records, authorizationRequest, ruling, new Denied('audit_unavailable'));
    }
    const recorded = records?.allowed(authorizationRequest, ruling);
    if (admission === undefined && recorded === undefined) return { permit: verdict, authorizer: this };
    return {
      permit: verdict,
      authorizer: this,
      over: (ending) => {
        admission?.release();
        recorded?.(ending);
      },
    };
  }

  /** For a request that is decided part by part, and is one record all the same. */
  recordParts(): AuditParts | undefined {
    const { records } = this.#parts;
    return records && new AuditParts(records);
  }

  /** For what was refused already, by the profile, before anybody asked here: it is in the trail like every denial. */
  refused(unasked: Unasked, failure: Failure): void {
    if (!(failure instanceof Denied) && isForm(failure)) {
      this.#parts.records?.refused(unasked, this.generation, failure.reason);
    }
  }

  /** A response that no server request waits for goes nowhere, and is in the trail. */
  dropped(unasked: Unasked): void {
    this.#parts.records?.refused(unasked, this.generation, 'unasked_response');
  }

  /** For what was refused before policy was asked: credentials, and names that no backend has. */
  recordEarly(refusal: Omit<EarlyRefusal, 'generation'>): void {
    this.#parts.records?.early({ ...refusal, generation: this.generation });
  }

  /** For what follows from something that was asked for already: it is no request of its own, and not recorded as one. */
  may(authorizationRequest: AuthorizationRequest): Permit | undefined {
    const verdict = decide(policyQuestionOf(authorizationRequest), this.generation, this.#parts.policy);
    return verdict instanceof Denial ? undefined : verdict;
  }

  /** Whether a backend may ask somebody: why not, or undefined. It is answered in the client's place, and the client never hears of it. */
  denyAsk(
    { principal, endpoint }: Viewer,
    backend: string,
    { row, message }: Pick<ServerRequest, 'row' | 'message'>,
  ): Failure | undefined {
    const { policy, records, profiles } = this.#parts;
    const kind = askKind(row.method);
    const profile = profiles.get(backend);
    const authorizationRequest: AuthorizationRequest = {
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
    if (hard !== undefined) return this.#refused(records, authorizationRequest, this.#unruled(), hard);
    const verdict = decide(policyQuestionOf(authorizationRequest), this.generation, policy);
    if (verdict instanceof Denial) {
      return this.#refused(records, authorizationRequest, verdict.ruling, verdict.failure);
    }
    const ruling = verdict.ruling ?? this.#unruled();
    if (records?.reserve() === false)
      return this.#refused(records, authorizationRequest, ruling, new Failure('audit_unavailable'));
    records?.allowed(authorizationRequest, ruling)({ outcome: 'asked' });
    return undefined;
  }

  /** Whether asks of this backend have to be looked at. */
  watchesAsks({ profile }: Endpoint, backend: string): boolean {
    return (
      !this.isOpen ||
      profile.elicitation !== 'any' ||
      (this.#parts.profiles.get(backend)?.asks.length ?? askKinds.length) < askKinds.length
    );
  }

  /** Whether anything is shown to some and not to others. */
  get isShaping(): boolean {
    return this.#parts.policy !== undefined && this.#parts.policy.mode !== 'audit';
  }

  /** Equal for those to whom the same is shown; undefined where that is everybody. */
  audience({ principal, endpoint }: Viewer): string | undefined {
    const { policy } = this.#parts;
    const names = endpoint.profile.toolNames === 'any' ? '' : 'plain ';
    if (policy === undefined || !this.isShaping) return names === '' ? undefined : names;
    return `${names}${policy.generation} ${policy.audience(principal)}`;
  }

  /** Whether a list has to be looked at entry by entry, may be passed on as it is, or is to be empty. */
  extent({ principal, endpoint }: Viewer, kind: Thing['kind'], backend: string): 'all' | 'some' | 'none' {
    const { policy } = this.#parts;
    const extent = policy?.extent(principal, kind, { endpoint: endpoint.path, backend }) ?? 'all';
    return extent === 'all' && kind === 'tool' && endpoint.profile.toolNames !== 'any' ? 'some' : extent;
  }

  shows(
    { principal, endpoint }: Viewer,
    backend: string,
    thing: Thing & { readonly name: string },
    annotations?: () => unknown,
  ): boolean {
    if (thing.kind === 'tool' && !isNameAdmitted(endpoint.profile, thing.name)) return false;
    const { policy } = this.#parts;
    return policy?.shows({ principal, endpoint: endpoint.path, backend, thing, annotations }) ?? true;
  }

  /** Who wants to know what is in a list of a backend that is alone behind the endpoint; undefined: nobody. */
  seekerOf(endpoint: Endpoint, list: string): UnmatchedNames | undefined {
    const { unmatched } = this.#parts;
    return unmatched?.seeks(endpoint, list) === true ? unmatched : undefined;
  }

  /** Whether a rule wants to know what this backend says of its tools. */
  readsAnnotations(backend: string, { action }: MethodRow): boolean {
    return action === 'call' && this.#parts.policy?.readsAnnotations(backend) === true;
  }

  #unruled(): Ruling {
    return { generation: this.generation, rules: [] };
  }

  #refused<F extends Failure>(
    records: DecisionTrail | undefined,
    authorizationRequest: AuthorizationRequest,
    ruling: Ruling,
    failure: F,
  ): F {
    records?.denied(authorizationRequest, ruling, failure.reason);
    this.#parts.onDenied?.(authorizationRequest, failure);
    return failure;
  }
}
