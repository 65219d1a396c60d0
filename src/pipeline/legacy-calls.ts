/** The resolve, authorize and call stages for a request of a legacy session. */
import { LegacyResponder } from '../bridge/legacy-responder.ts';
import type { Reader } from '../catalog/list-reader.ts';
import { isMerged, type ResolvedTarget } from '../catalog/name-resolver.ts';
import { offers } from '../catalog/offers.ts';
import { readerForSession } from '../catalog/readers.ts';
import { Failure } from '../errors/failure.ts';
import type { CallSink } from '../exchange/call.ts';
import { LateCall } from '../exchange/late-call.ts';
import type { Authorization } from '../policy/authorization-request.ts';
import type { Permit } from '../policy/permit.ts';
import { nowhere } from '../session/downstream.ts';
import type { Session } from '../session/session.ts';
import { PooledCall } from '../upstream/pooled-call.ts';
import type { UpstreamLease } from '../upstream/upstream-pool.ts';
import type { Notification, Request } from '../wire/message.ts';
import { type MethodRow, methodRow } from '../wire/methods.ts';
import { admitLegacy, unknownMethod } from './admit.ts';
import { after, asAuthorizationRequest, authorize } from './authorize.ts';
import { demandToolScopes } from './check-scopes.ts';
import type { RequestContext } from './context.ts';
import { intercepted, type UpstreamCall } from './interceptors/compose.ts';
import { toldWithPage } from './interceptors/consent.ts';
import { emulateLegacy } from './legacy-emulation.ts';
import { listCall } from './merged.ts';
import type { SharedServices } from './services.ts';
import type { SessionUpstreams } from './session-upstreams.ts';
import { listTools, toolsAt } from './tool-lists.ts';

/** A request of a legacy session. */
export type SessionContext = RequestContext & { readonly session: Session };

export class LegacyCalls {
  readonly #shared: SharedServices;
  readonly #upstreams: SessionUpstreams;

  constructor(shared: SharedServices, upstreams: SessionUpstreams) {
    this.#shared = shared;
    this.#upstreams = upstreams;
  }

  /**
   * Finds the target of a request, and authorizes it. Throws, or rejects with, a Failure where it is denied. Returns a
   * promise only where lists have to be read first.
   */
  clear(context: SessionContext, request: Request): SessionContext | Promise<SessionContext> {
    const { endpoint, authorizer, session } = context;
    const row = admitLegacy(request, session.client.revision);
    context.request = request;
    context.row = row;
    context.client = session.client;
    // Without a session there is no stream on which updates could be sent.
    if (row.action === 'subscribe' && session.downstream === nowhere) throw new Failure('session_required');
    const authorized = (authorization: Authorization): SessionContext => {
      context.authorization = authorization;
      return context;
    };
    if (!isMerged(endpoint)) {
      const [backend = ''] = endpoint.backends;
      const target = { backend, message: request };
      if (row.method !== 'ping') context.target = target;
      return after(
        authorize(this.#shared, context, target, () => this.#reader(context)),
        authorized,
      );
    }
    const { nameResolver } = this.#shared;
    if (row.method !== 'ping' && !nameResolver.isOffered(endpoint, row)) throw unknownMethod(request, 'legacy');
    if (row.ours === true || row.list !== undefined || row.method === setLevel.method)
      return authorized(authorizer.ask(asAuthorizationRequest(context, row, '')));
    const reader = this.#reader(context);
    return after(nameResolver.find(endpoint, row, request, reader), (target) => {
      demandToolScopes(this.#shared, context, target);
      context.target = target;
      return after(
        authorize(this.#shared, context, target, () => reader),
        authorized,
      );
    });
  }

  #reader({ session, principal }: SessionContext): Reader {
    const hold: Reader['hold'] = (permit, backend, row) => this.#upstreams.upstreamFor(session, backend, permit, row);
    return readerForSession(session, this.#shared.upstreams, hold, principal);
  }

  /** Serves a request whose exchange is open. `clearing` resolves when the request is authorized. */
  async serve(context: SessionContext, clearing: SessionContext | Promise<SessionContext>): Promise<void> {
    const { exchange, session } = context;
    if (clearing instanceof Promise) await clearing;
    exchange.watch(context.authorization.over);
    if (exchange.settled) return;
    const { request, row, target, authorization, endpoint } = context;
    context.call = {
      row,
      message: target?.message ?? request,
      client: session.client,
      progress: exchange.token !== undefined,
      logLevel: session.logLevel,
    };
    if (target !== undefined) return this.#serveOne(context, target);
    if (row.method === 'ping') exchange.respondResult('{}');
    else if (row.method === setLevel.method) this.#upstreams.setLevels(session, exchange);
    else {
      const inGeneration = { endpoint, authorizer: authorization.authorizer };
      const unknown = () => unknownMethod(request, 'legacy');
      const start = listCall(this.#shared, inGeneration, this.#reader(context), unknown);
      new LegacyResponder({ ...this.#shared, session }, exchange, context.call, start).begin();
    }
  }

  async #serveOne(context: SessionContext, target: ResolvedTarget): Promise<void> {
    const { row, exchange, session, authorization } = context;
    const { backend, message } = target;
    const { permit } = authorization;
    this.#upstreams.remember(session, exchange, target);
    this.#shared.backendInFlight.enter(backend, exchange);
    const upstream = await this.#upstreams
      .upstreamFor(session, backend, permit, row)
      .catch((error: unknown) => this.#withoutUpstream(context, error));
    if (upstream === undefined) return;
    if (!offers(upstream.discovery, row)) exchange.fail(unknownMethod(message, 'legacy'));
    if (exchange.settled || emulateLegacy(this.#shared, session, exchange, { backend, upstream, permit, message })) {
      upstream.release?.();
      return;
    }
    const paramHeaders = this.#paramHeaders(context, upstream);
    const first = this.#callOn(context, upstream);
    const later = this.#callLater(context);
    let isGivenBack = false;
    const call: UpstreamCall = (given, next, sink) => {
      // An upstream session that was leased for one call is given back with it.
      const isLate = isGivenBack && upstream.release !== undefined;
      isGivenBack = true;
      return (isLate ? later : first)(given, next, sink);
    };
    this.#respond(context, call, paramHeaders);
  }

  /** The backend demands a person's consent before it can be reached at all: ask for consent, then make the call. */
  #withoutUpstream(context: SessionContext, error: unknown): undefined {
    const failure = this.#shared.fault(error);
    if (context.exchange.settled) return;
    if (this.#shared.consenting === undefined || failure.reason !== 'consent_needed') throw toldWithPage(failure);
    this.#respond(context, this.#callLater(context), undefined);
  }

  #respond(context: SessionContext, call: UpstreamCall, paramHeaders: ParamHeaders | undefined): void {
    const { session, exchange } = context;
    const start = intercepted(this.#shared, context, call, this.#translation(context));
    const services = { ...this.#shared, session, ...(paramHeaders && { paramHeaders }) };
    new LegacyResponder(services, exchange, context.call, start).begin();
  }

  /** Behind a merged endpoint notifications of a backend are translated into the client's names. */
  #translation({ session, endpoint, resolved: { backend } }: SessionContext) {
    const links = isMerged(endpoint) ? this.#upstreams.linksOf(session) : undefined;
    return links && ((notification: Notification) => links.translate(backend, notification));
  }

  /** Makes the call on an upstream session that is found only then. */
  #callLater(context: SessionContext): UpstreamCall {
    return (permit, next, sink) =>
      LateCall.after(
        this.#findUpstream(context, permit),
        sink,
        ({ upstream, paramHeaders }) =>
          this.#callOn(context, upstream)(permit, { ...next, ...(paramHeaders && { paramHeaders }) }, sink),
        ({ upstream }) => upstream.release?.(),
      );
  }

  async #findUpstream(context: SessionContext, permit: Permit) {
    const { session, row, resolved } = context;
    const upstream = await this.#upstreams.upstreamFor(session, resolved.backend, permit, row);
    try {
      if (!offers(upstream.discovery, row)) throw unknownMethod(resolved.message, 'legacy');
      return { upstream, paramHeaders: await this.#paramHeaders(context, upstream)?.(false) };
    } catch (error) {
      upstream.release?.();
      throw error;
    }
  }

  #paramHeaders({ principal, resolved, row }: SessionContext, upstream: UpstreamLease): ParamHeaders | undefined {
    if (upstream.era !== 'modern' || row.method !== 'tools/call') return undefined;
    const { toolHeaders } = this.#shared;
    const { backend, message } = resolved;
    return (again) =>
      toolHeaders.valuesFor(toolsAt(backend, principal), message, listTools(this.#shared, upstream), again);
  }

  #callOn(context: SessionContext, upstream: UpstreamLease): UpstreamCall {
    const { session, endpoint, resolved } = context;
    if (!isMerged(endpoint)) return (permit, next, sink) => upstream.call(permit, next, sink);
    const opened = (on: UpstreamLease) => ({ upstream: on, level: undefined, release: () => on.release?.() });
    return (permit, next, sink) => {
      // With several backends, losing one upstream session does not end the client's session: it is opened again.
      const reopen = async () => {
        // The session learns of the loss only after the call has failed, and would return the lost upstream session
        // until then.
        await undefined;
        return opened(await this.#upstreams.upstreamFor(session, resolved.backend, permit, next.row));
      };
      return new PooledCall(next, withoutSessionLoss(sink), permit, reopen).begin(opened(upstream));
    };
  }
}

/** The `Mcp-Param-*` headers of a call. `again`: the backend refused the previous ones. */
type ParamHeaders = (again: boolean) => Promise<Record<string, string>>;

const setLevel = methodRow('logging/setLevel') as MethodRow;

/** For the client one backend has failed, but its session has not. */
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
