/** A modern client's message through the rooms: nothing is held between two of them, but for calls that were parked. */
import { offers, route } from '../catalog/resolve.ts';
import { Failure } from '../errors.ts';
import { admitModern, unknownMethod } from '../exchange/admit.ts';
import type { HeaderReader } from '../exchange/arrival.ts';
import { ModernDrive } from '../exchange/bridge/modern-client.ts';
import { Watching } from '../exchange/bridge/watching.ts';
import type { CallRequest } from '../exchange/call.ts';
import { Exchange } from '../exchange/exchange.ts';
import { discoverResult } from '../exchange/handshake.ts';
import type { HeldLane } from '../exchange/lanes.ts';
import type { Principal } from '../identity/principal.ts';
import { decide } from '../policy/decide.ts';
import type { Permit } from '../policy/permit.ts';
import { denyBatch } from '../policy/profile.ts';
import { resultBytes } from '../wire/compose.ts';
import type { Request } from '../wire/message.ts';
import { member, stringAt } from '../wire/values.ts';
import type { Rooms } from './rooms.ts';
import { listTools } from './tools.ts';
import type { LineState, Turn } from './turn.ts';

/** A request that was admitted, with leave to reach its backend. */
interface Admitted {
  readonly principal: Principal;
  /** The path of the address that was called. */
  readonly endpoint: string;
  readonly backend: string;
  readonly permit: Permit;
  readonly exchange: Exchange;
  readonly request: CallRequest;
  /** Absent where the transport has no headers. */
  readonly header: HeaderReader | undefined;
}

export class ModernFront {
  readonly #rooms: Rooms;
  /** Open `subscriptions/listen` requests, each with the line that it came on, if any: they are told when the gateway stops. */
  readonly #listening = new Map<Exchange, LineState | undefined>();
  readonly #running = new Set<Exchange>();
  /** How many subscriptions a principal has open. */
  readonly #listensOf = new Map<string, number>();

  constructor(rooms: Rooms) {
    this.#rooms = rooms;
  }

  receive(turn: Turn): void | Promise<void> {
    const { message, endpoint, reply } = turn;
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
    const { endpoint, principal, reply, line } = turn;
    const { row, client, logLevel } = admitModern(message, turn.header, endpoint.profile);
    const backend = route(endpoint.backends);
    const permit = decide({ principal, row, endpoint: endpoint.path, backend });
    if (row.method === 'server/discover') return this.#discover(turn, message, backend);

    if (row.longLived) this.#admitListen(principal);
    const [outlet] = reply.open({ era: 'modern', requests: 1, batch: false, longLived: row.longLived === true });
    if (outlet === undefined) return;
    const exchange = new Exchange(message, row, outlet, (settled) => {
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

    const request: CallRequest = {
      row,
      message,
      client,
      progress: exchange.token !== undefined,
      logLevel,
      ...(turn.paramHeaders && { paramHeaders: turn.paramHeaders }),
    };
    const admitted = { principal, endpoint: endpoint.path, backend, permit, exchange, request, header: turn.header };
    const lane = this.#rooms.lanes.stateless(backend);
    if (lane !== undefined) this.#drive(admitted, lane);
    else this.#findLane(admitted).catch((error: unknown) => exchange.fail(this.#rooms.fault(error)));
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

  async #discover(turn: Turn, message: Request, backend: string): Promise<void> {
    const { lanes, work } = this.#rooms;
    work.begin();
    const discovery = await lanes.discover(backend).finally(() => work.end());
    turn.reply.respond(resultBytes(message.id.raw, discoverResult(turn.endpoint.profile, discovery)));
  }

  async #findLane(admitted: Admitted): Promise<void> {
    const { backend, endpoint, exchange, principal, permit, request } = admitted;
    const { eras } = await this.#rooms.lanes.discover(backend);
    const state = member(request.message.params, 'requestState');
    if (state !== undefined && !eras.includes('modern')) {
      const text = stringAt(request.message.bytes, state) ?? '';
      const parked = await this.#rooms.parking.take(text, { principal, endpoint, request: request.message });
      parked.resume(exchange);
      return;
    }
    if (request.row.longLived && !eras.includes('modern')) {
      const watched = await this.#rooms.lanes.watch(permit, backend, principal, request.client);
      await new Watching(exchange, watched).begin();
      return;
    }
    const held = await this.#rooms.lanes.forModern(permit, backend, principal, request.client, request.row);
    this.#drive(admitted, held);
  }

  #drive(admitted: Admitted, lane: HeldLane): void {
    const { exchange, request } = admitted;
    if (!offers(lane.discovery.capabilities, request.row)) exchange.fail(unknownMethod(request.message, 'modern'));
    if (exchange.settled) {
      lane.release?.();
      return;
    }
    const mismatch = this.#paramMismatch(admitted, lane);
    if (mismatch === undefined) this.#call(admitted, lane);
    else {
      this.#callUnless(mismatch, admitted, lane).catch((error: unknown) => {
        lane.release?.();
        exchange.fail(this.#rooms.fault(error));
      });
    }
  }

  async #callUnless(
    mismatch: Failure | Promise<Failure | undefined>,
    admitted: Admitted,
    lane: HeldLane,
  ): Promise<void> {
    const failure = await mismatch;
    if (failure !== undefined) admitted.exchange.fail(failure);
    if (admitted.exchange.settled) lane.release?.();
    else this.#call(admitted, lane);
  }

  #call({ exchange, request, permit, principal, endpoint }: Admitted, lane: HeldLane): void {
    const { serverInfo } = lane.discovery;
    const parties = { principal, endpoint, serverInfo };
    new ModernDrive(this.#rooms, parties, exchange, request).begin((next, sink) => lane.call(permit, next, sink));
  }

  /** After policy: what a tool's schema says must not be learnt by somebody who may not call it. */
  #paramMismatch(
    { backend, request, header }: Admitted,
    lane: HeldLane,
  ): Failure | undefined | Promise<Failure | undefined> {
    if (header === undefined || request.row.method !== 'tools/call') return undefined;
    return this.#rooms.toolHeaders.check(backend, request.message, header, listTools(lane));
  }
}
