/** A modern client's message through the rooms: nothing is held between two of them, but for calls that were parked. */

import { ModernResponder } from '../bridge/modern-responder.ts';
import { attempt } from '../bridge/responder.ts';
import type { Reader } from '../catalog/list-reader.ts';
import { isMerged, type ResolvedTarget } from '../catalog/name-resolver.ts';
import { callStateless, readerFor } from '../catalog/readers.ts';
import { Failure } from '../errors/failure.ts';
import type { Endpoint } from '../exchange/arrival.ts';
import type { CallRequest, ClientFacts } from '../exchange/call.ts';
import { Exchange } from '../exchange/exchange.ts';
import type { Outlet } from '../exchange/outlet.ts';
import type { Principal } from '../identity/principal.ts';
import type { Authorization } from '../policy/authorization-request.ts';
import { systemPermit } from '../policy/permit.ts';
import { denyBatch } from '../policy/profile.ts';
import { Denied } from '../policy/refusals.ts';
import { checkListen } from '../subscriptions/limits.ts';
import { ListenSlots } from '../subscriptions/listen-slots.ts';
import { MergedSubscription, type SubscriptionSources } from '../subscriptions/merged-subscription.ts';
import { ownNotification } from '../subscriptions/notifications.ts';
import { about } from '../wire/about.ts';
import { resultBytes } from '../wire/compose.ts';
import type { Notification, Request } from '../wire/message.ts';
import { type MethodRow, methodRow } from '../wire/methods.ts';
import { type ListKind, readFilter } from '../wire/subscription-filter.ts';
import { member, stringAt } from '../wire/values.ts';
import { admitModern, unknownMethod } from './admit.ts';
import { abandonAuthorization, attemptEarly, authorize, type Wanted } from './authorize.ts';
import { authorizeListen, type ListenAuthorization } from './authorize-listen.ts';
import { demandScopes, demandToolScopes } from './check-scopes.ts';
import type { ConfigChange } from './config-change.ts';
import { outlived } from './credential-expiry.ts';
import { discoverResult } from './handshake.ts';
import { hearsOf } from './interceptors/response-filter.ts';
import { discoverAll, listCall } from './merged.ts';
import { type Admitted, ModernCalls } from './modern-calls.ts';
import type { SharedServices } from './services.ts';
import type { ConnectionState, Turn } from './turn.ts';

/** What a request says of its client. */
interface ClientStatement {
  readonly client: ClientFacts;
  readonly logLevel: string | undefined;
}

/** One open `subscriptions/listen`. */
interface OpenListen {
  /** That it came on, if any. */
  readonly line: ConnectionState | undefined;
  readonly principal: Principal;
  readonly place: Endpoint;
  /** Where it is one backend's alone. */
  readonly backend: string | undefined;
}

/** A `subscriptions/listen` on its way: its slot is reserved. `grant` is absent where no policy looks at it. */
interface Listen {
  readonly authorization: ListenAuthorization | undefined;
  /** Frees its slot under `limits.listenStreams`. */
  readonly release: () => void;
}

export class ModernFront {
  readonly #shared: SharedServices;
  readonly #calls: ModernCalls;
  /** Open `subscriptions/listen` requests: they are told when the gateway stops, and when it is another than before. */
  readonly #listening = new Map<Exchange, OpenListen>();
  readonly #running = new Set<Exchange>();
  readonly #slots: ListenSlots;

  constructor(shared: SharedServices) {
    this.#shared = shared;
    this.#calls = new ModernCalls(shared);
    this.#slots = new ListenSlots(shared.limits.listenStreams);
  }

  receive(turn: Turn): void | Promise<void> {
    const { message, endpoint, reply } = turn;
    demandScopes(this.#shared, turn, [message]);
    switch (message.kind) {
      case 'batch':
        throw denyBatch(endpoint.profile, undefined) ?? new Failure('unsupported_mcp_batch');
      case 'result':
      case 'error':
        throw new Failure('response_not_expected');
      case 'notification':
        this.#notified(turn, message);
        // Over HTTP this era has none with a meaning: closing the stream is the cancellation.
        reply.accepted();
        return;
      case 'request':
        return this.#request(turn, message);
    }
  }

  /** A clean end for every open subscription. */
  endSubscriptions(): void {
    for (const [exchange, { line }] of [...this.#listening]) exchange.endSubscription(line !== undefined);
  }

  /** A stream of one backend cannot become one of several, or of another: it ends, so that its client asks again. */
  renewed({ gone, closed, lists, isWelcome }: ConfigChange): void {
    for (const [exchange, { line, principal, place, backend }] of [...this.#listening]) {
      const { path } = place;
      const isOther = backend !== undefined && (gone.has(backend) || isMerged(place) || place.backends[0] !== backend);
      if (line?.via !== 'stdio' && !closed.has(path) && !isWelcome(path, principal)) {
        exchange.abort(outlived(principal));
        continue;
      }
      if (backend !== undefined) tellChanges(exchange, lists.get(path) ?? []);
      if (isOther || closed.has(path)) exchange.endSubscription(line !== undefined);
    }
  }

  /** What did not finish in time. */
  abort(failure: Failure): void {
    for (const exchange of [...this.#running]) exchange.abort(failure);
  }

  #request(turn: Turn, message: Request): void | Promise<void> {
    const { endpoint, principal } = turn;
    const { row, client, logLevel } = admitModern(message, turn.header, endpoint.profile);
    if (row.method === 'server/discover') return this.#discover(turn, message, row, client);
    const { authorizer } = turn;
    const wanted: Wanted = { principal, endpoint, authorizer, row, message, revision: client.revision };
    const said = { client, logLevel };
    if (row.longLived) return this.#listen(turn, wanted, said);
    this.#begin(turn, wanted, said, undefined);
  }

  /** Reserves the slot before awaiting, so that concurrent requests cannot all pass the limit check. */
  async #listen(turn: Turn, wanted: Wanted, said: ClientStatement): Promise<void> {
    const { principal, authorizer } = wanted;
    checkListen(wanted.message, this.#shared.limits);
    const reader = () => readerFor(this.#shared.upstreams, principal, said.client);
    const release = this.#slots.take(principal);
    let isOpen = false;
    try {
      const authorization = authorizer.isOpen ? undefined : await authorizeListen(this.#shared, wanted, reader);
      isOpen = this.#begin(turn, wanted, said, { authorization, release });
    } finally {
      if (!isOpen) release();
    }
  }

  /** Where there is but one backend, it is decided before anything is opened. False where there was nothing to open. */
  #begin(turn: Turn, wanted: Wanted, said: ClientStatement, listening: Listen | undefined): boolean {
    const { endpoint, principal, row, message } = wanted;
    const listen = listening?.authorization;
    const { reply } = turn;
    const { client, logLevel } = said;
    const [only = ''] = endpoint.backends;
    const authorization = listen ?? (isMerged(endpoint) ? undefined : this.#clearEarly(wanted, only, client));
    const [outlet] = reply.open({ era: 'modern', requests: 1, batch: false, longLived: row.longLived === true });
    if (outlet === undefined) {
      abandonAuthorization(authorization);
      return false;
    }
    const exchange = this.#open(turn, message, row, outlet, listening);
    const request: CallRequest = {
      row,
      message,
      client,
      progress: exchange.token !== undefined,
      logLevel,
      ...(turn.paramHeaders && { paramHeaders: turn.paramHeaders }),
    };
    const admitted = { principal, endpoint, exchange, request, header: turn.header };
    if (isMerged(endpoint))
      attempt(exchange, this.#shared.fault, () => this.#serveMany(turn, wanted, admitted, listen));
    else if (authorization !== undefined) {
      const target = { backend: only, message: listen?.message ?? message };
      this.#withGrant(exchange, authorization, (given) => this.#calls.begin(admitted, target, given));
    }
    return true;
  }

  #clearEarly(wanted: Wanted, backend: string, client: ClientFacts): Authorization | Promise<Authorization> {
    const { upstreams } = this.#shared;
    const { authorizer } = wanted;
    if (authorizer.isFree(wanted.endpoint)) return authorizer.free(wanted, backend);
    return attemptEarly(() => this.#clear(wanted, { backend }, () => readerFor(upstreams, wanted.principal, client)));
  }

  #withGrant(
    exchange: Exchange,
    granting: Authorization | Promise<Authorization>,
    begin: (authorization: Authorization) => void,
  ): void {
    if (granting instanceof Promise) {
      granting
        .then((authorization) => this.#withGrant(exchange, authorization, begin))
        .catch((error: unknown) => exchange.fail(this.#shared.fault(error)));
      return;
    }
    exchange.watch(granting.over);
    if (!exchange.settled) begin(granting);
  }

  /** Each round is decided anew; a denial ends the call that waits for it. */
  #clear(
    wanted: Wanted,
    target: Pick<ResolvedTarget, 'backend' | 'name'>,
    reader: () => Reader,
  ): Authorization | Promise<Authorization> {
    const denied = (error: unknown): never => {
      if (error instanceof Denied && error.reason !== 'rate_limited') this.#endParked(wanted);
      throw error;
    };
    try {
      const authorization = authorize(this.#shared, wanted, target, reader);
      return authorization instanceof Promise ? authorization.catch(denied) : authorization;
    } catch (error) {
      return denied(error);
    }
  }

  #endParked({ principal, endpoint, message }: Wanted): void {
    const span = member(message.params, 'requestState');
    const state = span && stringAt(message.bytes, span);
    if (state === undefined) return;
    this.#shared.pendingCalls.take(state, { principal, endpoint: endpoint.path, request: message }).then(
      (taken) => {
        if (taken instanceof ModernResponder) taken.abandon('Denied by policy');
      },
      () => undefined,
    );
  }

  #notified({ principal, endpoint, authorizer }: Turn, message: Notification): void {
    const row = methodRow(message.method);
    if (row === undefined || row.kind !== 'notification' || row.from === 'server') return;
    const [only = ''] = endpoint.backends;
    const backend = isMerged(endpoint) ? '' : only;
    const { over } = authorizer.ask({ principal, endpoint, row, backend, revision: undefined, message });
    over?.({ outcome: 'result' });
  }

  #open(turn: Turn, message: Request, row: MethodRow, outlet: Outlet, listening: Listen | undefined): Exchange {
    const { principal, line } = turn;
    const overByItself = listening
      ? this.#shared.credentialExpiry.hold(principal, () => exchange.abort(outlived(principal)))
      : undefined;
    const exchange = new Exchange(message, row, outlet, (settled) => {
      overByItself?.();
      line?.inflight.remove(settled);
      this.#listening.delete(settled);
      listening?.release();
      if (this.#running.delete(settled)) this.#shared.work.end();
    });
    line?.inflight.add(exchange);
    if (listening !== undefined) {
      const { endpoint } = turn;
      const backend = isMerged(endpoint) ? undefined : endpoint.backends[0];
      const place = this.#shared.currentGeneration.place(endpoint);
      exchange.coalesceChanges(this.#shared.clock, this.#shared.limits.changesMs);
      this.#listening.set(exchange, { line, principal, place, backend });
    } else {
      this.#running.add(exchange);
      this.#shared.work.begin();
    }
    outlet.onAbandoned(() => exchange.cancel());
    return exchange;
  }

  #serveMany(turn: Turn, wanted: Wanted, admitted: Admitted, listen: ListenAuthorization | undefined): void {
    const { endpoint, exchange, request } = admitted;
    const { row, message } = request;
    const fail = (error: unknown) => exchange.fail(this.#shared.fault(error));
    exchange.watch(listen?.over);
    if (!this.#shared.nameResolver.isOffered(endpoint, row)) throw unknownMethod(message, 'modern');
    const reader = readerFor(this.#shared.upstreams, admitted.principal, request.client);
    if (row.longLived) {
      this.#gather(wanted, admitted, reader, listen).catch(fail);
    } else if (row.list !== undefined) {
      exchange.watch(wanted.authorizer.ask({ ...wanted, backend: '' }).over);
      const parties = { principal: admitted.principal, endpoint: endpoint.path, backend: '', serverInfo: about };
      const start = listCall(this.#shared, wanted, reader, () => unknownMethod(message, 'modern'));
      new ModernResponder(this.#shared, parties, exchange, request).begin(start);
    } else {
      const begin = (target: ResolvedTarget) => {
        demandToolScopes(this.#shared, turn, target);
        this.#withGrant(
          exchange,
          this.#clear(wanted, target, () => reader),
          (authorization) => this.#calls.begin(admitted, target, authorization),
        );
      };
      const target = this.#shared.nameResolver.find(endpoint, row, message, reader);
      if (target instanceof Promise) target.then(begin).catch(fail);
      else begin(target);
    }
  }

  async #gather(
    wanted: Wanted,
    { endpoint, exchange, request, principal }: Admitted,
    reader: Reader,
    listen: ListenAuthorization | undefined,
  ): Promise<void> {
    const { client } = request;
    const { upstreams, listChanges, nameResolver, clock, limits, currentGeneration } = this.#shared;
    const place = currentGeneration.place(endpoint);
    const first = listen?.permit ?? wanted.authorizer.ask({ ...wanted, backend: '' }).permit;
    // It outlives its config: what it opens again later follows from what was allowed, and each resource is looked at anew.
    const permit = () => (currentGeneration.now.authorizer === wanted.authorizer ? first : systemPermit('stream'));
    const sources: SubscriptionSources = {
      place,
      discovery: await discoverAll(this.#shared, endpoint, principal),
      client,
      clock,
      limits,
      hear: (hear, gone) => listChanges.hear(place, principal, hear, gone),
      locate: async (uri) => nameResolver.locate(endpoint, uri, reader),
      isModern: async (backend) => (await upstreams.discover(backend, principal)).eras.includes('modern'),
      mayHear: (backend, uri) =>
        hearsOf({ authorizer: currentGeneration.now.authorizer, principal, endpoint: place, backend }, uri),
      watch: (backend) => upstreams.watch(permit(), backend, principal, client),
      start: (backend, next, sink) => callStateless(upstreams.stateless(backend, principal), permit(), next, sink),
    };
    await new MergedSubscription(exchange, sources, listen?.message).begin();
  }

  async #discover(turn: Turn, message: Request, row: MethodRow, client: ClientFacts): Promise<void> {
    const { endpoint, principal, authorizer } = turn;
    const { upstreams, work } = this.#shared;
    const [only = ''] = endpoint.backends;
    const merged = isMerged(endpoint);
    const { revision } = client;
    const { over } = authorizer.ask({ principal, endpoint, row, backend: merged ? '' : only, revision, message });
    work.begin();
    const all = () => discoverAll(this.#shared, endpoint, principal);
    const finding = merged
      ? all()
      : upstreams.discover(only, principal).catch((error: unknown) => {
          // What it offers is known once somebody has agreed; a client that was not told of it could not be asked to.
          if (error instanceof Failure && error.reason === 'consent_needed') return all();
          throw error;
        });
    const ended = (outcome: 'result' | 'error') => {
      work.end();
      over?.({ outcome });
    };
    const found = await finding.then(
      (discovery) => {
        ended('result');
        return discovery;
      },
      (error: unknown) => {
        ended('error');
        throw error;
      },
    );
    // What some may see and others not is nothing to be kept for everybody.
    const discovery = authorizer.isShaping ? { ...found, rest: { ...found.rest, cacheScope: 'private' } } : found;
    turn.reply.respond(resultBytes(message.id.raw, discoverResult(endpoint.profile, discovery)));
  }
}

/** Nothing comes before the acknowledgement, and nothing that was not asked for. */
function tellChanges(exchange: Exchange, kinds: readonly ListKind[]): void {
  const wanted = exchange.begun ? readFilter(exchange.request) : undefined;
  for (const { flag, method } of kinds) {
    if (wanted?.[flag] === true) exchange.sendSubscribed(ownNotification(method, {}));
  }
}
