/** The stages for a message of a modern client. Nothing is kept between two messages, except pending calls. */
import { ModernResponder } from '../bridge/modern-responder.ts';
import { attempt } from '../bridge/responder.ts';
import type { Reader } from '../catalog/list-reader.ts';
import { isMerged, type ResolvedTarget } from '../catalog/name-resolver.ts';
import { readerFor } from '../catalog/readers.ts';
import { Failure } from '../errors/failure.ts';
import { Exchange } from '../exchange/exchange.ts';
import type { Outlet } from '../exchange/outlet.ts';
import type { Authorization } from '../policy/authorization-request.ts';
import { denyBatch } from '../policy/profile.ts';
import { Denied } from '../policy/refusals.ts';
import { about } from '../wire/about.ts';
import { resultBytes } from '../wire/compose.ts';
import type { Notification, Request } from '../wire/message.ts';
import { methodRow } from '../wire/methods.ts';
import { member, stringAt } from '../wire/values.ts';
import { admitModern, unknownMethod } from './admit.ts';
import { abandonAuthorization, asAuthorizationRequest, attemptEarly, authorize } from './authorize.ts';
import type { ListenAuthorization } from './authorize-listen.ts';
import { demandScopes, demandToolScopes } from './check-scopes.ts';
import type { ConfigChange } from './config-change.ts';
import type { RequestContext } from './context.ts';
import { outlived } from './credential-expiry.ts';
import { discoverResult } from './handshake.ts';
import { discoverAll, listCall } from './merged.ts';
import { ModernCalls } from './modern-calls.ts';
import { type Listen, ModernListens } from './modern-listens.ts';
import type { SharedServices } from './services.ts';

export class ModernFront {
  readonly #shared: SharedServices;
  readonly #calls: ModernCalls;
  readonly #listens: ModernListens;
  readonly #running = new Set<Exchange>();

  constructor(shared: SharedServices) {
    this.#shared = shared;
    this.#calls = new ModernCalls(shared);
    this.#listens = new ModernListens(shared);
  }

  receive(context: RequestContext): void | Promise<void> {
    const { message, endpoint, reply } = context;
    demandScopes(this.#shared, context, [message]);
    switch (message.kind) {
      case 'batch':
        throw denyBatch(endpoint.profile, undefined) ?? new Failure('unsupported_mcp_batch');
      case 'result':
      case 'error':
        throw new Failure('response_not_expected');
      case 'notification':
        this.#notified(context, message);
        // Over HTTP no modern notification has a meaning: a client cancels by closing the stream.
        reply.accepted();
        return;
      case 'request':
        return this.#request(context, message);
    }
  }

  endSubscriptions(): void {
    this.#listens.endAll();
  }

  renewed(change: ConfigChange): void {
    this.#listens.renewed(change);
  }

  /** Fails the requests that did not finish in time. */
  abort(failure: Failure): void {
    for (const exchange of [...this.#running]) exchange.abort(failure);
  }

  #request(context: RequestContext, message: Request): void | Promise<void> {
    const { row, client, logLevel } = admitModern(message, context.header, context.endpoint.profile);
    context.request = message;
    context.row = row;
    context.client = client;
    context.logLevel = logLevel;
    if (row.method === 'server/discover') return this.#discover(context);
    if (row.longLived) return this.#listens.admit(context, (listen) => this.#begin(context, listen));
    this.#begin(context, undefined);
  }

  /** Where there is one backend, the request is authorized before a response is opened. False where none was opened. */
  #begin(context: RequestContext, listening: Listen | undefined): boolean {
    const { endpoint, row, request, client, logLevel, reply, paramHeaders } = context;
    const listen = listening?.authorization;
    const merged = isMerged(endpoint);
    const [only = ''] = endpoint.backends;
    const authorizing = listen ?? (merged ? undefined : this.#authorizeEarly(context, only));
    const [outlet] = reply.open({ era: 'modern', requests: 1, batch: false, longLived: row.longLived === true });
    if (outlet === undefined) {
      abandonAuthorization(authorizing);
      return false;
    }
    const exchange = this.#open(context, outlet, listening);
    const progress = exchange.token !== undefined;
    const call = { row, message: request, client, progress, logLevel };
    context.exchange = exchange;
    context.call = paramHeaders === undefined ? call : { ...call, paramHeaders };
    // From here on a failure settles the exchange: a response that was refused directly would leave it open for ever.
    attempt(exchange, this.#shared.fault, () => {
      if (authorizing === undefined || merged) {
        this.#serveMerged(context, listen);
        return;
      }
      context.target = { backend: only, message: listen?.message ?? request };
      this.#callOnce(context, authorizing);
    });
    return true;
  }

  #authorizeEarly(context: RequestContext, backend: string): Authorization | Promise<Authorization> {
    const { authorizer, endpoint, principal, client } = context;
    // The way of most calls. Where people are asked for consent, the call may be made again, and is authorized again then.
    if (authorizer.isFree(endpoint) && this.#shared.consenting === undefined) return authorizer.free(context, backend);
    const reader = () => readerFor(this.#shared.upstreams, principal, client);
    return attemptEarly(() => this.#authorize(context, { backend }, reader));
  }

  /** Makes the call when it is authorized. */
  #callOnce(context: RequestContext, authorizing: Authorization | Promise<Authorization>): void {
    const { exchange } = context;
    if (authorizing instanceof Promise) {
      authorizing
        .then((authorization) => this.#callOnce(context, authorization))
        .catch((error: unknown) => exchange.fail(this.#shared.fault(error)));
      return;
    }
    exchange.watch(authorizing.over);
    context.authorization = authorizing;
    if (!exchange.settled) this.#calls.begin(context);
  }

  /** Each round is authorized on its own; a denial ends the pending call that the round belongs to. */
  #authorize(
    context: RequestContext,
    target: Pick<ResolvedTarget, 'backend' | 'name'>,
    reader: () => Reader,
  ): Authorization | Promise<Authorization> {
    const denied = (error: unknown): never => {
      if (error instanceof Denied && error.reason !== 'rate_limited') this.#endPending(context);
      throw error;
    };
    try {
      const authorization = authorize(this.#shared, context, target, reader);
      return authorization instanceof Promise ? authorization.catch(denied) : authorization;
    } catch (error) {
      return denied(error);
    }
  }

  #endPending({ principal, endpoint, request }: RequestContext): void {
    const span = member(request.params, 'requestState');
    const state = span && stringAt(request.bytes, span);
    if (state === undefined) return;
    this.#shared.pendingCalls.take(state, { principal, endpoint: endpoint.path, request }).then(
      (taken) => {
        if (taken instanceof ModernResponder) taken.abandon('Denied by policy');
      },
      () => undefined,
    );
  }

  #notified({ principal, endpoint, authorizer }: RequestContext, message: Notification): void {
    const row = methodRow(message.method);
    if (row === undefined || row.kind !== 'notification' || row.from === 'server') return;
    const [only = ''] = endpoint.backends;
    const backend = isMerged(endpoint) ? '' : only;
    const { over } = authorizer.ask({ principal, endpoint, row, backend, revision: undefined, message });
    over?.({ outcome: 'result' });
  }

  #open(context: RequestContext, outlet: Outlet, listening: Listen | undefined): Exchange {
    const { principal, connection, request, row } = context;
    const stopWatching = listening
      ? this.#shared.credentialExpiry.hold(principal, () => exchange.abort(outlived(principal)))
      : undefined;
    const exchange = new Exchange(request, row, outlet, (settled) => {
      stopWatching?.();
      connection?.inflight.remove(settled);
      this.#listens.closed(settled);
      listening?.release();
      if (this.#running.delete(settled)) this.#shared.work.end();
    });
    connection?.inflight.add(exchange);
    if (listening !== undefined) this.#listens.opened(context, exchange);
    else {
      this.#running.add(exchange);
      this.#shared.work.begin();
    }
    outlet.onAbandoned(() => exchange.cancel());
    return exchange;
  }

  /** Several backends stand behind the endpoint. */
  #serveMerged(context: RequestContext, listen: ListenAuthorization | undefined): void {
    const { endpoint, exchange, row, request, principal, client } = context;
    const { nameResolver, upstreams, fault } = this.#shared;
    const fail = (error: unknown) => exchange.fail(fault(error));
    exchange.watch(listen?.over);
    if (!nameResolver.isOffered(endpoint, row)) throw unknownMethod(request, 'modern');
    if (row.longLived) {
      this.#listens.merge(context, listen).catch(fail);
      return;
    }
    const reader = readerFor(upstreams, principal, client);
    if (row.list !== undefined) {
      this.#list(context, reader);
      return;
    }
    const begin = (target: ResolvedTarget) => {
      demandToolScopes(this.#shared, context, target);
      context.target = target;
      this.#callOnce(
        context,
        this.#authorize(context, target, () => reader),
      );
    };
    const target = nameResolver.find(endpoint, row, request, reader);
    if (target instanceof Promise) target.then(begin).catch(fail);
    else begin(target);
  }

  #list(context: RequestContext, reader: Reader): void {
    const { endpoint, exchange, row, request, principal, authorizer, call } = context;
    exchange.watch(authorizer.ask(asAuthorizationRequest(context, row, '')).over);
    const parties = { principal, endpoint: endpoint.path, backend: '', serverInfo: about };
    const start = listCall(this.#shared, context, reader, () => unknownMethod(request, 'modern'));
    new ModernResponder(this.#shared, parties, exchange, call).begin(start);
  }

  async #discover(context: RequestContext): Promise<void> {
    const { endpoint, principal, authorizer, row, request, reply } = context;
    const { upstreams, work } = this.#shared;
    const [only = ''] = endpoint.backends;
    const merged = isMerged(endpoint);
    const { over } = authorizer.ask(asAuthorizationRequest(context, row, merged ? '' : only));
    work.begin();
    const all = () => discoverAll(this.#shared, endpoint, principal);
    const finding = merged
      ? all()
      : upstreams.discover(only, principal).catch((error: unknown) => {
          // What the backend offers is known only after consent. A client that gets an error here could not be asked
          // for consent.
          if (error instanceof Failure && error.reason === 'consent_needed') return all();
          throw error;
        });
    let outcome: 'result' | 'error' = 'error';
    try {
      const found = await finding;
      outcome = 'result';
      // Lists that differ by principal must not be cached for everybody.
      const discovery = authorizer.isShaping ? { ...found, rest: { ...found.rest, cacheScope: 'private' } } : found;
      reply.respond(resultBytes(request.id.raw, discoverResult(endpoint.profile, discovery)));
    } finally {
      work.end();
      over?.({ outcome });
    }
  }
}
