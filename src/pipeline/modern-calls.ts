/** The call stage for a modern client: finds the upstream session, compares the headers, and makes the call. */
import { withoutAnswers } from '../bridge/input-required.ts';
import { ModernResponder } from '../bridge/modern-responder.ts';
import type { CallStarter } from '../bridge/responder.ts';
import type { Failure } from '../errors/failure.ts';
import type { Call, CallRequest, CallSink } from '../exchange/call.ts';
import type { Permit } from '../policy/permit.ts';
import { SessionSubscription } from '../subscriptions/session-subscription.ts';
import type { UpstreamLease } from '../upstream/upstream-pool.ts';
import { about } from '../wire/about.ts';
import { spliceMessage } from '../wire/compose.ts';
import type { Notification, Request } from '../wire/message.ts';
import { offers } from '../wire/methods.ts';
import { skimMessage } from '../wire/skim.ts';
import { member, stringAt } from '../wire/values.ts';
import { unknownMethod } from './admit.ts';
import type { RequestContext } from './context.ts';
import { type EraCalls, type FoundUpstream, InterceptedCall } from './interceptors/compose.ts';
import { toldWithPage } from './interceptors/consent.ts';
import { hears } from './interceptors/response-filter.ts';
import { waitingForTask } from './interceptors/task-wait.ts';
import { ownCall } from './merged.ts';
import { mergeListens } from './modern-listens.ts';
import type { SharedServices, StageServices } from './services.ts';
import type { SessionUpstreams } from './session-upstreams.ts';

export class ModernCalls implements EraCalls {
  readonly shared: SharedServices;
  readonly sessionUpstreams: SessionUpstreams;

  constructor({ shared, sessionUpstreams }: StageServices) {
    this.shared = shared;
    this.sessionUpstreams = sessionUpstreams;
  }

  /** The request is authorized, and its exchange is open. */
  begin(context: RequestContext): void | Promise<void> {
    const { principal, exchange, row, target } = context;
    if (target === undefined) return this.#answerForAll(context);
    const { backend } = target;
    if (row.longLived !== true) exchange.onOver(this.shared.backendInFlight.enter(backend, exchange));
    const upstream = this.shared.currentGeneration.now.backends.stateless(backend, principal);
    if (upstream !== undefined && !this.#mayBePending(context)) this.#callOn(context, upstream);
    else this.#findUpstream(context).catch((error: unknown) => this.#withoutUpstream(context, error));
  }

  /** One answer for all backends of a merged endpoint: a list, or a subscription. */
  #answerForAll(context: RequestContext): void | Promise<void> {
    if (context.row.longLived) return mergeListens(this.shared, context);
    this.#respond(context, '', about, ownCall(this, context));
  }

  /** Answers in the place of the backend. */
  answer(context: RequestContext, calls: CallStarter): void {
    this.#respond(context, context.resolved.backend, about, calls);
  }

  /** Where people are asked for consent, or tasks are waited for, a call to a modern backend may be pending, too. */
  #mayBePending({ call, generation, endpoint }: RequestContext): boolean {
    if (generation.consenting === undefined && endpoint.tasks === undefined) return false;
    return member(call.message.params, 'requestState') !== undefined;
  }

  /** The backend may demand a person's consent before it can be reached at all. */
  #withoutUpstream(context: RequestContext, error: unknown): void {
    const { consenting } = context.generation;
    const failure = this.shared.fault(error);
    if (context.exchange.settled) return;
    if (consenting === undefined || failure.reason !== 'consent_needed' || context.row.longLived)
      context.exchange.fail(toldWithPage(failure));
    else this.#respond(context, context.resolved.backend, undefined, new InterceptedCall(this, context, undefined));
  }

  callOn(context: RequestContext, upstream: UpstreamLease, permit: Permit, request: CallRequest, sink: CallSink): Call {
    // Few backends run tasks of 2025-11-25: nothing more is entered for the others.
    if (upstream.discovery.coreTasks === undefined || context.row.method !== 'tools/call')
      return upstream.call(permit, request, sink);
    const start = (own: CallRequest, to: CallSink) => upstream.call(permit, own, to);
    return waitingForTask(this, context, { upstream, start }, request, sink);
  }

  async find(context: RequestContext, permit: Permit, request: CallRequest): Promise<FoundUpstream> {
    const { resolved, principal, client, row, call } = context;
    const upstream = await this.shared.upstreams.forModern(permit, resolved.backend, principal, client, row);
    try {
      if (!offers(upstream.discovery, row)) throw unknownMethod(call.message, 'modern');
      const mismatch = await this.#paramMismatch(context, upstream);
      if (mismatch !== undefined) throw mismatch;
      return {
        upstream,
        request: await this.#withFinalHeaders(context, this.#withOwnState(context, request, upstream), upstream),
      };
    } catch (error) {
      upstream.release?.();
      throw error;
    }
  }

  async #findUpstream(context: RequestContext): Promise<void> {
    const { endpoint, exchange, principal, authorization, call, client, row } = context;
    const { permit } = authorization;
    const { backend } = context.resolved;
    const { pendingCalls, currentGeneration, upstreams } = this.shared;
    const state = member(call.message.params, 'requestState');
    const text = (state && stringAt(call.message.bytes, state)) ?? '';
    const claim = { principal, endpoint: endpoint.path, request: exchange.request };
    const isPending = this.#mayBePending(context) && pendingCalls.isOurs(text, claim);
    // Look up a call that waits for consent before discovering its backend: discovery fails until consent is given.
    const eras = isPending ? [] : (await upstreams.discover(backend, principal)).eras;
    if (isPending || (state !== undefined && !eras.includes('modern'))) {
      const taken = await pendingCalls.take(text, claim);
      if (taken instanceof ModernResponder) {
        taken.resume(context, call);
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
    if (mismatch === undefined && context.resolved.asked === undefined) this.#respondFrom(context, upstream);
    else {
      this.#callUnless(mismatch, context, upstream).catch((error: unknown) => {
        upstream.release?.();
        exchange.fail(this.shared.fault(error));
      });
    }
  }

  async #callUnless(
    mismatch: Failure | undefined | Promise<Failure | undefined>,
    context: RequestContext,
    upstream: UpstreamLease,
  ): Promise<void> {
    const failure = await mismatch;
    if (failure !== undefined) context.exchange.fail(failure);
    else context.call = await this.#withFinalHeaders(context, context.call, upstream);
    if (context.exchange.settled) upstream.release?.();
    else this.#respondFrom(context, upstream);
  }

  #respondFrom(context: RequestContext, upstream: UpstreamLease): void {
    const { serverInfo } = upstream.discovery;
    this.#respond(context, context.resolved.backend, serverInfo, new InterceptedCall(this, context, upstream));
  }

  #respond(context: RequestContext, backend: string, serverInfo: unknown, calls: CallStarter): void {
    const { principal, endpoint, exchange, rounds } = context;
    const parties = { principal, endpoint: endpoint.path, backend, serverInfo };
    new ModernResponder(this.shared, parties, exchange, context.call, rounds).begin(calls);
  }

  /**
   * Restores the backend's own `requestState`, which the client has sealed for its principal. The one local principal
   * shares nothing with others, so its states are not sealed.
   */
  #withOwnState(context: RequestContext, request: CallRequest, upstream: UpstreamLease): CallRequest {
    const { principal, endpoint, exchange } = context;
    if (upstream.era !== 'modern') return request;
    const { message } = context.resolved;
    const span = member(message.params, 'requestState');
    if (span === undefined) return request;
    const { pendingCalls } = this.shared;
    const text = stringAt(message.bytes, span) ?? '';
    const claim = { principal, endpoint: endpoint.path, request: exchange.request };
    // An answer to a question of ours that no rule asks any more.
    if (pendingCalls.askedIn(text, claim) !== undefined) return { ...request, message: withoutAnswers(message) };
    if (principal.kind === 'local') return request;
    const state = pendingCalls.unseal(text, claim);
    const own = skimMessage(spliceMessage(message, [{ span, with: state }])) as Request;
    return { ...request, message: own };
  }

  /** Runs after the authorize stage: a client that may not call a tool must not learn about its schema. */
  #paramMismatch(
    { resolved, call, header, principal }: RequestContext,
    upstream: UpstreamLease,
  ): Failure | undefined | Promise<Failure | undefined> {
    if (header === undefined || call.row.method !== 'tools/call') return undefined;
    const { backend, asked = call.message } = resolved;
    return this.shared.toolHeaders.check({ backend, principal, upstream }, asked, header);
  }

  /** The client's headers agree with its own arguments; where overrides change these, the backend's have to as well. */
  async #withFinalHeaders(
    { resolved: { backend, asked, message }, principal }: RequestContext,
    request: CallRequest,
    upstream: UpstreamLease,
  ): Promise<CallRequest> {
    if (asked === undefined || upstream.era !== 'modern') return request;
    const headers = await this.shared.toolHeaders.valuesFor({ backend, principal, upstream }, message);
    return { ...request, paramHeaders: { ...request.paramHeaders, ...headers } };
  }
}
