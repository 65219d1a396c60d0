/** What a legacy session wants of its backends: where each request leads, whether it may, and the call. */

import { LegacyResponder } from '../bridge/legacy-responder.ts';
import type { StartCall } from '../bridge/responder.ts';
import type { Reader } from '../catalog/list-reader.ts';
import { isMerged, type ResolvedTarget } from '../catalog/name-resolver.ts';
import { offers } from '../catalog/offers.ts';
import { readerForSession } from '../catalog/readers.ts';
import { Failure } from '../errors/failure.ts';
import type { Endpoint } from '../exchange/arrival.ts';
import type { CallRequest, CallSink } from '../exchange/call.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { LateCall } from '../exchange/late-call.ts';
import type { Principal } from '../identity/principal.ts';
import type { Authorization } from '../policy/authorization-request.ts';
import { nowhere } from '../session/downstream.ts';
import type { Session } from '../session/session.ts';
import { PooledCall } from '../upstream/pooled-call.ts';
import type { UpstreamLease } from '../upstream/upstream-pool.ts';
import type { Notification, Request } from '../wire/message.ts';
import { type MethodRow, methodRow } from '../wire/methods.ts';
import { admitLegacy, unknownMethod } from './admit.ts';
import { after, authorize, eachRoundAnew } from './authorize.ts';
import { demandToolScopes } from './check-scopes.ts';
import { toldWithPage, withConsent } from './interceptors/consent.ts';
import { filterResponse } from './interceptors/response-filter.ts';
import { emulateLegacy } from './legacy-emulation.ts';
import { inClientNames, listCall } from './merged.ts';
import type { SharedServices } from './services.ts';
import type { SessionUpstreams } from './session-upstreams.ts';
import { listTools, toolsAt } from './tool-lists.ts';
import type { Turn } from './turn.ts';

/** A request that may go on. */
export interface Cleared {
  readonly principal: Principal;
  /** As it was when the request came in. */
  readonly endpoint: Endpoint;
  readonly authorization: Authorization;
  /** Absent where the gateway answers for all backends together. */
  readonly target: ResolvedTarget | undefined;
}

/** One that may go on to a backend. */
interface LegacyBound extends Cleared {
  readonly target: ResolvedTarget;
}

export class LegacyCalls {
  readonly #shared: SharedServices;
  readonly #upstreams: SessionUpstreams;

  constructor(shared: SharedServices, upstreams: SessionUpstreams) {
    this.#shared = shared;
    this.#upstreams = upstreams;
  }

  /**
   * Finds out where a request leads, and whether it may go there. Throws, or rejects with, a Failure where it may not; a promise
   * only where lists have to be read first.
   */
  clear(turn: Turn, session: Session, message: Request): Cleared | Promise<Cleared> {
    const { principal, endpoint, authorizer } = turn;
    const { client } = session;
    const row = admitLegacy(message, client.revision);
    // Nobody would hear what it is subscribed to.
    if (row.action === 'subscribe' && session.downstream === nowhere) throw new Failure('session_required');
    const wanted = { principal, endpoint, authorizer, row, message, revision: client.revision };
    const [only = ''] = endpoint.backends;
    const whole = (target: ResolvedTarget | undefined) => (authorization: Authorization) => ({
      principal,
      endpoint,
      authorization,
      target,
    });
    if (!isMerged(endpoint)) {
      const target = { backend: only, message };
      return after(
        authorize(this.#shared, wanted, target, () => this.#reader(session, principal)),
        whole(row.method === 'ping' ? undefined : target),
      );
    }
    if (row.method !== 'ping' && !this.#shared.nameResolver.isOffered(endpoint, row))
      throw unknownMethod(message, 'legacy');
    if (row.ours === true || row.list !== undefined || row.method === setLevel.method)
      return whole(undefined)(authorizer.ask({ ...wanted, backend: '' }));
    const reader = this.#reader(session, principal);
    return after(this.#shared.nameResolver.find(endpoint, row, message, reader), (target) => {
      demandToolScopes(this.#shared, turn, target);
      return after(
        authorize(this.#shared, wanted, target, () => reader),
        whole(target),
      );
    });
  }

  #reader(session: Session, principal: Principal): Reader {
    const hold: Reader['hold'] = (permit, backend, row) => this.#upstreams.upstreamFor(session, backend, permit, row);
    return readerForSession(session, this.#shared.upstreams, hold, principal);
  }

  async serve(session: Session, exchange: Exchange, clearing: Cleared | Promise<Cleared>): Promise<void> {
    const { request: message, row } = exchange;
    const cleared = clearing instanceof Promise ? await clearing : clearing;
    const { principal, endpoint, authorization, target } = cleared;
    exchange.watch(authorization.over);
    if (exchange.settled) return;
    if (target !== undefined) return this.#serveOne(session, exchange, { principal, endpoint, authorization, target });
    if (row.method === 'ping') exchange.respondResult('{}');
    else if (row.method === setLevel.method) this.#upstreams.setLevels(session, exchange);
    else {
      const reader = this.#reader(session, principal);
      const start = listCall(this.#shared, { endpoint, authorizer: authorization.authorizer }, reader, () =>
        unknownMethod(message, 'legacy'),
      );
      new LegacyResponder(
        { ...this.#shared, session },
        exchange,
        callRequest(session, exchange, message),
        start,
      ).begin();
    }
  }

  async #serveOne(session: Session, exchange: Exchange, cleared: LegacyBound): Promise<void> {
    const { row } = exchange;
    const { target, authorization } = cleared;
    const { backend, message } = target;
    const { permit } = authorization;
    this.#upstreams.remember(session, exchange, target);
    this.#shared.backendInFlight.enter(backend, exchange);
    const upstream = await this.#upstreams
      .upstreamFor(session, backend, permit, row)
      .catch((error: unknown) => this.#lacksLane(session, exchange, cleared, error));
    if (upstream === undefined) return;
    if (!offers(upstream.discovery, row)) exchange.fail(unknownMethod(message, 'legacy'));
    if (exchange.settled || emulateLegacy(this.#shared, session, exchange, { backend, upstream, permit, message })) {
      upstream.release?.();
      return;
    }
    const paramHeaders = this.#paramHeaders(cleared, upstream, row);
    const context = { ...this.#shared, session, ...(paramHeaders && { paramHeaders }) };
    let isGivenBack = false;
    const start = withConsent(
      eachRoundAnew(exchange, authorization, (given) => {
        const bound = { ...cleared, authorization: given };
        const first = this.#starter(session, upstream, row, bound);
        return (next, sink) => {
          // A lane that was held for one call is given back with it.
          const isLate = isGivenBack && upstream.release !== undefined;
          isGivenBack = true;
          return isLate ? this.#later(session, row, bound)(next, sink) : first(next, sink);
        };
      }),
      this.#shared,
    );
    new LegacyResponder(context, exchange, callRequest(session, exchange, message), start).begin();
  }

  /** The backend wants a person's consent before it can be spoken to at all: that is asked for, and then it is tried again. */
  #lacksLane(session: Session, exchange: Exchange, cleared: LegacyBound, error: unknown): undefined {
    const failure = this.#shared.fault(error);
    const { row } = exchange;
    const { target, authorization } = cleared;
    if (this.#shared.consenting === undefined || failure.reason !== 'consent_needed') throw toldWithPage(failure);
    const starter = (given: Authorization) => this.#later(session, row, { ...cleared, authorization: given });
    const anew = withConsent(eachRoundAnew(exchange, authorization, starter), this.#shared);
    new LegacyResponder(
      { ...this.#shared, session },
      exchange,
      callRequest(session, exchange, target.message),
      anew,
    ).begin();
  }

  /** On a lane that is found when the call is made. */
  #later(session: Session, row: MethodRow, bound: LegacyBound): StartCall {
    return (next, sink) =>
      LateCall.after(
        this.#wayFor(session, bound, row),
        sink,
        ({ upstream, paramHeaders }) =>
          this.#starter(session, upstream, row, bound)({ ...next, ...(paramHeaders && { paramHeaders }) }, sink),
        ({ upstream }) => upstream.release?.(),
      );
  }

  async #wayFor(session: Session, cleared: LegacyBound, row: MethodRow) {
    const { target, authorization } = cleared;
    const upstream = await this.#upstreams.upstreamFor(session, target.backend, authorization.permit, row);
    try {
      if (!offers(upstream.discovery, row)) throw unknownMethod(target.message, 'legacy');
      return { upstream, paramHeaders: await this.#paramHeaders(cleared, upstream, row)?.(false) };
    } catch (error) {
      upstream.release?.();
      throw error;
    }
  }

  #paramHeaders({ principal, target }: LegacyBound, upstream: UpstreamLease, row: MethodRow) {
    if (upstream.era !== 'modern' || row.method !== 'tools/call') return undefined;
    const { toolHeaders } = this.#shared;
    const { backend, message } = target;
    return (again: boolean) =>
      toolHeaders.valuesFor(toolsAt(backend, principal), message, listTools(this.#shared, upstream), again);
  }

  #starter(session: Session, upstream: UpstreamLease, row: MethodRow, cleared: LegacyBound): StartCall {
    const { principal, endpoint, authorization, target } = cleared;
    const { permit, authorizer } = authorization;
    const to = {
      authorizer,
      currentGeneration: this.#shared.currentGeneration,
      principal,
      endpoint,
      backend: target.backend,
      row,
    };
    if (!isMerged(endpoint)) return (next, sink) => upstream.call(permit, next, filterResponse(sink, to));
    const links = this.#upstreams.linksOf(session);
    const said = links && ((notification: Notification) => links.translate(target.backend, notification));
    const opened = (on: UpstreamLease) => ({ upstream: on, level: undefined, release: () => on.release?.() });
    return (next, sink) => {
      const hears = withoutSessionLoss(inClientNames(filterResponse(sink, to), target, said));
      // One session upstream among several: that it is lost is no reason to end the client's, and it is opened anew.
      const reopen = async () => {
        // The session hears after the call that the lane is lost, and would give out the same one until then.
        await undefined;
        return opened(await this.#upstreams.upstreamFor(session, target.backend, permit, next.row));
      };
      return new PooledCall(next, hears, permit, reopen).begin(opened(upstream));
    };
  }
}

const setLevel = methodRow('logging/setLevel') as MethodRow;

function callRequest(session: Session, exchange: Exchange, message: Request): CallRequest {
  return {
    row: exchange.row,
    message,
    client: session.client,
    progress: exchange.token !== undefined,
    logLevel: session.logLevel,
  };
}

/** To the client it is one backend that failed, and not its session. */
function withoutSessionLoss(sink: CallSink): CallSink {
  return {
    notify: (notification) => sink.notify(notification),
    ask: (ask) => sink.ask(ask),
    pause: (retryMs) => sink.pause(retryMs),
    settle: (outcome) => {
      const isLoss = outcome.kind === 'failure' && outcome.failure.reason === 'backend_session_lost';
      if (!isLoss) sink.settle(outcome);
      else sink.settle({ kind: 'failure', failure: new Failure('backend_unavailable', { cause: outcome.failure }) });
    },
  };
}
