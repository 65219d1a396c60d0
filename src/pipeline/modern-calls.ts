/** The call stage for a modern client: finds the upstream session, compares the headers, and makes the call. */
import { ModernResponder } from '../bridge/modern-responder.ts';
import { offers } from '../catalog/offers.ts';
import type { Failure } from '../errors/failure.ts';
import type { CallRequest } from '../exchange/call.ts';
import { LateCall } from '../exchange/late-call.ts';
import type { Permit } from '../policy/permit.ts';
import { SessionSubscription } from '../subscriptions/session-subscription.ts';
import type { UpstreamLease } from '../upstream/upstream-pool.ts';
import { spliceMessage } from '../wire/compose.ts';
import type { Notification, Request } from '../wire/message.ts';
import { skimMessage } from '../wire/skim.ts';
import { member, stringAt } from '../wire/values.ts';
import { unknownMethod } from './admit.ts';
import type { RequestContext } from './context.ts';
import { intercepted, type UpstreamCall } from './interceptors/compose.ts';
import { toldWithPage } from './interceptors/consent.ts';
import { hears } from './interceptors/response-filter.ts';
import type { SharedServices } from './services.ts';
import { listTools, toolsAt } from './tool-lists.ts';

export class ModernCalls {
  readonly #shared: SharedServices;

  constructor(shared: SharedServices) {
    this.#shared = shared;
  }

  /** The request is resolved and authorized, and its exchange is open. */
  begin(context: RequestContext): void {
    const { principal, exchange, row } = context;
    const { backend, message } = context.resolved;
    if (message !== context.call.message) context.call = { ...context.call, message };
    if (row.longLived !== true) this.#shared.backendInFlight.enter(backend, exchange);
    const upstream = this.#shared.upstreams.stateless(backend, principal);
    if (upstream !== undefined && !this.#mayBePending(context)) this.#callOn(context, upstream);
    else this.#findUpstream(context).catch((error: unknown) => this.#withoutUpstream(context, error));
  }

  /** Where people are asked for consent, a call to a modern backend may be pending, too. */
  #mayBePending({ call }: RequestContext): boolean {
    return this.#shared.consenting !== undefined && member(call.message.params, 'requestState') !== undefined;
  }

  /** The backend may demand a person's consent before it can be reached at all. */
  #withoutUpstream(context: RequestContext, error: unknown): void {
    const { consenting, fault } = this.#shared;
    const failure = fault(error);
    if (context.exchange.settled) return;
    if (consenting === undefined || failure.reason !== 'consent_needed' || context.row.longLived)
      context.exchange.fail(toldWithPage(failure));
    else this.#respond(context, undefined, this.#callLater(context));
  }

  /** Makes the call on an upstream session that is found only then. */
  #callLater(context: RequestContext): UpstreamCall {
    return (permit, next, sink) =>
      LateCall.after(
        this.#upstreamOf(context, permit),
        sink,
        (upstream) => upstream.call(permit, this.#withOwnState(context, next, upstream), sink),
        (upstream) => upstream.release?.(),
      );
  }

  /** Rejects with a Failure where the call cannot be made there. */
  async #upstreamOf(context: RequestContext, permit: Permit): Promise<UpstreamLease> {
    const { resolved, principal, client, row, call } = context;
    const { upstreams } = this.#shared;
    const upstream = await upstreams.forModern(permit, resolved.backend, principal, client, row);
    try {
      if (!offers(upstream.discovery, row)) throw unknownMethod(call.message, 'modern');
      const mismatch = await this.#paramMismatch(context, upstream);
      if (mismatch !== undefined) throw mismatch;
    } catch (error) {
      upstream.release?.();
      throw error;
    }
    return upstream;
  }

  async #findUpstream(context: RequestContext): Promise<void> {
    const { endpoint, exchange, principal, authorization, call, client, row } = context;
    const { permit } = authorization;
    const { backend } = context.resolved;
    const { pendingCalls, consenting, currentGeneration, upstreams } = this.#shared;
    const state = member(call.message.params, 'requestState');
    const text = (state && stringAt(call.message.bytes, state)) ?? '';
    const claim = { principal, endpoint: endpoint.path, request: exchange.request };
    const isPending = consenting !== undefined && state !== undefined && pendingCalls.isOurs(text, claim);
    // Look up a call that waits for consent before discovering its backend: discovery fails until consent is given.
    const eras = isPending ? [] : (await upstreams.discover(backend, principal)).eras;
    if (isPending || (state !== undefined && !eras.includes('modern'))) {
      const taken = await pendingCalls.take(text, claim);
      if (taken instanceof ModernResponder) {
        taken.resume(exchange, call);
        return;
      }
      context.rounds = taken.rounds;
    }
    if (row.longLived && !eras.includes('modern')) {
      const watched = await upstreams.watch(permit, backend, principal, client);
      const place = currentGeneration.place(endpoint);
      const mayHear = (said: Notification) =>
        hears({ authorizer: currentGeneration.now.authorizer, principal, endpoint: place, backend }, said);
      await new SessionSubscription(exchange, watched, call.message, mayHear).begin();
      return;
    }
    this.#callOn(context, await upstreams.forModern(permit, backend, principal, client, row));
  }

  #callOn(context: RequestContext, upstream: UpstreamLease): void {
    const { exchange, row } = context;
    context.call = this.#withOwnState(context, context.call, upstream);
    if (!offers(upstream.discovery, row)) exchange.fail(unknownMethod(context.call.message, 'modern'));
    if (exchange.settled) {
      upstream.release?.();
      return;
    }
    const mismatch = this.#paramMismatch(context, upstream);
    if (mismatch === undefined) this.#respondFrom(context, upstream);
    else {
      this.#callUnless(mismatch, context, upstream).catch((error: unknown) => {
        upstream.release?.();
        exchange.fail(this.#shared.fault(error));
      });
    }
  }

  async #callUnless(
    mismatch: Failure | Promise<Failure | undefined>,
    context: RequestContext,
    upstream: UpstreamLease,
  ): Promise<void> {
    const failure = await mismatch;
    if (failure !== undefined) context.exchange.fail(failure);
    if (context.exchange.settled) upstream.release?.();
    else this.#respondFrom(context, upstream);
  }

  #respondFrom(context: RequestContext, upstream: UpstreamLease): void {
    const first: UpstreamCall = (permit, next, sink) => upstream.call(permit, next, sink);
    const isAsked = this.#shared.consenting !== undefined;
    const call = isAsked ? onceThen(first, this.#callLater(context)) : first;
    this.#respond(context, upstream.discovery.serverInfo, call);
  }

  #respond(context: RequestContext, serverInfo: unknown, call: UpstreamCall): void {
    const { principal, endpoint, exchange, rounds, resolved } = context;
    const parties = { principal, endpoint: endpoint.path, backend: resolved.backend, serverInfo };
    const start = intercepted(this.#shared, context, call);
    new ModernResponder(this.#shared, parties, exchange, context.call, rounds).begin(start);
  }

  /**
   * Restores the backend's own `requestState`, which the client has sealed for its principal. The one local principal
   * shares nothing with others, so its states are not sealed.
   */
  #withOwnState(context: RequestContext, request: CallRequest, upstream: UpstreamLease): CallRequest {
    const { principal, endpoint, exchange } = context;
    if (principal.kind === 'local' || upstream.era !== 'modern') return request;
    const { message } = context.resolved;
    const span = member(message.params, 'requestState');
    if (span === undefined) return request;
    const claim = { principal, endpoint: endpoint.path, request: exchange.request };
    const state = this.#shared.pendingCalls.unseal(stringAt(message.bytes, span) ?? '', claim);
    const own = skimMessage(spliceMessage(message, [{ span, with: state }])) as Request;
    return { ...request, message: own };
  }

  /** Runs after the authorize stage: a client that may not call a tool must not learn about its schema. */
  #paramMismatch(
    { resolved, call, header, principal }: RequestContext,
    upstream: UpstreamLease,
  ): Failure | undefined | Promise<Failure | undefined> {
    if (header === undefined || call.row.method !== 'tools/call') return undefined;
    return this.#shared.toolHeaders.check(
      toolsAt(resolved.backend, principal),
      call.message,
      header,
      listTools(this.#shared, upstream),
    );
  }
}

/** An upstream session that was leased for one call is released with it: a second call leases a new one. */
function onceThen(first: UpstreamCall, later: UpstreamCall): UpstreamCall {
  let isFirst = true;
  return (permit, request, sink) => {
    const call = isFirst ? first : later;
    isFirst = false;
    return call(permit, request, sink);
  };
}
