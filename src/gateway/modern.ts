/** A modern client's message through the rooms: nothing is held between two of them, but for calls that were parked. */
import { about } from '../about.ts';
import { Failure } from '../errors.ts';
import { admitModern, unknownMethod } from '../exchange/admit.ts';
import { attempt } from '../exchange/bridge/drive.ts';
import { ModernDrive } from '../exchange/bridge/modern-client.ts';
import type { CallRequest } from '../exchange/call.ts';
import { Exchange } from '../exchange/exchange.ts';
import { discoverResult } from '../exchange/handshake.ts';
import type { Outlet } from '../exchange/outlet.ts';
import type { Principal } from '../identity/principal.ts';
import { decide } from '../policy/decide.ts';
import type { Permit } from '../policy/permit.ts';
import { denyBatch } from '../policy/profile.ts';
import { resultBytes } from '../wire/compose.ts';
import type { Request } from '../wire/message.ts';
import type { MethodRow } from '../wire/methods.ts';
import { demandScopes, demandToolScopes } from './entry.ts';
import { Gathering } from './gathering.ts';
import type { Reader } from './lists.ts';
import { discoverAll, listCall } from './many.ts';
import { type Admitted, ModernCalls } from './modern-calls.ts';
import { callStateless, readerFor } from './reading.ts';
import type { Rooms } from './rooms.ts';
import { isMerged, type Target } from './targets.ts';
import { outlived } from './tenure.ts';
import type { LineState, Turn } from './turn.ts';

export class ModernFront {
  readonly #rooms: Rooms;
  readonly #calls: ModernCalls;
  /** Open `subscriptions/listen` requests, each with the line that it came on, if any: they are told when the gateway stops. */
  readonly #listening = new Map<Exchange, LineState | undefined>();
  readonly #running = new Set<Exchange>();
  /** How many subscriptions a principal has open. */
  readonly #listensOf = new Map<string, number>();

  constructor(rooms: Rooms) {
    this.#rooms = rooms;
    this.#calls = new ModernCalls(rooms);
  }

  receive(turn: Turn): void | Promise<void> {
    const { message, endpoint, reply } = turn;
    demandScopes(this.#rooms, turn, [message]);
    switch (message.kind) {
      case 'batch':
        throw denyBatch(endpoint.profile, undefined) ?? new Failure('unsupported_mcp_batch');
      case 'result':
      case 'error':
        throw new Failure('response_not_expected');
      case 'notification':
        // Over HTTP this era has none with a meaning: closing the stream is the cancellation.
        reply.accepted();
        return;
      case 'request':
        return this.#request(turn, message);
    }
  }

  /** A clean end for every open subscription. */
  endSubscriptions(): void {
    for (const [exchange, line] of [...this.#listening]) exchange.endSubscription(line !== undefined);
  }

  /** What did not finish in time. */
  abort(failure: Failure): void {
    for (const exchange of [...this.#running]) exchange.abort(failure);
  }

  #request(turn: Turn, message: Request): void | Promise<void> {
    const { endpoint, principal, reply } = turn;
    const { row, client, logLevel } = admitModern(message, turn.header, endpoint.profile);
    if (row.method === 'server/discover') return this.#discover(turn, message, row);
    // Where there is but one backend, it is decided before anything is opened.
    const [only] = endpoint.backends;
    const permit = isMerged(endpoint) ? undefined : this.#decide(turn, row, only ?? '');

    if (row.longLived) this.#admitListen(principal);
    const [outlet] = reply.open({ era: 'modern', requests: 1, batch: false, longLived: row.longLived === true });
    if (outlet === undefined) return;
    const exchange = this.#open(turn, message, row, outlet);
    const request: CallRequest = {
      row,
      message,
      client,
      progress: exchange.token !== undefined,
      logLevel,
      ...(turn.paramHeaders && { paramHeaders: turn.paramHeaders }),
    };
    const admitted = { principal, endpoint, exchange, request, header: turn.header };
    if (permit !== undefined && only !== undefined) this.#calls.begin(admitted, { backend: only, message }, permit);
    else attempt(exchange, this.#rooms.fault, () => this.#serveMany(turn, admitted));
  }

  #open(turn: Turn, message: Request, row: MethodRow, outlet: Outlet): Exchange {
    const { principal, line } = turn;
    const overByItself = row.longLived
      ? this.#rooms.tenure.hold(principal, () => exchange.abort(outlived(principal)))
      : undefined;
    const exchange = new Exchange(message, row, outlet, (settled) => {
      overByItself?.();
      line?.inflight.remove(settled);
      if (this.#listening.delete(settled)) this.#listens(principal, -1);
      if (this.#running.delete(settled)) this.#rooms.work.end();
    });
    line?.inflight.add(exchange);
    if (row.longLived) {
      this.#listening.set(exchange, line);
      this.#listens(principal, 1);
    } else {
      this.#running.add(exchange);
      this.#rooms.work.begin();
    }
    outlet.onAbandoned(() => exchange.cancel());
    return exchange;
  }

  #serveMany(turn: Turn, admitted: Admitted): void {
    const { endpoint, exchange, request } = admitted;
    const { row, message } = request;
    const fail = (error: unknown) => exchange.fail(this.#rooms.fault(error));
    if (!this.#rooms.targets.isOffered(endpoint, row)) throw unknownMethod(message, 'modern');
    const reader = readerFor(this.#rooms.lanes, admitted.principal, request.client);
    if (row.longLived) {
      this.#gather(turn, admitted, reader).catch(fail);
    } else if (row.list !== undefined) {
      const parties = { principal: admitted.principal, endpoint: endpoint.path, backend: '', serverInfo: about };
      const start = listCall(this.#rooms, endpoint, reader, () => unknownMethod(message, 'modern'));
      new ModernDrive(this.#rooms, parties, exchange, request).begin(start);
    } else {
      const begin = (target: Target) => {
        demandToolScopes(this.#rooms, turn, target);
        this.#calls.begin(admitted, target, this.#decide(turn, row, target.backend));
      };
      const target = this.#rooms.targets.find(endpoint, row, message, reader);
      if (target instanceof Promise) target.then(begin).catch(fail);
      else begin(target);
    }
  }

  async #gather(turn: Turn, { endpoint, exchange, request, principal }: Admitted, reader: Reader): Promise<void> {
    const { row, client } = request;
    const { lanes, hub, targets, clock, limits } = this.#rooms;
    const { backends } = endpoint;
    const permit = (backend: string) => this.#decide(turn, row, backend);
    await new Gathering(exchange, {
      backends,
      discovery: await discoverAll(this.#rooms, endpoint),
      client,
      clock,
      limits,
      hear: (hear) => hub.hear(backends, hear),
      locate: async (uri) => targets.locate(endpoint, uri, reader),
      isModern: async (backend) => (await lanes.discover(backend)).eras.includes('modern'),
      watch: (backend) => lanes.watch(permit(backend), backend, principal, client),
      start: (backend, next, sink) => callStateless(lanes.stateless(backend), permit(backend), next, sink),
    }).begin();
  }

  #decide({ principal, endpoint }: Turn, row: MethodRow, backend: string): Permit {
    return decide({ principal, row, endpoint: endpoint.path, backend });
  }

  #admitListen(principal: Principal): void {
    const open = this.#listensOf.get(principal.key) ?? 0;
    if (open >= this.#rooms.limits.listenStreams)
      throw new Failure('too_many_requests', { message: 'Too many subscriptions' });
  }

  #listens(principal: Principal, change: 1 | -1): void {
    const open = (this.#listensOf.get(principal.key) ?? 0) + change;
    if (open === 0) this.#listensOf.delete(principal.key);
    else this.#listensOf.set(principal.key, open);
  }

  async #discover(turn: Turn, message: Request, row: MethodRow): Promise<void> {
    const { endpoint } = turn;
    const { lanes, work } = this.#rooms;
    for (const backend of endpoint.backends) this.#decide(turn, row, backend);
    work.begin();
    const [only = ''] = endpoint.backends;
    const finding = isMerged(endpoint) ? discoverAll(this.#rooms, endpoint) : lanes.discover(only);
    const discovery = await finding.finally(() => work.end());
    turn.reply.respond(resultBytes(message.id.raw, discoverResult(endpoint.profile, discovery)));
  }
}
