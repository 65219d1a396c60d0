/** A modern client's request, once it is known for which backend it is: the lane, the headers, the call. */

import { ModernResponder } from '../bridge/modern-responder.ts';
import type { StartCall } from '../bridge/responder.ts';
import type { ResolvedTarget } from '../catalog/name-resolver.ts';
import { offers } from '../catalog/offers.ts';
import type { Failure } from '../errors/failure.ts';
import type { Endpoint, HeaderReader } from '../exchange/arrival.ts';
import type { CallRequest } from '../exchange/call.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { LateCall, onceThen } from '../exchange/late-call.ts';
import type { Principal } from '../identity/principal.ts';
import type { Authorization } from '../policy/authorization-request.ts';
import { SessionSubscription } from '../subscriptions/session-subscription.ts';
import type { UpstreamLease } from '../upstream/upstream-pool.ts';
import { spliceMessage } from '../wire/compose.ts';
import type { Notification, Request } from '../wire/message.ts';
import { skimMessage } from '../wire/skim.ts';
import { member, stringAt } from '../wire/values.ts';
import { unknownMethod } from './admit.ts';
import { toldWithPage, withConsent } from './interceptors/consent.ts';
import { filterResponse, hears } from './interceptors/response-filter.ts';
import { inClientNames } from './merged.ts';
import type { SharedServices } from './services.ts';
import { listTools, toolsAt } from './tool-lists.ts';

/** A request that was admitted. */
export interface Admitted {
  readonly principal: Principal;
  readonly endpoint: Endpoint;
  readonly exchange: Exchange;
  /** As the client sent it. */
  readonly request: CallRequest;
  /** Absent where the transport has no headers. */
  readonly header: HeaderReader | undefined;
}

/** One that has leave to reach its backend, in that backend's names. */
interface Bound extends Admitted {
  readonly target: ResolvedTarget;
  readonly authorization: Authorization;
  /** Rounds that the same request has had, where this is a retry that makes its call anew. */
  readonly rounds: number;
}

export class ModernCalls {
  readonly #shared: SharedServices;

  constructor(shared: SharedServices) {
    this.#shared = shared;
  }

  begin(admitted: Admitted, target: ResolvedTarget, authorization: Authorization): void {
    const { message } = target;
    const request = message === admitted.request.message ? admitted.request : { ...admitted.request, message };
    const { principal, endpoint, exchange, header } = admitted;
    // Written out: spreading costs every call more than all else here.
    const bound: Bound = { principal, endpoint, exchange, request, header, target, authorization, rounds: 0 };
    if (request.row.longLived !== true) this.#shared.backendInFlight.enter(target.backend, exchange);
    const upstream = this.#shared.upstreams.stateless(target.backend, principal);
    if (upstream !== undefined && !this.#mayBeWaiting(bound)) this.#responder(bound, upstream);
    else this.#findLane(bound).catch((error: unknown) => this.#lacksLane(bound, error));
  }

  /** Where people are asked for consent, calls to modern backends wait for their clients, too. */
  #mayBeWaiting({ request }: Bound): boolean {
    return this.#shared.consenting !== undefined && member(request.message.params, 'requestState') !== undefined;
  }

  #lacksLane(bound: Bound, error: unknown): void {
    const { exchange, principal, endpoint, target, request } = bound;
    const { consenting, fault } = this.#shared;
    const failure = fault(error);
    if (consenting === undefined || failure.reason !== 'consent_needed' || request.row.longLived) {
      exchange.fail(toldWithPage(failure));
      return;
    }
    const parties = { principal, endpoint: endpoint.path, backend: target.backend, serverInfo: undefined };
    new ModernResponder(this.#shared, parties, exchange, request).begin(withConsent(this.#later(bound), this.#shared));
  }

  /** On a lane that is found when the call is made. */
  #later(bound: Bound): StartCall {
    return (next, sink) =>
      LateCall.after(
        this.#laneOf(bound),
        sink,
        (upstream) => {
          const own = this.#withOwnState(bound, upstream);
          const { message } = own.request;
          return this.#starter(own, upstream)(own === bound ? next : { ...next, message }, sink);
        },
        (upstream) => upstream.release?.(),
      );
  }

  /** With everything that has to hold before a call; rejects with a Failure where it does not. */
  async #laneOf(bound: Bound): Promise<UpstreamLease> {
    const { target, principal, authorization, request } = bound;
    const upstream = await this.#shared.upstreams.forModern(
      authorization.permit,
      target.backend,
      principal,
      request.client,
      request.row,
    );
    try {
      if (!offers(upstream.discovery, request.row)) throw unknownMethod(request.message, 'modern');
      const mismatch = await this.#paramMismatch(bound, upstream);
      if (mismatch !== undefined) throw mismatch;
    } catch (error) {
      upstream.release?.();
      throw error;
    }
    return upstream;
  }

  async #findLane(bound: Bound): Promise<void> {
    const { target, endpoint, exchange, principal, authorization, request } = bound;
    const { permit } = authorization;
    const { backend } = target;
    const { pendingCalls, consenting, currentGeneration } = this.#shared;
    const state = member(request.message.params, 'requestState');
    const text = (state && stringAt(request.message.bytes, state)) ?? '';
    const claim = { principal, endpoint: endpoint.path, request: exchange.request };
    const waiting = consenting !== undefined && state !== undefined && pendingCalls.isOurs(text, claim);
    // What waits for consent must be found before the backend is: it lets nobody look at it until then.
    const eras = waiting ? [] : (await this.#shared.upstreams.discover(backend, principal)).eras;
    let rounds = 0;
    if (waiting || (state !== undefined && !eras.includes('modern'))) {
      const taken = await pendingCalls.take(text, claim);
      if (taken instanceof ModernResponder) {
        taken.resume(exchange, request);
        return;
      }
      rounds = taken.rounds;
    }
    if (request.row.longLived && !eras.includes('modern')) {
      const watched = await this.#shared.upstreams.watch(permit, backend, principal, request.client);
      const place = currentGeneration.place(endpoint);
      const mayHear = (said: Notification) =>
        hears({ authorizer: currentGeneration.now.authorizer, principal, endpoint: place, backend }, said);
      await new SessionSubscription(exchange, watched, request.message, mayHear).begin();
      return;
    }
    const held = await this.#shared.upstreams.forModern(permit, backend, principal, request.client, request.row);
    this.#responder({ ...bound, rounds }, held);
  }

  #responder(given: Bound, upstream: UpstreamLease): void {
    const bound = this.#withOwnState(given, upstream);
    const { exchange, request } = bound;
    if (!offers(upstream.discovery, request.row)) exchange.fail(unknownMethod(request.message, 'modern'));
    if (exchange.settled) {
      upstream.release?.();
      return;
    }
    const mismatch = this.#paramMismatch(bound, upstream);
    if (mismatch === undefined) this.#call(bound, upstream);
    else {
      this.#callUnless(mismatch, bound, upstream).catch((error: unknown) => {
        upstream.release?.();
        exchange.fail(this.#shared.fault(error));
      });
    }
  }

  /** A state that was sealed for this principal, as the backend gave it. A local one is the only one. */
  #withOwnState(bound: Bound, upstream: UpstreamLease): Bound {
    const { principal, endpoint, exchange, request } = bound;
    if (principal.kind === 'local' || upstream.era !== 'modern') return bound;
    const { message } = request;
    const span = member(message.params, 'requestState');
    if (span === undefined) return bound;
    const claim = { principal, endpoint: endpoint.path, request: exchange.request };
    const state = this.#shared.pendingCalls.unseal(stringAt(message.bytes, span) ?? '', claim);
    const own = skimMessage(spliceMessage(message, [{ span, with: state }])) as Request;
    return { ...bound, request: { ...request, message: own } };
  }

  async #callUnless(
    mismatch: Failure | Promise<Failure | undefined>,
    bound: Bound,
    upstream: UpstreamLease,
  ): Promise<void> {
    const failure = await mismatch;
    if (failure !== undefined) bound.exchange.fail(failure);
    if (bound.exchange.settled) upstream.release?.();
    else this.#call(bound, upstream);
  }

  #call(bound: Bound, upstream: UpstreamLease): void {
    const { exchange, request, principal, endpoint, rounds, target } = bound;
    const { serverInfo } = upstream.discovery;
    const parties = { principal, endpoint: endpoint.path, backend: target.backend, serverInfo };
    const first = this.#starter(bound, upstream);
    const isAsked = this.#shared.consenting !== undefined;
    const start = isAsked ? withConsent(onceThen(first, this.#later(bound)), this.#shared) : first;
    new ModernResponder(this.#shared, parties, exchange, request, rounds).begin(start);
  }

  #starter({ principal, endpoint, target, request, authorization }: Bound, upstream: UpstreamLease): StartCall {
    const { currentGeneration } = this.#shared;
    const { backend } = target;
    const { row } = request;
    const { authorizer, permit } = authorization;
    return (next, sink) => {
      const heard = filterResponse(sink, { authorizer, currentGeneration, principal, endpoint, backend, row });
      return upstream.call(permit, next, inClientNames(heard, target));
    };
  }

  /** After policy: what a tool's schema says must not be learnt by somebody who may not call it. */
  #paramMismatch(
    { target, request, header, principal }: Bound,
    upstream: UpstreamLease,
  ): Failure | undefined | Promise<Failure | undefined> {
    if (header === undefined || request.row.method !== 'tools/call') return undefined;
    return this.#shared.toolHeaders.check(
      toolsAt(target.backend, principal),
      request.message,
      header,
      listTools(this.#shared, upstream),
    );
  }
}
