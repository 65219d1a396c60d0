/** What a legacy session wants of its backends: requests, notifications, and the lanes that they travel on. */
import { offers } from '../catalog/offers.ts';
import { Failure } from '../errors.ts';
import { admitLegacy, unknownMethod } from '../exchange/admit.ts';
import type { Endpoint } from '../exchange/arrival.ts';
import { toldWithPage, withConsent } from '../exchange/bridge/consent.ts';
import type { StartCall } from '../exchange/bridge/drive.ts';
import { LegacyDrive } from '../exchange/bridge/legacy-client.ts';
import { listKinds } from '../exchange/bridge/subscriptions.ts';
import { subscribeRequest } from '../exchange/bridge/watching.ts';
import type { CallRequest, CallSink } from '../exchange/call.ts';
import { nowhere, StreamsDownstream } from '../exchange/downstream.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { Discovery, Lane } from '../exchange/lane.ts';
import type { HeldLane } from '../exchange/lanes.ts';
import { LateCall } from '../exchange/late-call.ts';
import { callOnce, ownRequest } from '../exchange/own-call.ts';
import { PooledCall } from '../exchange/pooled-call.ts';
import type { Session } from '../exchange/session.ts';
import type { Principal } from '../identity/principal.ts';
import { type Permit, systemPermit } from '../policy/permit.ts';
import { notificationBytes } from '../wire/compose.ts';
import type { Notification, Request } from '../wire/message.ts';
import { type MethodRow, methodRow } from '../wire/methods.ts';
import { textMember } from '../wire/values.ts';
import { absorb, beginListening, rememberLevel } from './absorb.ts';
import { demandToolScopes } from './entry.ts';
import { after, clear, eachRoundAnew } from './leave/clearance.ts';
import { guarded } from './leave/guarded.ts';
import type { Grant } from './leave/wish.ts';
import type { Reader } from './lists.ts';
import { discoverAll, inClientNames, listCall } from './many.ts';
import { readerForSession } from './reading.ts';
import type { Renewal } from './renewal.ts';
import type { Rooms } from './rooms.ts';
import { SessionLinks } from './session-links.ts';
import { isMerged, type Target } from './targets.ts';
import { listTools, toolsAt } from './tools.ts';
import type { Turn } from './turn.ts';

/** A request that may go on. */
export interface Cleared {
  readonly principal: Principal;
  /** As it was when the request came in. */
  readonly endpoint: Endpoint;
  readonly grant: Grant;
  /** Absent where the gateway answers for all backends together. */
  readonly target: Target | undefined;
}

/** One that may go on to a backend. */
interface Bound extends Cleared {
  readonly target: Target;
}

export class LegacyCalls {
  readonly #rooms: Rooms;
  readonly #links = new WeakMap<Session, SessionLinks>();

  constructor(rooms: Rooms) {
    this.#rooms = rooms;
  }

  /**
   * Finds out where a request leads, and whether it may go there. Throws, or rejects with, a Failure where it may not; a promise
   * only where lists have to be read first.
   */
  clear(turn: Turn, session: Session, message: Request): Cleared | Promise<Cleared> {
    const { principal, endpoint, leave } = turn;
    const { client } = session;
    const row = admitLegacy(message, client.revision);
    // Nobody would hear what it is subscribed to.
    if (row.action === 'subscribe' && session.downstream === nowhere) throw new Failure('session_required');
    const wanted = { principal, endpoint, leave, row, message, revision: client.revision };
    const [only = ''] = endpoint.backends;
    const whole = (target: Target | undefined) => (grant: Grant) => ({ principal, endpoint, grant, target });
    if (!isMerged(endpoint)) {
      const target = { backend: only, message };
      return after(
        clear(this.#rooms, wanted, target, () => this.#reader(session, principal)),
        whole(row.method === 'ping' ? undefined : target),
      );
    }
    if (row.method !== 'ping' && !this.#rooms.targets.isOffered(endpoint, row)) throw unknownMethod(message, 'legacy');
    if (row.ours === true || row.list !== undefined || row.method === setLevel.method)
      return whole(undefined)(leave.ask({ ...wanted, backend: '' }));
    const reader = this.#reader(session, principal);
    return after(this.#rooms.targets.find(endpoint, row, message, reader), (target) => {
      demandToolScopes(this.#rooms, turn, target);
      return after(
        clear(this.#rooms, wanted, target, () => reader),
        whole(target),
      );
    });
  }

  #reader(session: Session, principal: Principal): Reader {
    const hold: Reader['hold'] = (permit, backend, row) => this.#laneFor(session, backend, permit, row);
    return readerForSession(session, hold, principal);
  }

  /**
   * What stands behind a new session. One backend is its other half, and is opened with it; of many each is opened when it
   * is needed.
   */
  async open(session: Session, permit: Permit): Promise<Discovery> {
    const { endpoint } = session;
    const [only = ''] = endpoint.backends;
    if (!isMerged(endpoint)) return this.#openOnly(session, only, permit);
    this.#link(session);
    return discoverAll(this.#rooms, endpoint, session.principal);
  }

  /** A backend that wants consent first is there all the same: its client can be asked for it only in a session. */
  async #openOnly(session: Session, backend: string, permit: Permit): Promise<Discovery> {
    try {
      return (await this.#lane(session, backend, permit)).discovery;
    } catch (error) {
      const failure = this.#rooms.fault(error);
      const { consenting, limits } = this.#rooms;
      const { elicitationId } = failure.data ?? {};
      if (consenting === undefined || failure.reason !== 'consent_needed') throw failure;
      // What it offers is known then, and not before.
      const over = new AbortController();
      session.onEnd(() => over.abort());
      void consenting.waitFor(String(elicitationId), limits.sessionIdleMs, over.signal).then((waited) => {
        if (waited !== 'done' || session.ended) return;
        for (const { method } of listKinds) session.downstream.deliver(notificationBytes(method), 'keep', method);
      });
      return discoverAll(this.#rooms, session.endpoint, session.principal);
    }
  }

  async serve(session: Session, exchange: Exchange, clearing: Cleared | Promise<Cleared>): Promise<void> {
    const { request: message, row } = exchange;
    const cleared = clearing instanceof Promise ? await clearing : clearing;
    const { principal, endpoint, grant, target } = cleared;
    exchange.watch(grant.over);
    if (exchange.settled) return;
    if (target !== undefined) return this.#serveOne(session, exchange, { principal, endpoint, grant, target });
    if (row.method === 'ping') exchange.respondResult('{}');
    else if (row.method === setLevel.method) this.#setLevels(session, exchange);
    else {
      const reader = this.#reader(session, principal);
      const start = listCall(this.#rooms, { endpoint, leave: grant.leave }, reader, () =>
        unknownMethod(message, 'legacy'),
      );
      new LegacyDrive({ ...this.#rooms, session }, exchange, callRequest(session, exchange, message), start).begin();
    }
  }

  /** A notification of the client, to every backend that has a session for it. */
  notify(session: Session, principal: Principal, message: Notification, row: MethodRow): void {
    // One that lasts for this message alone has no lanes, and must not get any.
    if (session.downstream === nowhere) return;
    const isReady = row.method === 'notifications/initialized';
    const merged = isMerged(session.endpoint);
    for (const [backend, opening] of session.lanes) {
      const permit = this.#may(session, row, backend, principal);
      if (permit === undefined) continue;
      opening.then(
        (lane) => {
          lane.notify(permit, message);
          if (isReady && !merged) beginListening(this.#rooms, session, { backend, lane, permit });
        },
        () => undefined,
      );
    }
    if (!isReady || !merged) return;
    this.#hearAll(session);
  }

  /** The session goes on with what is in force now. False where it cannot: its other half is gone. */
  renewed(session: Session, { gone, lists }: Renewal): boolean {
    const { endpoint, lanes, listenings } = session;
    const wasAlone = !this.#links.has(session);
    const lost = [...lanes.keys()].filter((backend) => gone.has(backend));
    const isStream = session.downstream instanceof StreamsDownstream;
    if (wasAlone && !isMerged(endpoint) && isStream && lost.length > 0) return false;
    for (const backend of lost) {
      lanes.delete(backend);
      listenings.get(backend)?.close();
      listenings.delete(backend);
      this.#links.get(session)?.gone(backend);
    }
    this.reshape(session);
    if (session.initialized === undefined || !wasAlone || isMerged(endpoint)) return true;
    for (const { method } of lists.get(endpoint.path) ?? [])
      session.downstream.deliver(notificationBytes(method), 'keep', method);
    return true;
  }

  /** Where one backend stood behind the endpoint there may be several now. */
  reshape(session: Session): void {
    if (!isMerged(session.endpoint)) return;
    this.#link(session);
    if (session.initialized !== undefined) this.#hearAll(session);
  }

  #link(session: Session): void {
    if (!this.#links.has(session)) this.#links.set(session, new SessionLinks(this.#rooms, session));
  }

  #hearAll(session: Session): void {
    this.#links.get(session)?.begin((backend) => this.#openIfLegacy(session, backend));
    for (const backend of session.endpoint.backends) this.#openIfLegacy(session, backend);
  }

  /** For what follows from something that was asked for: the lanes of a session, what they are told anew. */
  #may(session: Session, row: MethodRow, backend: string, principal = session.principal): Permit | undefined {
    const { endpoint, client } = session;
    const { leave } = this.#rooms.inForce.now;
    return leave.may({ principal, endpoint, row, backend, revision: client.revision });
  }

  async #serveOne(session: Session, exchange: Exchange, cleared: Bound): Promise<void> {
    const { row } = exchange;
    const { target, grant } = cleared;
    const { backend, message } = target;
    const { permit } = grant;
    this.#rooms.occupied.enter(backend, exchange);
    const lane = await this.#laneFor(session, backend, permit, row).catch((error: unknown) =>
      this.#lacksLane(session, exchange, cleared, error),
    );
    if (lane === undefined) return;
    if (!offers(lane.discovery.capabilities, row)) exchange.fail(unknownMethod(message, 'legacy'));
    this.#remember(session, exchange, target);
    if (exchange.settled || absorb(this.#rooms, session, exchange, { backend, lane, permit, message })) {
      lane.release?.();
      return;
    }
    const paramHeaders = this.#paramHeaders(cleared, lane, row);
    const context = { ...this.#rooms, session, ...(paramHeaders && { paramHeaders }) };
    const start = this.#withConsent(
      eachRoundAnew(exchange, grant, (given) => this.#starter(session, lane, row, { ...cleared, grant: given })),
    );
    new LegacyDrive(context, exchange, callRequest(session, exchange, message), start).begin();
  }

  /** The backend wants a person's consent before it can be spoken to at all: that is asked for, and then it is tried again. */
  #lacksLane(session: Session, exchange: Exchange, cleared: Bound, error: unknown): undefined {
    const failure = this.#rooms.fault(error);
    const { row } = exchange;
    const { target, grant } = cleared;
    if (this.#rooms.consenting === undefined || failure.reason !== 'consent_needed') throw toldWithPage(failure);
    const starter =
      (given: Grant): StartCall =>
      (next, sink) => {
        const bound = { ...cleared, grant: given };
        return LateCall.after(
          this.#wayFor(session, bound, row),
          sink,
          ({ lane, paramHeaders }) =>
            this.#starter(session, lane, row, bound)({ ...next, ...(paramHeaders && { paramHeaders }) }, sink),
          ({ lane }) => lane.release?.(),
        );
      };
    const anew = this.#withConsent(eachRoundAnew(exchange, grant, starter));
    new LegacyDrive(
      { ...this.#rooms, session },
      exchange,
      callRequest(session, exchange, target.message),
      anew,
    ).begin();
  }

  async #wayFor(session: Session, cleared: Bound, row: MethodRow) {
    const { target, grant } = cleared;
    const lane = await this.#laneFor(session, target.backend, grant.permit, row);
    try {
      if (!offers(lane.discovery.capabilities, row)) throw unknownMethod(target.message, 'legacy');
      return { lane, paramHeaders: await this.#paramHeaders(cleared, lane, row)?.(false) };
    } catch (error) {
      lane.release?.();
      throw error;
    }
  }

  #withConsent(start: StartCall): StartCall {
    const { consenting, limits } = this.#rooms;
    return consenting === undefined ? start : withConsent(start, consenting, limits.askMs);
  }

  #paramHeaders({ principal, target }: Bound, lane: HeldLane, row: MethodRow) {
    if (lane.era !== 'modern' || row.method !== 'tools/call') return undefined;
    const { toolHeaders } = this.#rooms;
    const { backend, message } = target;
    return (again: boolean) =>
      toolHeaders.valuesFor(toolsAt(backend, principal), message, listTools(this.#rooms, lane), again);
  }

  #starter(session: Session, lane: HeldLane, row: MethodRow, cleared: Bound): StartCall {
    const { principal, endpoint, grant, target } = cleared;
    const { permit, leave } = grant;
    const to = { leave, inForce: this.#rooms.inForce, principal, endpoint, backend: target.backend, row };
    if (!isMerged(endpoint)) return (next, sink) => lane.call(permit, next, guarded(sink, to));
    const links = this.#links.get(session);
    const said = links && ((notification: Notification) => links.translate(target.backend, notification));
    const opened = (on: HeldLane) => ({ lane: on, level: undefined, release: () => on.release?.() });
    return (next, sink) => {
      const hears = withoutSessionLoss(inClientNames(guarded(sink, to), target, said));
      // One session upstream among several: that it is lost is no reason to end the client's, and it is opened anew.
      const reopen = async () => {
        // The session hears after the call that the lane is lost, and would give out the same one until then.
        await undefined;
        return opened(await this.#laneFor(session, target.backend, permit, next.row));
      };
      return new PooledCall(next, hears, permit, reopen).begin(opened(lane));
    };
  }

  /** The level of all backends that have one in their sessions; modern ones are told with every request. */
  #setLevels(session: Session, exchange: Exchange): void {
    if (!rememberLevel(session, exchange)) return;
    for (const [backend, opening] of session.lanes) {
      opening.then(
        (lane) => this.#tellLevel(session, backend, lane),
        () => undefined,
      );
    }
    exchange.respondResult('{}');
  }

  #tellLevel(session: Session, backend: string, lane: Lane): void {
    const { logLevel: level } = session;
    if (level === undefined || lane.era === 'modern' || lane.discovery.capabilities.logging === undefined) return;
    const permit = this.#may(session, setLevel, backend);
    if (permit === undefined) return;
    callOnce((sink) => lane.call(permit, ownRequest(setLevel.method, { level }), sink)).catch(() => undefined);
  }

  /** Which address means which resource, for what a backend says of it later. */
  #remember(session: Session, exchange: Exchange, { backend, message }: Target): void {
    const links = this.#links.get(session);
    const address = textMember(exchange.request.bytes, exchange.request.params, 'uri');
    const name = textMember(message.bytes, message.params, 'uri');
    if (links === undefined || address === undefined || name === undefined) return;
    if (exchange.row.method === 'resources/subscribe') links.subscribed(address, { backend, name });
    else if (exchange.row.method === 'resources/unsubscribe') links.unsubscribed(address);
  }

  #openIfLegacy(session: Session, backend: string): void {
    const permit = this.#may(session, initialize, backend);
    if (permit === undefined) return;
    this.#rooms.lanes.discover(backend, session.principal).then(
      ({ eras }) => {
        if (eras.includes('legacy') && !session.ended) this.#lane(session, backend, permit).catch(() => undefined);
      },
      () => undefined,
    );
  }

  #laneFor(session: Session, backend: string, permit: Permit, row: MethodRow): Promise<HeldLane> {
    if (session.downstream !== nowhere) return this.#lane(session, backend, permit);
    return this.#rooms.lanes.forModern(permit, backend, session.principal, session.client, row);
  }

  #lane(session: Session, backend: string, permit: Permit): Promise<Lane> {
    const merged = isMerged(session.endpoint);
    const isMergedNow = () => isMerged(session.endpoint);
    const isNew = !session.lanes.has(backend);
    // Over HTTP the client learns by 404 that its other half is gone, and starts again; a line has no such way, so its lane is
    // opened anew with the next request. So is one of several, or at once: its client listens to it.
    const { clock, lanes, sessions } = this.#rooms;
    const openedAt = clock.now();
    const opening = lanes.forSession(permit, session, backend, () => {
      this.#links.get(session)?.outdated(backend);
      if (!isMergedNow() && session.downstream instanceof StreamsDownstream)
        sessions.end(session, new Failure('session_not_found'));
      if (isMergedNow() && session.initialized !== undefined && !session.ended && clock.now() - openedAt >= STOOD_MS)
        this.#openIfLegacy(session, backend);
    });
    if (merged && isNew) {
      opening.then(
        (lane) => this.#settleIn(session, backend, lane),
        () => undefined,
      );
    }
    return opening;
  }

  /** A session that was opened later than the client's own, or opened anew, is told what the client said before. */
  #settleIn(session: Session, backend: string, lane: Lane): void {
    this.#tellLevel(session, backend, lane);
    if (lane.era === 'modern') return;
    // They were allowed when they were made.
    const permit = systemPermit('stream');
    for (const uri of this.#links.get(session)?.subscriptionsAt(backend) ?? []) {
      callOnce((sink) => lane.call(permit, subscribeRequest('resources/subscribe', uri), sink)).catch(() => undefined);
    }
  }
}

/** An upstream session that was lost sooner would be lost again, and opened again, without end. */
const STOOD_MS = 10_000;

const initialize = methodRow('initialize') as MethodRow;
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
