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
  readonly grant: Authorization;
  /** Rounds that the same request has had, where this is a retry that makes its call anew. */
  readonly rounds: number;
}

export class ModernCalls {
  readonly #rooms: SharedServices;

  constructor(rooms: SharedServices) {
    this.#rooms = rooms;
  }

  begin(admitted: Admitted, target: ResolvedTarget, grant: Authorization): void {
    const { message } = target;
    const request = message === admitted.request.message ? admitted.request : { ...admitted.request, message };
    const { principal, endpoint, exchange, header } = admitted;
    // Written out: spreading costs every call more than all else here.
    const bound: Bound = { principal, endpoint, exchange, request, header, target, grant, rounds: 0 };
    if (request.row.longLived !== true) this.#rooms.occupied.enter(target.backend, exchange);
    const lane = this.#rooms.lanes.stateless(target.backend, principal);
    if (lane !== undefined && !this.#mayBeWaiting(bound)) this.#drive(bound, lane);
    else this.#findLane(bound).catch((error: unknown) => this.#lacksLane(bound, error));
  }

  /** Where people are asked for consent, calls to modern backends wait for their clients, too. */
  #mayBeWaiting({ request }: Bound): boolean {
    return this.#rooms.consenting !== undefined && member(request.message.params, 'requestState') !== undefined;
  }

  #lacksLane(bound: Bound, error: unknown): void {
    const { exchange, principal, endpoint, target, request } = bound;
    const { consenting, fault } = this.#rooms;
    const failure = fault(error);
    if (consenting === undefined || failure.reason !== 'consent_needed' || request.row.longLived) {
      exchange.fail(toldWithPage(failure));
      return;
    }
    const parties = { principal, endpoint: endpoint.path, backend: target.backend, serverInfo: undefined };
    new ModernResponder(this.#rooms, parties, exchange, request).begin(withConsent(this.#later(bound), this.#rooms));
  }

  /** On a lane that is found when the call is made. */
  #later(bound: Bound): StartCall {
    return (next, sink) =>
      LateCall.after(
        this.#laneOf(bound),
        sink,
        (lane) => {
          const own = this.#withOwnState(bound, lane);
          const { message } = own.request;
          return this.#starter(own, lane)(own === bound ? next : { ...next, message }, sink);
        },
        (lane) => lane.release?.(),
      );
  }

  /** With everything that has to hold before a call; rejects with a Failure where it does not. */
  async #laneOf(bound: Bound): Promise<UpstreamLease> {
    const { target, principal, grant, request } = bound;
    const lane = await this.#rooms.lanes.forModern(
      grant.permit,
      target.backend,
      principal,
      request.client,
      request.row,
    );
    try {
      if (!offers(lane.discovery, request.row)) throw unknownMethod(request.message, 'modern');
      const mismatch = await this.#paramMismatch(bound, lane);
      if (mismatch !== undefined) throw mismatch;
    } catch (error) {
      lane.release?.();
      throw error;
    }
    return lane;
  }

  async #findLane(bound: Bound): Promise<void> {
    const { target, endpoint, exchange, principal, grant, request } = bound;
    const { permit } = grant;
    const { backend } = target;
    const { parking, consenting, inForce } = this.#rooms;
    const state = member(request.message.params, 'requestState');
    const text = (state && stringAt(request.message.bytes, state)) ?? '';
    const claim = { principal, endpoint: endpoint.path, request: exchange.request };
    const waiting = consenting !== undefined && state !== undefined && parking.isOurs(text, claim);
    // What waits for consent must be found before the backend is: it lets nobody look at it until then.
    const eras = waiting ? [] : (await this.#rooms.lanes.discover(backend, principal)).eras;
    let rounds = 0;
    if (waiting || (state !== undefined && !eras.includes('modern'))) {
      const taken = await parking.take(text, claim);
      if (taken instanceof ModernResponder) {
        taken.resume(exchange, request);
        return;
      }
      rounds = taken.rounds;
    }
    if (request.row.longLived && !eras.includes('modern')) {
      const watched = await this.#rooms.lanes.watch(permit, backend, principal, request.client);
      const place = inForce.place(endpoint);
      const mayHear = (said: Notification) =>
        hears({ leave: inForce.now.leave, principal, endpoint: place, backend }, said);
      await new SessionSubscription(exchange, watched, request.message, mayHear).begin();
      return;
    }
    const held = await this.#rooms.lanes.forModern(permit, backend, principal, request.client, request.row);
    this.#drive({ ...bound, rounds }, held);
  }

  #drive(given: Bound, lane: UpstreamLease): void {
    const bound = this.#withOwnState(given, lane);
    const { exchange, request } = bound;
    if (!offers(lane.discovery, request.row)) exchange.fail(unknownMethod(request.message, 'modern'));
    if (exchange.settled) {
      lane.release?.();
      return;
    }
    const mismatch = this.#paramMismatch(bound, lane);
    if (mismatch === undefined) this.#call(bound, lane);
    else {
      this.#callUnless(mismatch, bound, lane).catch((error: unknown) => {
        lane.release?.();
        exchange.fail(this.#rooms.fault(error));
      });
    }
  }

  /** A state that was sealed for this principal, as the backend gave it. A local one is the only one. */
  #withOwnState(bound: Bound, lane: UpstreamLease): Bound {
    const { principal, endpoint, exchange, request } = bound;
    if (principal.kind === 'local' || lane.era !== 'modern') return bound;
    const { message } = request;
    const span = member(message.params, 'requestState');
    if (span === undefined) return bound;
    const claim = { principal, endpoint: endpoint.path, request: exchange.request };
    const state = this.#rooms.parking.unseal(stringAt(message.bytes, span) ?? '', claim);
    const own = skimMessage(spliceMessage(message, [{ span, with: state }])) as Request;
    return { ...bound, request: { ...request, message: own } };
  }

  async #callUnless(
    mismatch: Failure | Promise<Failure | undefined>,
    bound: Bound,
    lane: UpstreamLease,
  ): Promise<void> {
    const failure = await mismatch;
    if (failure !== undefined) bound.exchange.fail(failure);
    if (bound.exchange.settled) lane.release?.();
    else this.#call(bound, lane);
  }

  #call(bound: Bound, lane: UpstreamLease): void {
    const { exchange, request, principal, endpoint, rounds, target } = bound;
    const { serverInfo } = lane.discovery;
    const parties = { principal, endpoint: endpoint.path, backend: target.backend, serverInfo };
    const first = this.#starter(bound, lane);
    const isAsked = this.#rooms.consenting !== undefined;
    const start = isAsked ? withConsent(onceThen(first, this.#later(bound)), this.#rooms) : first;
    new ModernResponder(this.#rooms, parties, exchange, request, rounds).begin(start);
  }

  #starter({ principal, endpoint, target, request, grant }: Bound, lane: UpstreamLease): StartCall {
    const { inForce } = this.#rooms;
    const { backend } = target;
    const { row } = request;
    const { leave, permit } = grant;
    return (next, sink) => {
      const heard = filterResponse(sink, { leave, inForce, principal, endpoint, backend, row });
      return lane.call(permit, next, inClientNames(heard, target));
    };
  }

  /** After policy: what a tool's schema says must not be learnt by somebody who may not call it. */
  #paramMismatch(
    { target, request, header, principal }: Bound,
    lane: UpstreamLease,
  ): Failure | undefined | Promise<Failure | undefined> {
    if (header === undefined || request.row.method !== 'tools/call') return undefined;
    return this.#rooms.toolHeaders.check(
      toolsAt(target.backend, principal),
      request.message,
      header,
      listTools(this.#rooms, lane),
    );
  }
}
